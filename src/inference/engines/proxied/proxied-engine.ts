import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { InferenceError } from '../../errors.ts'
import { type Environment, findProgram } from '../../find-program.ts'
import type { ModelFile } from '../../models/model-file.ts'
import type { ChatEvent, ChatMessage, ChatRequest, Engine } from '../engine.ts'
import { type ChatPiece, ChatServerError, streamChat } from './chat-stream.ts'
import type { ProxiedProgram } from './program.ts'
import { type ServerProcess, withWords } from './server-process.ts'
import { stopFilter } from './stop-text.ts'
import { superviseServer } from './supervisor.ts'

export interface ProxiedOptions {
  readonly model: ModelFile
  /** PATH is searched for the program, which inherits all of it. */
  readonly env: Environment
  readonly log: (line: string) => void
  readonly readyWithinMs?: number
}

const READY_WITHIN_MS = 180_000
const CONTEXT_TOKENS = 4096

/** A rule of thumb for servers that count no tokens. */
const estimatedTokens = (text: string): number => Math.ceil(Buffer.byteLength(text) / 4)

const estimatedPrompt = (messages: readonly ChatMessage[]): number =>
  messages.reduce((sum, { content }) => sum + estimatedTokens(content), 0)

const contextTokensOf = async (folder: string, { file, key }: ProxiedProgram['contextIn']): Promise<number> => {
  try {
    const config = JSON.parse(await readFile(join(folder, file), 'utf8'))
    // Models that see and hear keep what concerns text apart.
    const tokens: unknown = config[key] ?? config.text_config?.[key]
    return typeof tokens === 'number' && tokens > 0 ? tokens : CONTEXT_TOKENS
  } catch {
    return CONTEXT_TOKENS
  }
}

/**
 * Runs a model in a server of somebody else's, which is started for it, watched, and ended with us.
 * @throws InferenceError engine_missing when the program is not on PATH, engine_failed when it does not come up.
 */
export const openProxiedEngine = async (program: ProxiedProgram, options: ProxiedOptions): Promise<Engine> => {
  const { model, env, log } = options
  const path = await findProgram(program.program, env)
  if (path === null) {
    throw new InferenceError(
      'engine_missing',
      `${program.name} is not installed: there is no ${program.program} on the PATH. Install it: ${program.install}`,
    )
  }
  const readyWithinMs = options.readyWithinMs ?? READY_WITHIN_MS
  const contextTokens = await contextTokensOf(model.path, program.contextIn)
  const supervisor = await superviseServer({ program, path, model, env, log, readyWithinMs })
  let busy = 0

  const bodyOf = (request: ChatRequest): object => {
    const format = request.responseFormat
    if (format.type !== 'text' && program.responseFormat === undefined) {
      throw new InferenceError(
        'unsupported',
        `${program.name} cannot force the format of a reply. Leave out response_format, or use a GGUF model: llama.cpp can.`,
        { param: 'response_format' },
      )
    }
    return {
      messages: request.messages,
      max_tokens: request.maxTokens ?? contextTokens,
      temperature: request.temperature,
      top_p: request.topP,
      seed: request.seed,
      ...(request.stop.length > 0 && { stop: request.stop }),
      ...(format.type !== 'text' && { response_format: program.responseFormat!(format) }),
    }
  }

  const failure = async (error: unknown, server: ServerProcess): Promise<unknown> => {
    if (error instanceof InferenceError) return error
    if (error instanceof ChatServerError) {
      const code = error.status !== null && error.status < 500 ? 'invalid_request' : 'engine_failed'
      return new InferenceError(code, `${program.name} refused: ${error.message}`, { cause: error })
    }
    // A connection that breaks is how a death is noticed first; its reason comes a moment later.
    const waited = new Promise<null>((resolve) => setTimeout(resolve, 1000, null))
    const reason = await Promise.race([server.program.ended, waited])
    const what =
      reason === null
        ? `${program.name} broke off its reply.`
        : `${program.name} died in the middle of a reply (${reason}) and is started again.`
    return new InferenceError('engine_failed', withWords(what, server.program), { cause: error })
  }

  async function* reply(request: ChatRequest, server: ServerProcess, signal: AbortSignal): AsyncGenerator<ChatEvent> {
    const stops = program.keepsStops ? null : stopFilter(request.stop)
    const limit = program.keepsMaxTokens ? Infinity : (request.maxTokens ?? contextTokens)
    let text = ''
    let reason: string | null = null
    let stopped = false
    let usage: ChatPiece['usage'] = null
    yield { type: 'started', promptTokens: estimatedPrompt(request.messages), cachedTokens: 0 }
    for await (const piece of streamChat(server.baseUrl, bodyOf(request), signal)) {
      usage = piece.usage ?? usage
      const passed = stops === null ? { text: piece.text, stopped: false } : stops.push(piece.text)
      text += passed.text
      if (passed.text !== '') yield { type: 'text', text: passed.text }
      reason = piece.finishReason ?? reason
      stopped = passed.stopped
      if (stopped) break
      if (estimatedTokens(text) >= limit) {
        reason = 'length'
        break
      }
    }
    const rest = stopped ? '' : (stops?.rest() ?? '')
    text += rest
    if (rest !== '') yield { type: 'text', text: rest }
    yield {
      type: 'finished',
      result: {
        reason: !stopped && reason === 'length' ? 'length' : 'stop',
        completionTokens: usage?.completionTokens ?? estimatedTokens(text),
        speculation: null,
        ...(usage !== null && { prompt: { tokens: usage.promptTokens, cachedTokens: usage.cachedTokens } }),
      },
    }
  }

  return {
    name: program.name,
    slots: program.slots,
    model: { name: model.name, path: model.path, parameters: null, contextTokens, memoryBytes: model.bytes },
    async *chat(request, signal) {
      bodyOf(request)
      const server = await supervisor.server()
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
    figures: () => ({ restarts_total: supervisor.restarts(), slots_busy: busy }),
    close: () => supervisor.close(),
  }
}
