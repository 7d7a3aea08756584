import type { ChatEvent, ChatRequest, Engine } from '../engines/engine.ts'
import type { Place } from '../runtime/queue/admission.ts'

export interface ChoiceEvent {
  readonly index: number
  readonly event: ChatEvent
}

interface Step {
  readonly index: number
  readonly result: IteratorResult<ChatEvent>
}

async function* runInPlace(
  engine: Engine,
  request: ChatRequest,
  place: Promise<Place>,
  signal: AbortSignal,
): AsyncGenerator<ChatEvent> {
  const held = await place
  try {
    yield* engine.chat!(request, signal)
  } finally {
    held.release()
  }
}

/**
 * Runs the choices of one request side by side, each as soon as its place is free, and gives their events as they come.
 * No choice runs ahead of whoever reads. When one fails or reading ends early, all are ended and their places given back.
 */
export async function* runChoices(
  engine: Engine,
  requests: readonly ChatRequest[],
  places: readonly Promise<Place>[],
  signal: AbortSignal,
): AsyncGenerator<ChoiceEvent> {
  const ending = new AbortController()
  const end = AbortSignal.any([signal, ending.signal])
  const runs = requests.map((request, index) => runInPlace(engine, request, places[index]!, end))
  const step = async (index: number): Promise<Step> => ({ index, result: await runs[index]!.next() })
  const steps = new Map(runs.map((_, index) => [index, step(index)]))
  try {
    while (steps.size > 0) {
      const { index, result } = await Promise.race(steps.values())
      if (result.done) {
        steps.delete(index)
        continue
      }
      yield { index, event: result.value }
      steps.set(index, step(index))
    }
  } finally {
    ending.abort()
    await Promise.allSettled(steps.values())
    await Promise.allSettled(runs.map((run) => run.return(undefined)))
  }
}
