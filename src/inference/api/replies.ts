import type { ChatEvent, Finished, TokenLogprob } from '../engines/engine.ts'
import type { ChoiceEvent } from './choices.ts'

/** What a request used, over all of its choices. */
export interface Tally {
  readonly promptTokens: number
  readonly cachedTokens: number
  /** The two of each prompt, by the index of its first choice. */
  readonly prompts: Readonly<Record<number, NonNullable<Finished['prompt']>>>
  readonly completionTokens: number
  /** Of the completion tokens. */
  readonly reasoningTokens: number
  /** Proposed tokens, and how many of them the full model confirmed; null if nothing was proposed. */
  readonly speculation: { readonly drafted: number; readonly confirmed: number } | null
  /** Confirmed tokens that the model's own first layers proposed. */
  readonly earlyExitTokens: number
}

export const NOTHING: Tally = {
  promptTokens: 0,
  cachedTokens: 0,
  prompts: {},
  completionTokens: 0,
  reasoningTokens: 0,
  speculation: null,
  earlyExitTokens: 0,
}

const withFinished = (tally: Tally, { result }: Extract<ChatEvent, { type: 'finished' }>): Tally => {
  const { completionTokens, reasoningTokens = 0, speculation } = result
  const sum = {
    ...tally,
    completionTokens: tally.completionTokens + completionTokens,
    reasoningTokens: tally.reasoningTokens + reasoningTokens,
  }
  if (speculation === null || speculation.drafted === 0) return sum
  const { kind, drafted, confirmed } = speculation
  const before = tally.speculation ?? { drafted: 0, confirmed: 0 }
  return {
    ...sum,
    speculation: { drafted: before.drafted + drafted, confirmed: before.confirmed + confirmed },
    earlyExitTokens: tally.earlyExitTokens + (kind === 'first-layers' ? confirmed : 0),
  }
}

/** Sets the tokens of a prompt, which an engine may first estimate. */
const withPrompt = (tally: Tally, index: number, prompt: NonNullable<Finished['prompt']>): Tally => {
  const prompts = { ...tally.prompts, [index]: prompt }
  const all = Object.values(prompts)
  return {
    ...tally,
    prompts,
    promptTokens: all.reduce((sum, { tokens }) => sum + tokens, 0),
    cachedTokens: all.reduce((sum, { cachedTokens }) => sum + cachedTokens, 0),
  }
}

/** Adds an event. Each prompt counts once, and cached tokens are those of its first choice. */
export const addEvent = (tally: Tally, { index, event, isFirst = index === 0 }: ChoiceEvent): Tally => {
  switch (event.type) {
    case 'started':
      return isFirst
        ? withPrompt(tally, index, { tokens: event.promptTokens, cachedTokens: event.cachedTokens })
        : tally
    case 'finished': {
      const { prompt } = event.result
      return withFinished(isFirst && prompt !== undefined ? withPrompt(tally, index, prompt) : tally, event)
    }
    default:
      return tally
  }
}

/** Headers, or trailers of a stream, about what accelerated this request; empty if nothing did. */
export const accelerationHeaders = ({ speculation, earlyExitTokens }: Tally): Readonly<Record<string, string>> => ({
  ...(speculation !== null && { 'X-Service-Speculative': 'true' }),
  ...(earlyExitTokens > 0 && { 'X-Service-Early-Exit-Tokens': String(earlyExitTokens) }),
})

/** A finished choice. */
export interface Reply {
  readonly text: string
  readonly reasoning: string
  /** Of the tokens of the text, if they were requested. */
  readonly logprobs: readonly TokenLogprob[]
  /** `arguments` is JSON. */
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
  readonly result: Finished
}

interface Growing {
  text: string
  reasoning: string
  readonly logprobs: TokenLogprob[]
  readonly calls: { readonly id: string; readonly name: string; arguments: string }[]
  result: Finished
}

const UNFINISHED: Finished = { reason: 'stop', completionTokens: 0, speculation: null }

const grow = (reply: Growing, { event }: ChoiceEvent): void => {
  if (event.type === 'text') {
    reply.text += event.text
    for (const each of event.logprobs ?? []) reply.logprobs.push(each)
  }
  if (event.type === 'reasoning') reply.reasoning += event.text
  if (event.type === 'call') reply.calls.push({ id: event.callId, name: event.name, arguments: '' })
  if (event.type === 'arguments') reply.calls.at(-1)!.arguments += event.text
  if (event.type === 'finished') reply.result = event.result
}

/** Reads all choices to the end. */
export const collectReplies = async (
  events: AsyncIterable<ChoiceEvent>,
  choices: number,
  saw: (choice: ChoiceEvent) => void,
): Promise<{ readonly replies: readonly Reply[]; readonly tally: Tally }> => {
  const replies = Array.from(
    { length: choices },
    (): Growing => ({ text: '', reasoning: '', logprobs: [], calls: [], result: UNFINISHED }),
  )
  let tally = NOTHING
  for await (const choice of events) {
    tally = addEvent(tally, choice)
    saw(choice)
    grow(replies[choice.index]!, choice)
  }
  return { replies, tally }
}
