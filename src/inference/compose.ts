import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LogOptions } from '../platform/http/request-log.ts'
import type { AvailableModels, Compress } from './api/available-models.ts'
import type { InferenceServer, PreparedServer } from './api/build-server.ts'
import type { SearchPaths } from './choose-model-and-engine.ts'
import { announce } from './discovery/announce.ts'
import type { DraftOptions } from './engines/llama/settings.ts'
import { compress } from './runtime/compression/compress.ts'
import { openModels, type ServedModels } from './served-models.ts'

export interface InferenceSettings extends SearchPaths {
  /** Names or paths. The first is loaded at the start, others when they are asked for. */
  readonly models: readonly [string, ...string[]]
  /** `auto`, or the name of an engine. */
  readonly engine?: string
  /** What it listens on. */
  readonly host: string
  /** With 0 the system chooses a free one. */
  readonly port: number
  /** The address by which others reach it, where that has another name. */
  readonly publicUrl?: string | null
  /** Origins of web pages that may call it, beside those of this machine. */
  readonly corsOrigins?: readonly string[]
  /** Requests that may wait for each engine; 0: a request that cannot start at once is refused. */
  readonly maxQueue?: number
  /** What requests have to bring; null: nothing. */
  readonly apiKey?: string | null
  /** Requests that name no format get JSON. */
  readonly jsonMode?: boolean
  /** Whether requests may leave the choice of a model to the server, by the name `auto`. */
  readonly autoRoute?: boolean
  /** Takes redundant context out of prompts of more tokens than this; null: prompts are taken as they are. */
  readonly compressOver?: number | null
  /** Memory for prompts that come again; 0: none are kept. */
  readonly cacheMegabytes?: number
  readonly draft?: DraftOptions | null
  /** LoRA adapters of the first model: GGUF files. */
  readonly lora?: readonly string[]
  /** That compute; all cores for models of 256 MiB and more, else one less, when absent. */
  readonly threads?: number
  /** Prompt and answer together. */
  readonly contextTokens?: number
  /** Answers at the same time. */
  readonly slots?: number
  /** Whether the local network is told of the server. */
  readonly announce?: boolean
  readonly version: string
  readonly log: LogOptions
  /** What models and their engines do: a line each. */
  readonly onModelEvent?: (line: string) => void
  /** What does not keep the server from serving. */
  readonly onWarning?: (line: string) => void
  /** Gives up the start. */
  readonly signal?: AbortSignal
}

export interface ComposedServer extends InferenceServer {
  readonly models: Omit<ServedModels, 'close'>
  /** Refuses new connections, finishes what is in flight until a deadline, and closes the models. */
  close(): Promise<void>
}

const ENGINE_START_MS = 50

const ignore = (): void => undefined

/** Finds out before a model is loaded, which may take a while, whether there is a port to serve it on. */
const assertFree = ({ host, port }: InferenceSettings): Promise<void> =>
  new Promise((done, fail) => {
    const probe = createServer()
    probe.once('error', fail)
    probe.listen({ host, port }, () => probe.close(() => done()))
  })

const compressionOver = (tokens: number | null | undefined): Compress | null =>
  tokens === null || tokens === undefined
    ? null
    : async (messages, countTokens) => {
        const done = await compress(messages, countTokens, { thresholdTokens: tokens })
        return done === null ? null : { messages: done.messages, removedTokens: done.report.removedTokens }
      }

const openServedModels = ({ home, cwd, env, models, ...settings }: InferenceSettings): Promise<ServedModels> => {
  const { threads, contextTokens, slots } = settings
  return openModels({
    home,
    cwd,
    env,
    models,
    engine: settings.engine ?? 'auto',
    autoRoute: settings.autoRoute ?? false,
    signal: settings.signal ?? new AbortController().signal,
    lora: settings.lora ?? [],
    engineSettings: {
      cacheMegabytes: settings.cacheMegabytes ?? 2048,
      draft: settings.draft ?? null,
      log: settings.onModelEvent ?? ignore,
      ...(threads !== undefined && { threads }),
      ...(contextTokens !== undefined && { contextTokens }),
      ...(slots !== undefined && { slots }),
    },
  })
}

const announceModel = (
  { version, onWarning = ignore }: InferenceSettings,
  { first }: Pick<ServedModels, 'first'>,
  { address, port }: AddressInfo,
) => {
  const { name: engine, model } = first.engine
  return announce({ host: address, port, model: model.name, engine, version }, onWarning)
}

/** The server before its models are open: nobody asks it for them before it listens. */
const prepareServer = async (settings: InferenceSettings, opened: () => ServedModels): Promise<PreparedServer> => {
  const { prepareInferenceServer } = await import('./api/build-server.ts')
  const { host, port, publicUrl = null, corsOrigins = [], version, log } = settings
  // The routes are given their models now, and look at them with the first request.
  const models: AvailableModels = {
    list: () => opened().available.list(),
    open: (name, signal) => opened().available.open(name, signal),
    loaded: () => opened().available.loaded(),
  }
  return prepareInferenceServer({
    host,
    port,
    publicUrl,
    corsOrigins,
    version,
    log,
    models,
    route: settings.autoRoute ? (question) => opened().route!(question) : null,
    compress: compressionOver(settings.compressOver),
    maxQueue: settings.maxQueue ?? 32,
    jsonMode: settings.jsonMode ?? false,
    apiKey: settings.apiKey ?? null,
  })
}

/**
 * The whole inference server: models, queue, routing, compression and HTTP, listening when this resolves.
 * @throws the error of listening, such as EADDRINUSE, before a model is loaded; InferenceError as openModels does
 */
export const createInferenceServer = async (settings: InferenceSettings): Promise<ComposedServer> => {
  await assertFree(settings)
  const opening = openServedModels(settings)
  let opened: ServedModels | undefined
  // While the model is loaded, on another core, and not before the engine's process has been started.
  const preparing = sleep(ENGINE_START_MS).then(() => prepareServer(settings, () => opened!))
  const [loaded, prepared] = await Promise.allSettled([opening, preparing])
  try {
    if (loaded.status === 'rejected') throw loaded.reason
    if (prepared.status === 'rejected') throw prepared.reason
    opened = loaded.value
    const { close: closeModels, ...models } = opened
    const server = await prepared.value.listen()
    const announced = settings.announce ? announceModel(settings, models, server.address) : null
    return {
      address: server.address,
      models,
      async close() {
        try {
          await announced?.stop()
          await server.close()
        } finally {
          await closeModels()
        }
      },
    }
  } catch (error) {
    if (prepared.status === 'fulfilled') await prepared.value.close()
    if (loaded.status === 'fulfilled') await loaded.value.close()
    throw error
  }
}
