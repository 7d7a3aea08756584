import { randomInt } from 'node:crypto'
import { anySignal } from '../../domain/any-signal.ts'
import type { ChatEvent, ChatMessage, ChatRequest, Engine } from '../engines/engine.ts'
import type { Admission, Slot } from '../runtime/queue/admission.ts'
import type { ChatCompletionRequest } from './chat.schema.ts'

const MAX_SEED = 2 ** 32 - 1
/** 2^32 divided by the golden ratio. It is odd, so that up to 2^32 choices get different seeds. */
const SEED_STEP = 0x9e3779b9

/** Returns the seed of one choice; the first gets the requested one. Never 2^32 - 1, which llama.cpp reads as "random". */
const seedOf = (base: number, choice: number): number => {
  const seed = Number((BigInt(base) + BigInt(choice) * BigInt(SEED_STEP)) & 0xffffffffn)
  return seed === MAX_SEED ? seed >>> 1 : seed
}

/** Returns the requests of the choices, which differ in their seeds. */
export const requestsOf = (
  request: ChatCompletionRequest,
  constraint: Pick<ChatRequest, 'responseFormat' | 'toolUse'>,
  messages: readonly ChatMessage[],
  engine: Engine,
): ChatRequest[] => {
  const { maxTokens, temperature, topP, stop, sampling, reasoning, completions, logprobs, choices } = request
  const { contextTokens } = engine.model
  const base = request.seed ?? randomInt(MAX_SEED)
  const sources = completions?.prompts.map((prompt) => ({ messages: [], completion: { ...completions, prompt } }))
  return (sources ?? [{ messages }]).flatMap((source) =>
    Array.from({ length: choices }, (_, choice) => ({
      ...source,
      ...(logprobs !== undefined && { logprobs }),
      maxTokens: maxTokens === null || contextTokens === 0 ? maxTokens : Math.min(maxTokens, contextTokens),
      temperature,
      topP,
      seed: seedOf(base, choice),
      stop,
      sampling,
      reasoning,
      ...constraint,
    })),
  )
}

export interface ChoiceEvent {
  readonly index: number
  readonly event: ChatEvent
  /** Whether it is the first choice of its prompt; by default, the first of all. */
  readonly isFirst?: boolean
}

interface Step {
  readonly index: number
  readonly result: IteratorResult<ChatEvent>
}

async function* runInSlot(
  engine: Engine,
  request: ChatRequest,
  slot: Promise<Slot>,
  signal: AbortSignal,
): AsyncGenerator<ChatEvent> {
  const held = await slot
  try {
    yield* engine.chat!(request, signal)
  } finally {
    held.release()
  }
}

/**
 * Enters the queue now. When its events are read, runs the choices of one request in parallel, each as soon as its slot is free,
 * and yields their events as they occur. The engine may run ahead of the reader: its events then wait in a queue, which the
 * context length limits. If one choice fails or reading ends early, all choices end and release their slots.
 * @param perPrompt how many choices in a row have the same prompt
 * @throws InferenceError queue_full
 */
export const runChoices = (
  engine: Engine,
  requests: readonly ChatRequest[],
  admission: Admission,
  signal: AbortSignal,
  perPrompt = requests.length,
): AsyncGenerator<ChoiceEvent> => {
  // Also ends the wait of a choice in the queue, so that it does not wait for a slot that another request holds.
  const ending = new AbortController()
  const end = anySignal(signal, ending.signal)
  const slots = admission.enter(requests.length, end)
  const runs = requests.map((request, index) => runInSlot(engine, request, slots[index]!, end))
  return mergeEvents(runs, ending, perPrompt)
}

async function* mergeEvents(
  runs: readonly AsyncGenerator<ChatEvent>[],
  ending: AbortController,
  perPrompt: number,
): AsyncGenerator<ChoiceEvent> {
  const step = async (index: number): Promise<Step> => ({ index, result: await runs[index]!.next() })
  const steps = new Map(runs.map((_, index) => [index, step(index)]))
  try {
    while (steps.size > 0) {
      const { index, result } = await Promise.race(steps.values())
      if (result.done) {
        steps.delete(index)
        continue
      }
      yield { index, event: result.value, isFirst: index % perPrompt === 0 }
      steps.set(index, step(index))
    }
  } finally {
    ending.abort()
    await Promise.allSettled(steps.values())
    await Promise.allSettled(runs.map((run) => run.return(undefined)))
  }
}
