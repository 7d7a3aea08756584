import type { TokenLogprob, TokenProbability } from '../engine.ts'
import { count, type Json, list, messageOf, object } from './loose-json.ts'
import { ChatServerError } from './server-errors.ts'

/** A chunk of a streamed chat completion, or of a completion of a text. Fields that the server omits are null. */
export interface ChatPiece {
  readonly text: string
  /** Of the model's reasoning, which is not part of the reply. */
  readonly reasoning: string
  /** Of the tokens of the text; empty if the server sends none. */
  readonly logprobs: readonly TokenLogprob[]
  /** Pieces of calls. The first piece of each has its id and name. */
  readonly calls: readonly {
    readonly index: number
    readonly id: string | null
    readonly name: string | null
    readonly arguments: string
  }[]
  readonly finishReason: string | null
  readonly usage: {
    readonly promptTokens: number
    readonly completionTokens: number | null
    readonly cachedTokens: number
    readonly reasoningTokens: number
  } | null
}

const callIn = (value: unknown, position: number): ChatPiece['calls'][number] => {
  const { index, id, function: called } = object(value)
  const { name, arguments: given } = object(called)
  return {
    index: typeof index === 'number' ? index : position,
    id: typeof id === 'string' && id !== '' ? id : null,
    name: typeof name === 'string' && name !== '' ? name : null,
    // Some servers send them as an object.
    arguments: typeof given === 'string' ? given : Object.keys(object(given)).length > 0 ? JSON.stringify(given) : '',
  }
}

/** Content may be a list of parts. */
const textOf = (content: unknown): string =>
  [typeof content === 'string' ? content : list(content).map((part) => object(part).text ?? object(part).refusal)]
    .flat()
    .filter((text) => typeof text === 'string')
    .join('')

const tokenIn = (value: unknown): TokenProbability => {
  const { token, logprob, bytes } = object(value)
  return {
    token: String(token ?? ''),
    bytes: Array.isArray(bytes) ? bytes.filter((byte) => typeof byte === 'number') : null,
    logprob: typeof logprob === 'number' ? logprob : null,
  }
}

/** Reads the format of chats, which llama-server also sends for texts, and that of OpenAI's completions. */
const logprobsIn = (value: unknown): readonly TokenLogprob[] => {
  const { content, tokens, token_logprobs: logprobs, top_logprobs: top } = object(value)
  const entries = Array.isArray(content)
    ? content.map((entry) => ({ ...tokenIn(entry), top: list(object(entry).top_logprobs).map(tokenIn) }))
    : list(tokens).map((token, at) => ({
        ...tokenIn({ token, logprob: list(logprobs)[at] }),
        top: Object.entries(object(list(top)[at])).map(([other, logprob]) => tokenIn({ token: other, logprob })),
      }))
  return entries.map((entry) => ({ ...entry, characters: [...entry.token].length }))
}

/** @param isFirst whether no piece came before. @throws ChatServerError for an error, or what is not JSON */
export const pieceIn = (data: string, isFirst: boolean): ChatPiece => {
  let value: Json
  try {
    value = object(JSON.parse(data))
  } catch {
    throw new ChatServerError(`it sent something other than JSON: ${data.slice(0, 200)}`, null)
  }
  if ((value.error ?? null) !== null) throw new ChatServerError(messageOf(value.error), null)
  const choice = object(list(value.choices)[0])
  // At the end of a stream, some servers repeat the reply as a message.
  const delta = object(choice.delta ?? (isFirst ? choice.message : null))
  const { content, refusal, tool_calls: calls } = delta
  const usage = object(value.usage)
  const [promptTokens, completionTokens] = [count(usage.prompt_tokens), count(usage.completion_tokens)]
  const cachedTokens = count(object(usage.prompt_tokens_details).cached_tokens) ?? 0
  const reasoningTokens = count(object(usage.completion_tokens_details).reasoning_tokens) ?? 0
  const finishReason = choice.finish_reason
  return {
    text: textOf(content) + textOf(refusal) + textOf(choice.text),
    logprobs: logprobsIn(choice.logprobs),
    // Two names of one field: vLLM has used both, and some servers send both.
    reasoning: textOf(delta.reasoning_content) || textOf(delta.reasoning),
    calls: list(calls).map(callIn),
    finishReason: typeof finishReason === 'string' && finishReason !== '' ? finishReason : null,
    usage:
      promptTokens === null
        ? null
        : { promptTokens, completionTokens, cachedTokens: Math.min(cachedTokens, promptTokens), reasoningTokens },
  }
}
