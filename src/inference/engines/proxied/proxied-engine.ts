import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { reasonOf } from '../../../platform/transfer/transfer-error.ts'
import { InferenceError } from '../../errors.ts'
import type { ModelFile } from '../../models/model-file.ts'
import type { ChatEvent, ChatMessage, ChatRequest, Engine, EngineName, LoadedModel } from '../engine.ts'
import {
  type ChatPiece,
  ChatServerError,
  embedTexts,
  listServed,
  type Server,
  ServerStalled,
  streamChat,
} from './openai-client.ts'
import { createCallReader, presentMessage, presentTools } from './passed-tools.ts'
import { openAiFormat, type ServerProgram, serverNamed } from './servers.ts'
import { type RunningServer, type StartOptions, startServer, withWords } from './started-server.ts'

/** A rule of thumb for servers that count no tokens. */
const estimatedTokens = (text: string): number => Math.ceil(Buffer.byteLength(text) / 4)

const estimatedPrompt = (messages: readonly ChatMessage[]): number =>
  messages.reduce((sum, { content }) => sum + estimatedTokens(content), 0)

/** A server that somebody else wrote, and the one model of it that is asked. */
interface Proxied<S extends Server> {
  readonly name: EngineName
  /** For messages: a name or an address. */
  readonly label: string
  readonly model: LoadedModel
  /** What requests name; null: the server has one model, and some take a name for another one to load. */
  readonly modelId: string | null
  readonly slots: number
  readonly responseFormat: ServerProgram['responseFormat']
  server(): Promise<S>
  /** What is known of a request that failed without an answer; null: nothing more. */
  explain?(server: S, error: unknown): Promise<InferenceError>
  restarts(): number
  close(): Promise<void>
}

/** Of a server's refusals that are the request's fault. */
const refused = (label: string, { message, status, retryAfter }: ChatServerError): InferenceError => {
  const text = `${label} refused: ${message}`
  if (status === 401 || status === 403)
    return new InferenceError('upstream_failed', `${text.replace(/\.?$/, '.')} Set its key in SERVICE_ENGINE_API_KEY.`)
  if (status === 404) return new InferenceError('model_not_found', text, { param: 'model' })
  if (status === 429)
    return new InferenceError('queue_full', text, { retryAfterSeconds: Math.min(60, Math.max(1, retryAfter ?? 1)) })
  return new InferenceError(status !== null && status < 500 ? 'invalid_request' : 'upstream_failed', text)
}

const failureOf = (label: string, error: unknown): InferenceError => {
  if (error instanceof InferenceError) return error
  if (error instanceof ChatServerError) return refused(label, error)
  if (error instanceof ServerStalled)
    return new InferenceError('upstream_timeout', `${label} is too slow: ${error.message}.`, { cause: error })
  const what = `${label} does not answer, or broke off its answer: ${reasonOf(error)}. Is it running?`
  return new InferenceError('upstream_failed', what, { cause: error })
}

const createEngine = <S extends Server>(proxied: Proxied<S>): Engine => {
  const { name, label, model, modelId, responseFormat } = proxied
  let busy = 0

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
      messages: request.messages.map(presentMessage),
      ...(request.toolUse && presentTools(request.toolUse)),
      ...(maxTokens !== null && { max_tokens: maxTokens }),
      temperature: request.temperature,
      top_p: request.topP,
      seed: request.seed,
      ...(request.stop.length > 0 && { stop: request.stop }),
      ...(format.type !== 'text' && { response_format: responseFormat!(format) }),
    }
  }

  async function* reply(request: ChatRequest, server: Server, signal: AbortSignal): AsyncGenerator<ChatEvent> {
    let text = ''
    let reason: string | null = null
    let usage: ChatPiece['usage'] = null
    const started = { type: 'started', promptTokens: estimatedPrompt(request.messages), cachedTokens: 0 } as const
    let begun = false
    const calls = createCallReader()
    for await (const piece of streamChat(server, bodyOf(request), signal)) {
      // Not before: a refusal has a status as long as nothing was said.
      if (!begun) yield started
      begun = true
      usage = piece.usage ?? usage
      text += piece.text
      if (piece.text !== '') yield { type: 'text', text: piece.text }
      yield* calls.read(piece)
      reason = piece.finishReason ?? reason
    }
    if (!begun) yield started
    if (request.toolUse && request.toolUse.choice !== 'auto' && calls.count() === 0 && reason !== 'length')
      throw new InferenceError('upstream_failed', `${label} was told to call a function, but replied without a call.`)
    yield {
      type: 'finished',
      result: {
        reason: reason === 'length' ? 'length' : 'stop',
        completionTokens: usage?.completionTokens ?? estimatedTokens(text),
        speculation: null,
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
      // Said before anything is started again for it.
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

const USUAL_CONTEXT = 4096

const contextTokensOf = async (folder: string, { file, key }: ServerProgram['contextIn']): Promise<number> => {
  try {
    const config = JSON.parse(await readFile(join(folder, file), 'utf8'))
    // Models that see and hear keep what concerns text apart.
    const tokens: unknown = config[key] ?? config.text_config?.[key]
    return typeof tokens === 'number' && tokens > 0 ? tokens : USUAL_CONTEXT
  } catch {
    return USUAL_CONTEXT
  }
}

export interface ProxiedOptions extends Omit<StartOptions, 'path'> {
  readonly model: ModelFile
  readonly slots?: number
}

/**
 * Runs a model in a program that is started for it, watched, and ended with us.
 * @throws InferenceError engine_missing when the program is not on PATH, engine_failed when it does not come up
 */
export const openStartedEngine = async (program: ServerProgram, options: ProxiedOptions): Promise<Engine> => {
  const { model } = options
  const { name } = program
  const contextTokens = await contextTokensOf(model.path, program.contextIn)
  const started = await startServer(program, { ...options, path: model.path })
  return createEngine<RunningServer>({
    ...started,
    name,
    label: name,
    model: { name: model.name, path: model.path, parameters: null, contextTokens, memoryBytes: model.bytes },
    modelId: null,
    slots: options.slots ?? program.slots,
    responseFormat: program.responseFormat,
    async explain(server, error) {
      // A connection that breaks is how a death is noticed first; its reason comes a moment later.
      const waited = new Promise<null>((resolve) => setTimeout(resolve, 1000, null))
      const reason = await Promise.race([server.program.ended, waited])
      const what =
        reason === null
          ? `${name} broke off its reply.`
          : `${name} died in the middle of a reply (${reason}) and is being restarted.`
      return new InferenceError('engine_failed', withWords(what, server.program), { cause: error })
    },
  })
}

const LOOK_WITHIN_MS = 10_000
const SHOWN_NAMES = 20

export interface RemoteOptions {
  /** `openai`, or the name of the program that runs there. */
  readonly name: EngineName
  /** With /v1. */
  readonly baseUrl: string
  readonly key: string | null
  /** Its name there. */
  readonly model: string
  readonly slots?: number
  readonly contextTokens?: number
  /** A request in which nothing arrives for so long is given up. */
  readonly stallMs?: number
}

/**
 * A model of a server that runs already, anywhere.
 * @throws InferenceError upstream_failed or upstream_timeout when it does not answer, model_not_found when it lacks the model
 */
export const openRemoteEngine = async (options: RemoteOptions): Promise<Engine> => {
  const { name, baseUrl, key, model } = options
  const program = serverNamed(name)
  const look = { baseUrl, key, stallMs: Math.min(LOOK_WITHIN_MS, options.stallMs ?? LOOK_WITHIN_MS) }
  const served = await listServed(look, new AbortController().signal).catch((error: unknown) => {
    // Some servers have no list.
    if (error instanceof ChatServerError && (error.status === 404 || error.status === 405)) return []
    const { code, message } = failureOf(baseUrl, error)
    const start = program === null ? '' : ` Start it: ${[program.program, ...program.arguments(model)].join(' ')}`
    throw new InferenceError(code, message + start, { cause: error })
  })
  const found = served.find((one) => one.name === model)
  if (served.length > 0 && found === undefined) {
    const names = served.slice(0, SHOWN_NAMES).map((one) => one.name)
    const more = served.length > SHOWN_NAMES ? ` and ${served.length - SHOWN_NAMES} more` : ''
    throw new InferenceError(
      'model_not_found',
      `${baseUrl} has no model '${model}'. It has: ${names.join(', ')}${more}.`,
      {
        param: 'model',
      },
    )
  }
  const server: Server = { baseUrl, key, ...(options.stallMs !== undefined && { stallMs: options.stallMs }) }
  const contextTokens = options.contextTokens ?? found?.contextTokens ?? 0
  return createEngine({
    name,
    label: baseUrl,
    model: { name: model, path: baseUrl, parameters: null, contextTokens, memoryBytes: 0 },
    modelId: model,
    slots: options.slots ?? program?.slots ?? 32,
    responseFormat: program === null ? openAiFormat : program.responseFormat,
    server: async () => server,
    restarts: () => 0,
    close: async () => undefined,
  })
}
