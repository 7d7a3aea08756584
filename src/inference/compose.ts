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
  /** Names or paths. The first is loaded at startup, others on first use. */
  readonly models: readonly [string, ...string[]]
  /** `auto`, or the name of an engine. */
  readonly engine?: string
  /** The address to listen on. */
  readonly host: string
  /** 0 lets the system choose a free one. */
  readonly port: number
  /** The address that clients use, if it has another name. */
  readonly publicUrl?: string | null
  /** Origins of web pages that may call the server, in addition to those of this machine. */
  readonly corsOrigins?: readonly string[]
  /** How many requests may wait for each engine; with 0, a request that cannot start at once is refused. */
  readonly maxQueue?: number
  /** The key that requests require; null for none. */
  readonly apiKey?: string | null
  /** Requests that name no format get JSON. */
  readonly jsonMode?: boolean
  /** Whether requests for the model `auto` let the server choose a model. */
  readonly autoRoute?: boolean
  /** Compresses prompts with more tokens than this; null leaves prompts unchanged. */
  readonly compressOver?: number | null
  /** Memory for the prompt cache; 0 disables it. */
  readonly cacheMegabytes?: number
  readonly draft?: DraftOptions | null
  /** GGUF files of LoRA adapters for the first model. */
  readonly lora?: readonly string[]
  /** Threads that compute. By default all cores for models of 256 MiB and more, otherwise one less. */
  readonly threads?: number
  /** For the prompt and the answer together. */
  readonly contextTokens?: number
  /** Parallel answers. */
  readonly slots?: number
  /** Whether to announce the server on the local network. */
  readonly announce?: boolean
  readonly version: string
  readonly log: LogOptions
  /** Called with a line for each event of a model or its engine. */
  readonly onModelEvent?: (line: string) => void
  /** Called for problems that do not stop the server. */
  readonly onWarning?: (line: string) => void
  /** Aborts the startup. */
  readonly signal?: AbortSignal
}

export interface ComposedServer extends InferenceServer {
  readonly models: Omit<ServedModels, 'close'>
  /** Refuses new connections, finishes requests in flight up to a deadline, and closes the models. */
  close(): Promise<void>
}

const ENGINE_START_MS = 50

const ignore = (): void => undefined

/** Checks that the port is free before a model is loaded, which can take a while. */
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
    jsonMode: settings.jsonMode ?? false,
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

/** Prepares the server before its models are open. They are not used until it listens. */
const prepareServer = async (settings: InferenceSettings, opened: () => ServedModels): Promise<PreparedServer> => {
  const { prepareInferenceServer } = await import('./api/build-server.ts')
  const { host, port, publicUrl = null, corsOrigins = [], version, log } = settings
  // Routes get the models now, but use them only from the first request on.
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
 * Starts the whole inference server: models, queue, routing, compression, and HTTP. It listens when this resolves.
 * @throws the error of listening, such as EADDRINUSE, before a model is loaded; InferenceError as openModels does
 */
export const createInferenceServer = async (settings: InferenceSettings): Promise<ComposedServer> => {
  await assertFree(settings)
  const opening = openServedModels(settings)
  let opened: ServedModels | undefined
  // Runs on another core while the model loads, but only after the engine's process has started.
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
