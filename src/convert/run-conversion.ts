import { badRequest, type ErrorCode, ServiceError } from '../domain/errors.ts'
import { startThread } from '../platform/threads/start-thread.ts'
import type { Conversion } from './convert.ts'

/** A conversion of local files. */
export interface ConversionJob {
  readonly path: string
  readonly fileName: string
  readonly formats: readonly string[]
  readonly inputShape?: readonly number[]
  readonly reference?: boolean
  /** For a `path` with only weights: the model into which they are put. */
  readonly architecture?: { readonly path: string; readonly fileName: string }
}

/** Messages from the thread. */
export type Message =
  | { readonly kind: 'step'; readonly step: string }
  | { readonly kind: 'done'; readonly conversion: Conversion }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string }

export interface ConversionLimits {
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
  readonly maxHeapMb?: number
  readonly onStep?: (step: string) => void
}

const TIMEOUT_MS = 10 * 60 * 1000
const MAX_HEAP_MB = 4096

/**
 * Converts a model in its own thread, which is terminated when `signal` aborts (rejects with its reason) or time runs out.
 * Throws bad_request with what is wrong with the file or which limit it exceeds.
 */
export const runConversion = (job: ConversionJob, limits: ConversionLimits = {}): Promise<Conversion> => {
  const { signal, timeoutMs = TIMEOUT_MS, maxHeapMb = MAX_HEAP_MB, onStep = () => undefined } = limits
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const resourceLimits = { maxOldGenerationSizeMb: maxHeapMb }
    const worker = startThread(import.meta.url, 'convert.worker', { workerData: job, resourceLimits })
    const end = (settle: () => void): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
      settle()
      void worker.terminate()
    }
    const fail = (error: unknown): void => end(() => reject(error))
    const abort = (): void => fail(signal?.reason)
    const timer = setTimeout(
      () => fail(badRequest(`The conversion of ${job.fileName} takes longer than ${Math.round(timeoutMs / 1000)} s.`)),
      timeoutMs,
    )
    signal?.addEventListener('abort', abort, { once: true })
    worker.on('message', (message: Message) => {
      if (message.kind === 'step') onStep(message.step)
      else if (message.kind === 'done') end(() => resolve(message.conversion))
      else fail(new ServiceError(message.code, message.message))
    })
    worker.on('error', (error: NodeJS.ErrnoException) =>
      fail(
        error.code === 'ERR_WORKER_OUT_OF_MEMORY'
          ? badRequest(`The conversion of ${job.fileName} takes more than ${maxHeapMb} MB of memory.`)
          : error,
      ),
    )
    worker.on('exit', (code) => fail(new Error(`The thread of the conversion ended with code ${code}.`)))
  })
}
