import type { Worker } from 'node:worker_threads'
import { type ErrorCode, ServiceError } from '../domain/errors.ts'
import { startThread } from '../platform/threads/start-thread.ts'
import type { Reply, Request } from './job.ts'

interface Job {
  readonly request: Request
  resolve(value: unknown): void
  reject(error: ServiceError): void
}

/**
 * One worker thread that does one job after another. It is started by its first job, keeps no process alive while it
 * has nothing to do, and is replaced when it dies; only the job it was doing fails then.
 */
export class JobThread {
  readonly #maxHeapMb: number
  readonly #waiting: Job[] = []
  #running: Job | null = null
  #worker: Worker | null = null
  #closed = false

  constructor(maxHeapMb: number) {
    this.#maxHeapMb = maxHeapMb
  }

  run(request: Request): Promise<unknown> {
    if (this.#closed) return Promise.reject(internal('The aggregation workers are closed.'))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject })
      this.#next()
    })
  }

  /** Rejects what is waiting or running and ends the thread. */
  async close(): Promise<void> {
    this.#closed = true
    const worker = this.#worker
    this.#worker = null
    this.#settle((job) => job.reject(internal('The service is shutting down.')))
    for (const job of this.#waiting.splice(0)) job.reject(internal('The service is shutting down.'))
    await worker?.terminate()
  }

  #next(): void {
    if (this.#running !== null) return
    const job = this.#waiting.shift()
    if (job === undefined) {
      this.#worker?.unref()
      return
    }
    this.#running = job
    this.#worker ??= this.#start()
    this.#worker.ref()
    this.#worker.postMessage(job.request)
  }

  #start(): Worker {
    // A hostile header that fills the heap ends the thread and its job, not the process.
    const resourceLimits = { maxOldGenerationSizeMb: this.#maxHeapMb }
    const worker = startThread(import.meta.url, 'aggregation.worker', { resourceLimits })
    worker.on('message', (reply: Reply) => {
      this.#settle((job) => (reply.ok ? job.resolve(reply.value) : job.reject(rebuild(reply.error))))
      this.#next()
    })
    const lost = (reason: string): void => {
      if (this.#worker !== worker) return
      this.#worker = null
      this.#settle((job) => job.reject(internal(`The worker thread ended before its job was done: ${reason}`)))
      this.#next()
    }
    worker.on('error', (error) => lost(error instanceof Error ? error.message : String(error)))
    worker.on('exit', (code) => lost(`exit code ${code}.`))
    return worker
  }

  #settle(end: (job: Job) => void): void {
    const job = this.#running
    this.#running = null
    if (job !== null) end(job)
  }
}

const internal = (message: string): ServiceError => new ServiceError('internal_error', message)

const rebuild = (error: { code: string; message: string; stack: string }): ServiceError =>
  new ServiceError(error.code as ErrorCode, error.message, { cause: error.stack })
