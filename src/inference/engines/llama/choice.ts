import type { Closing } from '../../structured-output/compile-schema.ts'
import type { EngineEvent } from '../child/protocol.ts'
import type { ChatRequest, Finished, Speculation } from '../engine.ts'
import type { ReplyReader, TextPart } from '../text/reasoning.ts'
import type { TextStream } from '../text/text-stream.ts'
import type { Sampler } from './binding/token-sampler.ts'
import type { TokenLog } from './token-log.ts'

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
  /** Set if log probabilities are requested. */
  readonly log?: TokenLog
  /** The prompt, if the reply is to begin with it. */
  readonly echo?: string
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
export const eventsOf = ({ choice, tokens: sampled, ended }: Progress): EngineEvent[] => {
  const { id, promptTokens, cachedTokens, text, reply, log, request } = choice
  // The prompt alone is computed with the token that follows, which is nobody's.
  const tokens = request.maxTokens === 0 ? [] : sampled
  const events: EngineEvent[] = []
  const isFirst = !choice.started
  if (isFirst) events.push({ id, type: 'started', promptTokens, cachedTokens })
  choice.started = true
  if (choice.echo !== undefined && isFirst) events.push({ id, type: 'text', text: choice.echo, ...log?.ofPrompt() })

  const parts: TextPart[] = []
  let read = 0
  const add = (more: readonly TextPart[]): void => {
    for (const part of more) {
      const last = parts.at(-1)
      if (last?.type === part.type) parts[parts.length - 1] = { ...last, text: last.text + part.text }
      else parts.push(part)
    }
  }
  const push = (more: string): void => {
    read += more.length
    add(reply.push(more))
  }
  let reason: Finished['reason'] | null = null
  let stopSequence: string | null = null
  let isWhole = true
  let used = choice.tokens.length - promptTokens - sampled.length
  for (const token of tokens) {
    used += 1
    if (reply.isReasoning()) choice.reasoningTokens += 1
    const pushed = text.push(token)
    if (choice.closing.take(pushed.text)) {
      log?.read(promptTokens + used - 1, pushed.read)
      push(pushed.text)
    } else {
      reason = 'length'
      isWhole = false
    }
    if (pushed.stopped !== null && reason === null) {
      reason = 'stop'
      stopSequence = pushed.stopped
    }
    if (reason !== null) break
  }
  if (reason === null && (ended || choice.tokens.length >= choice.limit)) {
    // As in OpenAI's completions, whose clients leave out the last token, whatever it is.
    if (ended && request.completion && request.maxTokens !== 0) log?.read(choice.tokens.length, '')
    const held = text.end()
    if (choice.closing.take(held.text)) push(held.text)
    else isWhole = false
    stopSequence = held.stopped
    reason = (ended && request.maxTokens !== 0) || stopSequence !== null ? 'stop' : 'length'
  }
  // The client chose where a stop sequence cuts the reply, and could not tell an ending from the model's reply.
  const ending = reason !== null && stopSequence === null ? choice.closing.ending() : ''
  if (ending !== '') add(reply.push(ending))
  if (reason !== null) add(reply.end())
  isWhole &&= reason !== null && stopSequence === null
  const logprobs = log?.release({ parts, read, ending: ending.length, isWhole }) ?? []
  if (logprobs.length > 0 && parts.at(-1)?.type !== 'text') parts.push({ type: 'text', text: '' })
  for (const part of parts) events.push({ id, ...part, ...(part.type === 'text' && log && { logprobs }) })
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
