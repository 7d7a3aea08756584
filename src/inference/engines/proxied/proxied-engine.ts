import { reasonOf } from '../../../platform/transfer/transfer-error.ts'
import { InferenceError } from '../../errors.ts'
import type { ChatEvent, ChatRequest, Engine, EngineName, LoadedModel } from '../engine.ts'
import { reasoningIn } from '../text/reasoning.ts'
import { createStopSearch } from '../text/text-stream.ts'
import type { ChatPiece } from './chat-pieces.ts'
import { embedTexts, streamChat } from './openai-client.ts'
import { createCallReader, presentMessage, presentTools } from './passed-tools.ts'
import { ChatServerError, ServerStalled } from './server-errors.ts'
import type { Server } from './server-requests.ts'
import { type ServerProgram, serverNamed } from './servers.ts'

/** A rule of thumb for servers that do not count tokens. */
const estimatedTokens = (text: string): number => Math.ceil(Buffer.byteLength(text) / 4)

const estimatedPrompt = ({ messages, completion }: ChatRequest): number => {
  const prompt = completion?.prompt ?? ''
  const before = typeof prompt === 'string' ? estimatedTokens(prompt) : prompt.length
  return messages.reduce((sum, { content }) => sum + estimatedTokens(content), before)
}

/** What the reply is to: messages, or a text. */
const subjectOf = ({ messages, completion, logprobs }: ChatRequest): object => {
  if (completion === undefined)
    return {
      messages: messages.map(presentMessage),
      ...(logprobs !== undefined && { logprobs: true, top_logprobs: logprobs }),
    }
  const { prompt, suffix, echo } = completion
  return {
    prompt,
    ...(suffix !== null && { suffix }),
    ...(echo && { echo }),
    ...(logprobs !== undefined && { logprobs }),
  }
}

/** Servers ignore the name of this option that they do not know. */
const samplingOf = ({ sampling = {} }: ChatRequest): object => {
  const repeat = sampling.repeat_penalty ?? sampling.repetition_penalty
  return { ...sampling, ...(repeat !== undefined && { repeat_penalty: repeat, repetition_penalty: repeat }) }
}

/** A third-party server, and the model to use on it. */
export interface Proxied<S extends Server> {
  readonly name: EngineName
  /** A name or address for messages. */
  readonly label: string
  readonly model: LoadedModel
  /** The name in requests; null if the server has one model, because some would load another model by name. */
  readonly modelId: string | null
  readonly slots: number
  readonly responseFormat: ServerProgram['responseFormat']
  server(): Promise<S>
  /** Explains a request that failed without a response; null if nothing more is known. */
  explain?(server: S, error: unknown): Promise<InferenceError>
  restarts(): number
  close(): Promise<void>
}

/** OpenAI's code, which many servers use, and llama-server's. Agents shorten a conversation when they see the first. */
const TOO_LONG: readonly (string | null)[] = ['context_length_exceeded', 'exceed_context_size_error']

/** vLLM has no code for it, only OpenAI's words. */
const isTooLong = ({ code, message }: ChatServerError): boolean =>
  TOO_LONG.includes(code) || message.startsWith("This model's maximum context length is ")

/** Converts a server's error response into an error for the client. */
const refused = (label: string, error: ChatServerError): InferenceError => {
  const { message, status, retryAfter } = error
  const text = `${label} refused: ${message}`
  if (status === 401 || status === 403)
    return new InferenceError('upstream_failed', `${text.replace(/\.?$/, '.')} Set its key in SERVICE_ENGINE_API_KEY.`)
  if (status === 404) return new InferenceError('model_not_found', text, { param: 'model' })
  if (status === 429 || (status === 503 && retryAfter !== null))
    return new InferenceError('queue_full', text, {
      retryAfterSeconds: Math.min(60, Math.max(1, Math.ceil(retryAfter ?? 1))),
    })
  if (status === 400 && isTooLong(error))
    return new InferenceError('context_length_exceeded', text, { param: 'messages' })
  const isOurs = status !== null && status >= 400 && status < 500
  return new InferenceError(isOurs ? 'invalid_request' : 'upstream_failed', text)
}

export const failureOf = (label: string, error: unknown): InferenceError => {
  if (error instanceof InferenceError) return error
  if (error instanceof ChatServerError) return refused(label, error)
  if (error instanceof ServerStalled)
    return new InferenceError('upstream_timeout', `${label} is too slow: ${error.message}.`, { cause: error })
  const what = `${label} does not respond, or broke off its response: ${reasonOf(error)}. Is it running?`
  return new InferenceError('upstream_failed', what, { cause: error })
}

export const createProxiedEngine = <S extends Server>(proxied: Proxied<S>): Engine => {
  const { name, label, model, modelId, responseFormat } = proxied
  let busy = 0

  /** The programs take options of the chat template; of another server, only the client knows which field it takes. */
  const reasoningOf = ({ reasoning = {} }: ChatRequest): object => {
    const { isOff: _, ...fields } = reasoning
    const wanted = reasoningIn(reasoning)
    const isProgram = serverNamed(name) !== null && wanted !== undefined
    return isProgram ? { chat_template_kwargs: { enable_thinking: wanted } } : fields
  }

  const bodyOf = (request: ChatRequest): object => {
    const format = request.responseFormat
    if (format.type !== 'text' && responseFormat === null) {
      throw new InferenceError(
        'unsupported',
        `${name} cannot enforce the format of a reply. Leave out response_format, or use a GGUF model, which llama.cpp runs.`,
        { param: 'response_format' },
      )
    }
    const maxTokens = request.maxTokens ?? (serverNamed(name)?.needsMaxTokens ? model.contextTokens || null : null)
    return {
      ...(modelId !== null && { model: modelId }),
      ...subjectOf(request),
      ...(request.toolUse && presentTools(request.toolUse)),
      ...(maxTokens !== null && { max_tokens: maxTokens }),
      temperature: request.temperature,
      top_p: request.topP,
      seed: request.seed,
      ...samplingOf(request),
      ...reasoningOf(request),
      // Some servers also search calls, and cut them: with functions, the text is searched here.
      ...(request.stop.length > 0 && !request.toolUse && { stop: request.stop }),
      ...(format.type !== 'text' && { response_format: responseFormat!(format) }),
    }
  }

  async function* reply(request: ChatRequest, server: Server, signal: AbortSignal): AsyncGenerator<ChatEvent> {
    let text = ''
    let reason: string | null = null
    let usage: ChatPiece['usage'] = null
    const started = { type: 'started', promptTokens: estimatedPrompt(request), cachedTokens: 0 } as const
    let begun = false
    const calls = createCallReader()
    const cut = createStopSearch(request.toolUse ? request.stop : [])
    let stopSequence: string | null = null
    const wantsScores = request.logprobs !== undefined
    let [hasText, hasScores] = [false, false]
    for await (const piece of streamChat(server, bodyOf(request), signal, request.completion && 'completions')) {
      // Not earlier, so that an error before the first chunk still gets a status.
      if (!begun) yield started
      begun = true
      usage = piece.usage ?? usage
      text += piece.reasoning + piece.text
      if (piece.reasoning !== '') yield { type: 'reasoning', text: piece.reasoning }
      const shown = calls.count() > 0 ? { text: piece.text, stopped: null } : cut(piece.text, piece.calls.length > 0)
      const logprobs = wantsScores ? piece.logprobs : []
      hasText ||= piece.text !== ''
      hasScores ||= logprobs.length > 0
      if (logprobs.length > 0) yield { type: 'text', text: shown.text, logprobs }
      else if (shown.text !== '') yield { type: 'text', text: shown.text }
      stopSequence = shown.stopped
      if (stopSequence !== null) break
      yield* calls.read(piece)
      reason = piece.finishReason ?? reason
    }
    if (!begun) yield started
    const rest = cut('', true).text
    if (rest !== '') yield { type: 'text', text: rest }
    const isCutOff = reason === 'length' || reason === 'content_filter'
    yield* calls.end(!isCutOff)
    if (wantsScores && hasText && !hasScores)
      throw new InferenceError('upstream_failed', `${label} was asked for log probabilities, but sent none.`)
    const mustCall = request.toolUse && request.toolUse.choice !== 'auto'
    if (mustCall && calls.count() === 0 && !isCutOff && stopSequence === null)
      throw new InferenceError('upstream_failed', `${label} was told to call a function, but replied without a call.`)
    yield {
      type: 'finished',
      result: {
        reason: reason === 'length' || reason === 'content_filter' ? reason : 'stop',
        completionTokens: usage?.completionTokens ?? estimatedTokens(text),
        speculation: null,
        ...(stopSequence !== null && { stopSequence }),
        ...(usage !== null && usage.reasoningTokens > 0 && { reasoningTokens: usage.reasoningTokens }),
        ...(usage !== null && { prompt: { tokens: usage.promptTokens, cachedTokens: usage.cachedTokens } }),
      },
    }
  }

  const failure = (error: unknown, server: S): Promise<InferenceError> | InferenceError =>
    error instanceof ChatServerError || error instanceof ServerStalled || proxied.explain === undefined
      ? failureOf(label, error)
      : proxied.explain(server, error)

  return {
    name,
    slots: proxied.slots,
    model,
    tools: 'passed',
    async *chat(request, signal) {
      // Validates the request before a server is restarted for it.
      bodyOf(request)
      const server = await proxied.server()
      signal.throwIfAborted()
      busy++
      try {
        yield* reply(request, server, signal)
      } catch (error) {
        signal.throwIfAborted()
        throw await failure(error, server)
      } finally {
        busy--
      }
    },
    async embed(inputs, signal) {
      const server = await proxied.server()
      try {
        return await embedTexts(server, modelId, inputs, signal)
      } catch (error) {
        signal.throwIfAborted()
        throw await failure(error, server)
      }
    },
    figures: () => ({ restarts_total: proxied.restarts(), slots_busy: busy }),
    close: () => proxied.close(),
  }
}
