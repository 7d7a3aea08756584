import type { Worker } from 'node:worker_threads'

interface Job<Request, Reply> {
  readonly request: Request
  resolve(reply: Reply): void
  reject(error: Error): void
}

/**
 * One worker thread that handles one request at a time. It is started by the first request, does not keep the process alive
 * while idle, and is replaced if it dies or is stopped; only the current request then fails.
 */
export class JobThread<Request, Reply> {
  readonly #start: () => Worker
  readonly #waiting: Job<Request, Reply>[] = []
  #running: Job<Request, Reply> | null = null
  #worker: Worker | null = null
  #closed: Error | null = null

  constructor(start: () => Worker) {
    this.#start = start
  }

  /** Rejects with the reason passed to `stop` or `close`, or if the thread dies. */
  run(request: Request): Promise<Reply> {
    if (this.#closed !== null) return Promise.reject(this.#closed)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject })
      this.#next()
    })
  }

  /** Ends the thread at once, whatever it is doing; waiting jobs continue in a new one. */
  async stop(reason: Error): Promise<void> {
    const worker = this.#worker
    this.#worker = null
    this.#settle((job) => job.reject(reason))
    await worker?.terminate()
  }

  /** Ends the thread, and rejects waiting, running and all later requests. */
  async close(reason: Error): Promise<void> {
    this.#closed = reason
    for (const job of this.#waiting.splice(0)) job.reject(reason)
    await this.stop(reason)
  }

  #next(): void {
    if (this.#running !== null) return
    const job = this.#waiting.shift()
    if (job === undefined) {
      this.#worker?.unref()
      return
    }
    this.#running = job
    try {
      this.#worker ??= this.#open()
    } catch (error) {
      // The operating system could not create a thread; the next job tries again.
      this.#settle(() => job.reject(error as Error))
      return
    }
    this.#worker.ref()
    this.#worker.postMessage(job.request)
  }

  #open(): Worker {
    const worker = this.#start()
    const lost = (reason: string): void => {
      if (this.#worker !== worker) return
      this.#worker = null
      this.#settle((job) => job.reject(new Error(`The worker thread ended before its job was done: ${reason}`)))
    }
    worker.on('message', (reply: Reply) => {
      if (this.#worker === worker) this.#settle((job) => job.resolve(reply))
    })
    worker.on('error', (error) => lost(error instanceof Error ? error.message : String(error)))
    worker.on('exit', (code) => lost(`exit code ${code}.`))
    return worker
  }

  #settle(end: (job: Job<Request, Reply>) => void): void {
    const job = this.#running
    this.#running = null
    if (job !== null) end(job)
    this.#next()
  }
}
