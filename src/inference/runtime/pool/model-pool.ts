import { type AvailableModels, type ListedModel, modelNotFound } from '../../api/available-models.ts'
import type { Engine } from '../../engines/engine.ts'
import { InferenceError, type InferenceErrorCode, type LoadedFiles, withoutFolders } from '../../errors.ts'
import { Residents } from './residents.ts'

/** A model that the pool may load. */
export interface PooledModel extends ListedModel {
  /** The expected memory for its file and a context. The engine's own figure replaces it after loading. */
  readonly expectedBytes: number
  /** Their paths are not part of errors. */
  readonly files: LoadedFiles
  open(): Promise<Engine>
}

export interface ModelPoolOptions {
  readonly models: readonly PooledModel[]
  /** For all loaded models together. */
  readonly memoryBytes?: number
  /** How long a request waits for memory that other requests use. */
  readonly timeoutMs?: number
  /** Closes models that were idle for this time; undefined: never. */
  readonly unloadAfterMs?: number
  /** Called after a model was closed to make room, or because it was idle, with the error if closing failed. */
  readonly onClosed?: (name: string, error?: unknown) => void
}

export interface ModelPool extends AvailableModels {
  readonly memoryBytes: number
  /** Waits for running requests, then closes every model. */
  close(): Promise<void>
}

const SHARE_OF_FREE_MEMORY = 0.8
const TIMEOUT_MS = 60_000

/** The default memory limit for all models: most of the free memory, respecting container limits. */
export const defaultMemoryBytes = (): number => Math.floor(process.availableMemory() * SHARE_OF_FREE_MEMORY)

/** Errors of a model's files, which may be gone. */
const BROKEN: readonly string[] = ['invalid_model', 'model_not_found', 'engine_failed'] satisfies InferenceErrorCode[]

const brokenModel = ({ name, files }: PooledModel, cause: InferenceError): InferenceError => {
  const reason = withoutFolders(cause.message, files)
  return new InferenceError('invalid_model', `The model '${name}' cannot be loaded on this server: ${reason}`, {
    param: 'model',
    cause,
  })
}

/** Loads models on first use within a memory budget. */
export const createModelPool = (options: ModelPoolOptions): ModelPool => {
  const { memoryBytes = defaultMemoryBytes(), timeoutMs = TIMEOUT_MS, unloadAfterMs, onClosed } = options
  const models = new Map(options.models.map((model) => [model.name, model]))
  const residents = new Residents<Engine>({
    budgetBytes: memoryBytes,
    bytesOf: (engine) => engine.model.memoryBytes,
    close: (engine) => engine.close(),
    timeoutMs,
    ...(unloadAfterMs !== undefined && { unloadAfterMs }),
    ...(onClosed && { onClosed }),
  })
  return {
    memoryBytes,
    list: () => options.models.map(({ name, created }) => ({ name, created })),
    loaded: () => residents.loaded,
    close: () => residents.close(),
    async open(name, signal) {
      const model = models.get(name)
      if (model === undefined) throw modelNotFound(name, [...models.keys()])
      const load = (): Promise<Engine> =>
        model.open().catch((error: unknown) => {
          throw error instanceof InferenceError && BROKEN.includes(error.code) ? brokenModel(model, error) : error
        })
      const { value, release } = await residents.acquire({ name, expectedBytes: model.expectedBytes, load }, signal)
      return { engine: value, release }
    },
  }
}
