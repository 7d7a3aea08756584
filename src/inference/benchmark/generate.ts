import type { ChatMessage, Engine, Finished } from '../engines/engine.ts'
import { InferenceError } from '../errors.ts'

/** An answer with its client-side measurements. */
export interface Generated {
  readonly text: string
  readonly promptTokens: number
  readonly completionTokens: number
  readonly reason: Finished['reason']
  /** Time to the first text or reasoning, or to the end if there was none. */
  readonly firstTokenMs: number
  /** The number of times at which text or reasoning arrived. */
  readonly pieces: number
  readonly totalMs: number
}

/** Generates the model's most likely answer and measures it. */
export const generate = async (
  engine: Engine,
  messages: readonly ChatMessage[],
  maxTokens: number,
  signal: AbortSignal,
): Promise<Generated> => {
  if (engine.chat === undefined) {
    throw new InferenceError('unsupported', `The model '${engine.model.name}' is not a chat model.`, { param: 'model' })
  }
  const started = performance.now()
  let text = ''
  let promptTokens = 0
  let firstTokenMs: number | null = null
  let pieces = 0
  const request = {
    messages,
    maxTokens,
    temperature: 0,
    topP: 1,
    seed: 1,
    stop: [],
    responseFormat: { type: 'text' },
  } as const
  for await (const event of engine.chat(request, signal)) {
    if (event.type === 'started') promptTokens = event.promptTokens
    else if (event.type === 'text' || event.type === 'reasoning') {
      firstTokenMs ??= performance.now() - started
      pieces++
      if (event.type === 'text') text += event.text
    } else if (event.type === 'finished') {
      const totalMs = performance.now() - started
      const { completionTokens, reason, prompt } = event.result
      return {
        text,
        promptTokens: prompt?.tokens ?? promptTokens,
        completionTokens,
        reason,
        firstTokenMs: firstTokenMs ?? totalMs,
        pieces,
        totalMs,
      }
    }
  }
  throw new InferenceError('engine_failed', 'The engine ended without a reply.')
}
