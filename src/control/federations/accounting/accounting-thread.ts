import type { Worker } from 'node:worker_threads'
import { startThread } from '../../../platform/threads/start-thread.ts'
import type { Answer, Question, Reply } from './questions.ts'

interface Waiting {
  resolve(answer: Answer): void
  reject(error: Error): void
}

/**
 * One worker thread that answers one question at a time. It is started by the first question, keeps no process alive
 * between questions, and is replaced by the next question after it was ended or died.
 */
export class AccountingThread {
  #worker: Worker | null = null
  #waiting: Waiting | null = null

  /** Call it only while no other question is being answered. Rejects with what `end` is given. */
  answer(question: Question): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#worker ??= this.#start()
      this.#worker.ref()
      this.#worker.postMessage(question)
    })
  }

  /** Stops the thread at once, whatever it is doing; the question that it was answering is rejected with `reason`. */
  async end(reason: Error): Promise<void> {
    const worker = this.#worker
    this.#worker = null
    this.#settle(({ reject }) => reject(reason))
    await worker?.terminate()
  }

  #start(): Worker {
    const worker = startThread(import.meta.url, 'accounting.worker', {
      resourceLimits: { maxOldGenerationSizeMb: 512 },
    })
    worker.on('message', (reply: Reply) => {
      if (this.#worker !== worker) return
      worker.unref()
      this.#settle(({ resolve, reject }) => (reply.ok ? resolve(reply.answer) : reject(new Error(reply.stack))))
    })
    const lost = (reason: string): void => {
      if (this.#worker !== worker) return
      this.#worker = null
      this.#settle(({ reject }) => reject(new Error(`The accounting thread ended: ${reason}`)))
    }
    worker.on('error', (error) => lost(error instanceof Error ? error.message : String(error)))
    worker.on('exit', (code) => lost(`exit code ${code}`))
    return worker
  }

  #settle(end: (waiting: Waiting) => void): void {
    const waiting = this.#waiting
    this.#waiting = null
    if (waiting !== null) end(waiting)
  }
}
