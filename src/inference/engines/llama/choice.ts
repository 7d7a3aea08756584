import type { Closing } from '../../structured-output/compile-schema.ts'
import type { EngineEvent } from '../child/protocol.ts'
import type { ChatRequest, Finished, Speculation } from '../engine.ts'
import type { ReplyReader, TextPart } from '../text/reasoning.ts'
import type { TextStream } from '../text/text-stream.ts'
import type { Sampler } from './binding/token-sampler.ts'

/** A running or waiting answer. */
export interface Choice {
  readonly id: number
  readonly promptTokens: number
  /** The prompt, followed by the answer so far. */
  readonly tokens: number[]
  /** The maximum length of `tokens`. */
  readonly limit: number
  readonly request: ChatRequest
  readonly sampler: Sampler
  readonly text: TextStream
  readonly reply: ReplyReader
  /** Follows the text, and completes it at the limit if a valid answer is required. */
  readonly closing: Closing
  /** How many of `tokens` are in the slot's keys and values. */
  filled: number
  cachedTokens: number
  /** Guesses at the tokens after `tokens`, which the next batch checks. */
  drafts: readonly number[]
  speculation: Speculation | null
  started: boolean
  reasoningTokens: number
  /** True if nothing more is to be computed. */
  over: boolean
}

/** For answers without a format, which may be any text. */
export const anyText: Closing = { take: () => true, ending: () => '' }

/** The result of one step for a choice: the tokens that follow, and whether the model ended there. */
export interface Progress {
  readonly choice: Choice
  readonly tokens: readonly number[]
  readonly ended: boolean
}

/** Returns the events for the client. Once `finished` is among them, the choice is over. */
export const eventsOf = ({ choice, tokens, ended }: Progress): EngineEvent[] => {
  const { id, promptTokens, cachedTokens, text, reply } = choice
  const events: EngineEvent[] = []
  if (!choice.started) events.push({ id, type: 'started', promptTokens, cachedTokens })
  choice.started = true

  const parts: TextPart[] = []
  const add = (more: readonly TextPart[]): void => {
    for (const part of more) {
      const last = parts.at(-1)
      if (last?.type === part.type) parts[parts.length - 1] = { ...last, text: last.text + part.text }
      else parts.push(part)
    }
  }
  let reason: Finished['reason'] | null = null
  let stopSequence: string | null = null
  let used = choice.tokens.length - promptTokens - tokens.length
  for (const token of tokens) {
    used += 1
    if (reply.isReasoning()) choice.reasoningTokens += 1
    const pushed = text.push(token)
    if (choice.closing.take(pushed.text)) add(reply.push(pushed.text))
    else reason = 'length'
    if (pushed.stopped !== null && reason === null) {
      reason = 'stop'
      stopSequence = pushed.stopped
    }
    if (reason !== null) break
  }
  if (reason === null && (ended || choice.tokens.length >= choice.limit)) {
    const held = text.end()
    if (choice.closing.take(held.text)) add(reply.push(held.text))
    stopSequence = held.stopped
    reason = ended || stopSequence !== null ? 'stop' : 'length'
  }
  // The client chose where a stop sequence cuts the reply, and could not tell an ending from the model's reply.
  if (reason !== null && stopSequence === null) add(reply.push(choice.closing.ending()))
  if (reason !== null) add(reply.end())
  for (const part of parts) events.push({ id, ...part })
  if (reason !== null) {
    choice.over = true
    const result = {
      reason,
      completionTokens: used,
      speculation: choice.speculation,
      ...(choice.reasoningTokens > 0 && { reasoningTokens: choice.reasoningTokens }),
      ...(stopSequence !== null && { stopSequence }),
    }
    events.push({ id, type: 'finished', result })
  }
  return events
}
