import { jsonOrNull } from '../../../domain/parse-json.ts'
import type { StreamEvent } from '../../live/sse-parser.ts'

/** A reply so far. Times are in milliseconds since the question was sent. */
export interface Reply {
  readonly state: 'running' | 'finished' | 'stopped' | 'failed'
  readonly text: string
  /** What the model wrote to work out its answer. */
  readonly reasoning: string
  readonly error: string | null
  readonly firstMs: number | null
  readonly endMs: number | null
  /** The number of pieces received: roughly the tokens, until the server's count arrives. */
  readonly pieces: number
  readonly promptTokens: number | null
  readonly cachedTokens: number | null
  readonly completionTokens: number | null
  /** `length` if the token limit ended it. */
  readonly finish: string | null
  /** Information from the server's headers and trailers about how it generated the reply. */
  readonly notes: Readonly<Record<string, string>>
}

export const NEW_REPLY: Reply = {
  state: 'running',
  text: '',
  reasoning: '',
  error: null,
  firstMs: null,
  endMs: null,
  pieces: 0,
  promptTokens: null,
  cachedTokens: null,
  completionTokens: null,
  finish: null,
  notes: {},
}

interface Chunk {
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string | null; readonly reasoning_content?: string | null }
    readonly finish_reason?: string | null
  }[]
  readonly usage?: {
    readonly prompt_tokens?: number
    readonly completion_tokens?: number
    readonly prompt_tokens_details?: { readonly cached_tokens?: number }
    readonly early_exit_tokens?: number
  } | null
  readonly error?: { readonly message?: string }
}

const parse = <Data>(text: string): Data | null => jsonOrNull(text) as Data | null

const withUsage = (reply: Reply, usage: NonNullable<Chunk['usage']>): Reply => ({
  ...reply,
  promptTokens: usage.prompt_tokens ?? null,
  cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? null,
  completionTokens: usage.completion_tokens ?? null,
  notes: {
    ...reply.notes,
    ...(usage.early_exit_tokens !== undefined && { 'x-service-early-exit-tokens': String(usage.early_exit_tokens) }),
  },
})

/** Returns the reply after one more event of its stream. Ignores unknown events. */
export const afterEvent = (reply: Reply, { type, data }: StreamEvent, ms: number): Reply => {
  if (type === 'trailers') return { ...reply, notes: { ...reply.notes, ...parse<Record<string, string>>(data) } }
  const chunk = parse<Chunk>(data)
  if (chunk === null) return reply
  if (chunk.error) return { ...reply, state: 'failed', error: chunk.error.message ?? 'The server failed.', endMs: ms }
  const [choice] = chunk.choices ?? []
  const piece = choice?.delta?.content ?? ''
  const thought = choice?.delta?.reasoning_content ?? ''
  const isEmpty = piece + thought === ''
  const updated = chunk.usage ? withUsage(reply, chunk.usage) : reply
  return {
    ...updated,
    text: updated.text + piece,
    reasoning: updated.reasoning + thought,
    pieces: updated.pieces + (isEmpty ? 0 : 1),
    firstMs: updated.firstMs ?? (isEmpty ? null : ms),
    finish: choice?.finish_reason ?? updated.finish,
  }
}

/** A reply received faster than this arrived in one piece: its speed is then measured from the question. */
const MEASURABLE_MS = 10

/** Returns tokens per second, measured from the first token to the last if possible; null if there are fewer than two. */
export const speedOf = ({ completionTokens, pieces, firstMs, endMs }: Reply): number | null => {
  const tokens = completionTokens ?? pieces
  if (firstMs === null || endMs === null || tokens < 2) return null
  const ms = endMs - firstMs
  return ms >= MEASURABLE_MS ? ((tokens - 1) / ms) * 1000 : (tokens / endMs) * 1000
}
