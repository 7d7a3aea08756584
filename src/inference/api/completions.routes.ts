import type { App } from '../../platform/http/app.ts'
import type { TokenLogprob } from '../engines/engine.ts'
import { OPENAI_FRAMES, presentUsage } from './chat.routes.ts'
import { readCompletionRequest } from './completions.schema.ts'
import { type ChatRouteDeps, handleChat, newId, type ReplyStyle } from './handle-chat.ts'

/** Of the same tokens, the first is kept: it is more likely. */
const alternativesOf = ({ token, logprob, top }: TokenLogprob) =>
  logprob === null
    ? null
    : Object.fromEntries([[token, logprob], ...top.map((each) => [each.token, each.logprob]).reverse()])

/** Presents log probabilities in the format of OpenAI's completions. `start` is where the text of the tokens begins. */
const presentLogprobs = (logprobs: readonly TokenLogprob[], start: number) => {
  let end = start
  const offsets = logprobs.map(({ characters }) => (end += characters) - characters)
  return {
    tokens: logprobs.map(({ token }) => token),
    token_logprobs: logprobs.map(({ logprob }) => logprob),
    top_logprobs: logprobs.map(alternativesOf),
    text_offset: offsets,
  }
}

/** POST /v1/completions */
export const completionRoutes = (app: App, deps: Omit<ChatRouteDeps, 'defaultFormat'>): void =>
  handleChat(app, '/v1/completions', deps, (body) => {
    const request = readCompletionRequest(body)
    const scoresOf = (logprobs: readonly TokenLogprob[], start = 0) =>
      request.logprobs === undefined ? null : presentLogprobs(logprobs, start)
    const style = (model: string, created: number): ReplyStyle => {
      const head = { id: newId('cmpl-'), object: 'text_completion', created, model }
      const frame = (choices: readonly object[], usage: object | null = null): string =>
        `data: ${JSON.stringify({ ...head, choices, ...(request.includeUsage && { usage }) })}\n\n`
      /** Where the next text of each choice begins. */
      const starts: Record<number, number> = {}
      return {
        whole: (replies, tally) => ({
          ...head,
          choices: replies.map(({ text, logprobs, result }, index) => ({
            index,
            text,
            logprobs: scoresOf(logprobs),
            finish_reason: result.reason,
          })),
          usage: presentUsage(tally),
        }),
        frames: () => ({
          event({ index, event }) {
            if (event.type === 'finished')
              return frame([{ index, text: '', logprobs: null, finish_reason: event.result.reason }])
            if (event.type !== 'text') return ''
            const { text, logprobs = [] } = event
            const scores = scoresOf(logprobs, starts[index])
            starts[index] = logprobs.reduce((sum, { characters }) => sum + characters, starts[index] ?? 0)
            return frame([{ index, text, logprobs: scores, finish_reason: null }])
          },
          end: (tally) => `${request.includeUsage ? frame([], presentUsage(tally)) : ''}data: [DONE]\n\n`,
          ...OPENAI_FRAMES,
        }),
      }
    }
    return { request, style }
  })
