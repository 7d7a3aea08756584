import type { ChatPiece } from '../../../inference/engines/proxied/openai-client.ts'

export type Json = Readonly<Record<string, unknown>>

/** One event of a stream: a name, and data that repeats it as its type. */
export interface StreamEvent {
  readonly type: string
  readonly [field: string]: unknown
}

/** How another API asks for and tells what a chat completion is. Text only: tools, images and the like are left out. */
export interface Dialect {
  readonly path: string
  /** A request of theirs as the body of a chat completion. */
  toChat(body: Json): Json
  /** A chat completion as it comes, as their stream. */
  stream(pieces: AsyncIterable<ChatPiece>, body: Json): AsyncIterable<StreamEvent>
  /** A whole one, as their answer. */
  answer(reply: Reply, body: Json): Json
  error(message: string, status: number): Json
}

export interface Reply {
  readonly text: string
  readonly finishReason: string
  readonly promptTokens: number
  readonly completionTokens: number
}

export const wholeReply = async (pieces: AsyncIterable<ChatPiece>): Promise<Reply> => {
  let reply: Reply = { text: '', finishReason: 'stop', promptTokens: 0, completionTokens: 0 }
  for await (const { text, finishReason, usage } of pieces) {
    reply = { ...reply, text: reply.text + text, finishReason: finishReason ?? reply.finishReason, ...usage }
  }
  return reply
}

/** The text in what may be a string, or an array of parts of which some are text. */
export const textIn = (content: unknown): string => {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content
    .flatMap((part: unknown) =>
      typeof part === 'object' && part !== null && 'text' in part && typeof part.text === 'string' ? [part.text] : [],
    )
    .join('\n')
}

/** Settings that both sides call the same, taken over where they are given. */
export const taken = (body: Json, names: Readonly<Record<string, string>>): Json =>
  Object.fromEntries(
    Object.entries(names).flatMap(([theirs, ours]) => {
      const value = body[theirs]
      return value === undefined || value === null ? [] : [[ours, value]]
    }),
  )
