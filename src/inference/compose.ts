import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Compress } from './api/available-models.ts'
import type { InferenceServer, InferenceServerOptions, PreparedServer } from './api/build-server.ts'
import type { EngineSettings } from './choose-model-and-engine.ts'
import { announce } from './discovery/announce.ts'
import { compress } from './runtime/compression/compress.ts'
import { openModels, type ServedModels, type ServedModelsOptions } from './served-models.ts'

export interface InferenceSettings
  extends Omit<ServedModelsOptions, 'engine' | 'autoRoute' | 'signal' | 'engineSettings'>,
    Partial<Pick<ServedModelsOptions, 'engine' | 'autoRoute' | 'signal'>>,
    Partial<Pick<EngineSettings, 'cacheMegabytes' | 'draft' | 'threads' | 'contextTokens' | 'slots'>>,
    Pick<InferenceServerOptions, 'host' | 'port' | 'publicUrl' | 'corsOrigins' | 'apiKey' | 'version' | 'log'>,
    Partial<Pick<InferenceServerOptions, 'maxQueue'>> {
  /** Compresses prompts with more tokens than this; null leaves prompts unchanged. */
  readonly compressOver?: number | null
  /** Whether to announce the server on the local network. */
  readonly announce?: boolean
  /** Called with a line for each event of a model or its engine. */
  readonly onModelEvent?: (line: string) => void
  /** Called for problems that do not stop the server. */
  readonly onWarning?: (line: string) => void
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
    : (messages, countTokens) => compress(messages, countTokens, { thresholdTokens: tokens })

const openServedModels = (settings: InferenceSettings): Promise<ServedModels> => {
  const { engine = 'auto', autoRoute = false, signal = new AbortController().signal } = settings
  const { cacheMegabytes = 2048, draft = null, threads, contextTokens, slots, onModelEvent: log = ignore } = settings
  return openModels({
    ...settings,
    engine,
    autoRoute,
    signal,
    engineSettings: {
      cacheMegabytes,
      draft,
      log,
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
  return prepareInferenceServer({
    ...settings,
    // Routes get the models now, but use them only from the first request on.
    models: {
      list: () => opened().available.list(),
      open: (name, signal) => opened().available.open(name, signal),
      loaded: () => opened().available.loaded(),
    },
    route: settings.autoRoute ? (question) => opened().route!(question) : null,
    compress: compressionOver(settings.compressOver),
    maxQueue: settings.maxQueue ?? 32,
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
