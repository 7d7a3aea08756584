import { join } from 'node:path'
import { isObject } from '../../../domain/is-object.ts'
import { createRandom } from '../../../domain/random-numbers.ts'
import { InferenceError } from '../../errors.ts'
import type { ChatEvent, ChatMessage, ChatRequest } from '../engine.ts'
import { createPromptWriter } from '../text/chat-prompt.ts'
import { createReasoningReader, mayReason, plainReply, reasoningIn, showMarks } from '../text/reasoning.ts'
import { createDetokenizer, cutAtStops } from '../text/text-stream.ts'
import { type Loading, loadTokenizer, loadWeights } from './load.ts'
import { countIn, readText } from './model-json.ts'
import type { Tokenizer } from './transformers.ts'

const likeliest = (scores: Float32Array): number => {
  let best = 0
  for (let token = 1; token < scores.length; token += 1) if (scores[token]! > scores[best]!) best = token
  return best
}

/**
 * Samples the next token: the most likely one at temperature 0, otherwise from the fewest tokens whose probabilities add up to
 * `topP` ("The Curious Case of Neural Text Degeneration", Holtzman et al. 2019).
 */
export const sample = (scores: Float32Array, temperature: number, topP: number, random: () => number): number => {
  const best = likeliest(scores)
  if (!Number.isFinite(scores[best])) {
    const advice = 'Use another precision or quantization of the model.'
    throw new InferenceError('engine_failed', `The model produced NaN or infinite values. ${advice}`)
  }
  if (temperature === 0) return best
  const weights = scores.map((score) => Math.exp((score - scores[best]!) / temperature))
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const order = Uint32Array.from(weights.keys()).sort((one, other) => weights[other]! - weights[one]! || one - other)
  let count = 0
  let kept = 0
  while (count < order.length && (count === 0 || kept < topP * total)) kept += weights[order[count++]!]!
  let left = random() * kept
  for (let at = 0; at < count; at += 1) {
    left -= weights[order[at]!]!
    if (left < 0) return order[at]!
  }
  return order[count - 1]!
}

const USUAL_CONTEXT = 2048

/**
 * Returns the template for chats, which is named 'default' if there are several: transformers.js turns their list into an
 * object. It does not read chat_template.jinja, which takes precedence in Python's transformers.
 */
const templateOf = async (folder: string, { chat_template: given }: Tokenizer): Promise<string | null> => {
  const file = await readText(join(folder, 'chat_template.jinja'))
  if (file?.trim()) return file
  const template = isObject(given) ? (given.default ?? Object.values(given)[0]) : given
  return typeof template === 'string' ? template : null
}

const endsOf = (...configs: readonly (Readonly<Record<string, unknown>> | null)[]): ReadonlySet<number> => {
  const given = configs.map((config) => config?.eos_token_id).find((ids) => ids !== undefined && ids !== null)
  return new Set([given].flat().filter((id) => typeof id === 'number'))
}

const assertPossible = ({ responseFormat, sampling = {}, completion, logprobs }: ChatRequest): void => {
  const [option] = Object.keys(sampling)
  const impossible = [
    completion && ['continue a text', 'prompt', 'Send messages to /v1/chat/completions'],
    logprobs !== undefined && ['report log probabilities', 'logprobs'],
    option !== undefined && [`apply ${option}`, option],
    responseFormat.type !== 'text' && [`enforce ${responseFormat.type}`, 'response_format'],
  ].find((each) => Array.isArray(each))
  if (impossible === undefined) return
  const [what, param, advice = 'Leave it out'] = impossible as [string, string, string?]
  throw new InferenceError(
    'unsupported',
    `onnxruntime cannot ${what} here. ${advice}, or use a GGUF model, which llama.cpp runs.`,
    { param },
  )
}

export const openChatModel = async (loading: Loading) => {
  const { transformers, model } = loading
  const tokenizer = await loadTokenizer(loading)
  const network = await loadWeights(transformers.AutoModelForCausalLM, loading)
  const contextTokens = countIn(model.config, 'max_position_embeddings') ?? USUAL_CONTEXT
  const ends = endsOf(network.generation_config, model.config)
  const chatTemplate = await templateOf(model.folder, tokenizer)
  const writePrompt = createPromptWriter({
    chatTemplate,
    bosToken: tokenizer.bos_token ?? '',
    eosToken: tokenizer.eos_token ?? '',
    controlWords: tokenizer.all_special_tokens ?? [],
    // The template writes the first token.
    firstToken: null,
    tokenize: (text) => Uint32Array.from(tokenizer.encode(text, { add_special_tokens: false })),
  })
  const decode = (tokens: readonly number[], special: boolean): string =>
    tokens.length === 0 ? '' : tokenizer.decode(tokens, { skip_special_tokens: !special })
  const detokenize = showMarks((text) => tokenizer.encode(text, { add_special_tokens: false }), decode)

  const chat = async (request: ChatRequest, signal: AbortSignal, emit: (event: ChatEvent) => void): Promise<void> => {
    assertPossible(request)
    const { tokens: prompt, beginsReasoning } = writePrompt(request.messages, [], reasoningIn(request.reasoning))
    const room = contextTokens - prompt.length
    if (room < 1) {
      throw new InferenceError(
        'context_length_exceeded',
        `The prompt has ${prompt.length} tokens; the model's context holds ${contextTokens}, including the reply.`,
        { param: 'messages' },
      )
    }
    emit({ type: 'started', promptTokens: prompt.length, cachedTokens: 0 })
    const limit = Math.min(room, request.maxTokens ?? room)
    const random = createRandom(request.seed)
    const text = cutAtStops(createDetokenizer(detokenize), request.stop)
    const reply = mayReason(chatTemplate) || beginsReasoning ? createReasoningReader(beginsReasoning, null) : plainReply
    let made = 0
    let reasoningTokens = 0
    let ended = false
    let cut: string | null = null
    // The library's sampler takes no seed, so the token is chosen here and is the only one left for it.
    const choice = new transformers.LogitsProcessorList()
    choice.push((_sequences, logits) => {
      const scores = logits[0]!.data
      const token = sample(scores, request.temperature, request.topP, random)
      scores.fill(Number.NEGATIVE_INFINITY)
      scores[token] = 0
      return logits
    })
    const end = new transformers.StoppingCriteriaList()
    end.push((sequences) => {
      const token = Number(sequences[0]!.at(-1))
      made += 1
      if (reply.isReasoning()) reasoningTokens += 1
      if (ends.has(token)) ended = true
      else {
        const more = text.push(token)
        for (const part of reply.push(more.text)) emit(part)
        cut = more.stopped
      }
      return [ended || cut !== null || signal.aborted]
    })
    const dims = [1, prompt.length]
    await network.generate({
      inputs: new transformers.Tensor('int64', BigInt64Array.from(prompt, BigInt), dims),
      attention_mask: new transformers.Tensor('int64', new BigInt64Array(prompt.length).fill(1n), dims),
      max_new_tokens: limit,
      // The request's settings override the model's own defaults.
      ...{ do_sample: false, num_beams: 1, temperature: 1, top_k: 0, top_p: 1, repetition_penalty: 1, min_length: 0 },
      logits_processor: choice,
      stopping_criteria: end,
    })
    signal.throwIfAborted()
    if (cut === null) {
      const rest = text.end()
      for (const part of reply.push(rest.text)) emit(part)
      cut = rest.stopped
    }
    for (const part of reply.end()) emit(part)
    const reason = ended || cut !== null ? 'stop' : 'length'
    const optional = { ...(cut !== null && { stopSequence: cut }), ...(reasoningTokens > 0 && { reasoningTokens }) }
    emit({ type: 'finished', result: { reason, completionTokens: made, speculation: null, ...optional } })
  }

  return { contextTokens, countTokens: (messages: readonly ChatMessage[]) => writePrompt(messages).tokens.length, chat }
}
