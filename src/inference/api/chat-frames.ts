import type { Finished } from '../engines/engine.ts'
import type { InferenceError } from '../errors.ts'
import { presentUsage, type Tally } from './usage.ts'

export interface ChatIdentity {
  readonly id: string
  /** Seconds since the epoch. */
  readonly created: number
  readonly model: string
}

/** The server-sent events of one streamed chat, as OpenAI's clients expect them. */
export interface ChatFrames {
  /** The first of each choice. */
  role(index: number): string
  text(index: number, text: string): string
  /** The last of each choice. */
  finish(index: number, reason: Finished['reason'], usage: Tally | null): string
  usage(tally: Tally): string
}

/** Nothing to clients, and a sign of life to whatever is between them and us. */
export const ALIVE = ': waiting\n\n'
export const DONE = 'data: [DONE]\n\n'

/** OpenAI's clients throw this as an error of the API; nothing may follow it. */
export const errorFrame = (error: InferenceError): string => `data: ${JSON.stringify(error.toJSON())}\n\n`

export const chatFrames = ({ id, created, model }: ChatIdentity, includeUsage: boolean): ChatFrames => {
  // One of these is made for every token: what they have in common is written once.
  const head = `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', created, model }).slice(0, -1)},"choices":`
  const rest = includeUsage ? ',"usage":null}\n\n' : '}\n\n'
  const choice = (index: number, delta: string, reason: string): string =>
    `${head}[{"index":${index},"delta":${delta},"finish_reason":${reason}}]`
  return {
    role: (index) => choice(index, '{"role":"assistant","content":""}', 'null') + rest,
    text: (index, text) => choice(index, `{"content":${JSON.stringify(text)}}`, 'null') + rest,
    finish: (index, reason, usage) =>
      choice(index, '{}', `"${reason}"`) +
      (usage === null ? rest : `,"usage":${JSON.stringify(presentUsage(usage))}}\n\n`),
    usage: (tally) => `${head}[],"usage":${JSON.stringify(presentUsage(tally))}}\n\n`,
  }
}
