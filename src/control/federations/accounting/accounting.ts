import { LRUCache } from 'lru-cache'
import { badRequest, ServiceError } from '../../../domain/errors.ts'
import { JobThread } from '../../../platform/threads/job-thread.ts'
import { startThread } from '../../../platform/threads/start-thread.ts'
import type { AccountingRequest, Reply, Result, Results } from './accounting-requests.ts'
import { FairQueue } from './fair-queue.ts'

/** The caller. Organizations take turns, as do keys without one; `signal` withdraws the question. */
export interface Requester {
  readonly orgId: string | null
  readonly keyId?: string
  readonly signal?: AbortSignal | undefined
}

export const ACCOUNTING_LIMITS = {
  /** The time limit for one question. */
  seconds: 10,
  /** How long a computation may still run after the last request that waited for it has gone. */
  abandonedSeconds: 1,
  /** The maximum number of waiting questions, for one organization and in total. */
  queuedPerOrg: 32,
  queued: 512,
  /** How many answers are cached. */
  kept: 500,
}

const RETRY_AFTER_SECONDS = 2

interface Waiter {
  resolve(result: Result): void
  reject(error: unknown): void
}

interface Job {
  readonly key: string
  readonly question: AccountingRequest
  readonly waiters: Set<Waiter>
}

interface Running {
  readonly job: Job
  readonly thread: AccountingThread
  readonly startedAt: number
  timer: NodeJS.Timeout
}

type AccountingThread = JobThread<AccountingRequest, Reply>

const newThread = (): AccountingThread =>
  new JobThread(() =>
    startThread(import.meta.url, 'accounting.worker', { resourceLimits: { maxOldGenerationSizeMb: 512 } }),
  )

/** The second thread starts when two organizations ask at the same time. */
const THREADS = 2

/**
 * Privacy accounting off the event loop, on two threads that answer one question at a time. Organizations take turns, and each
 * occupies at most one thread, so an organization with many questions waits only for itself. Identical questions are
 * computed once, and answers are cached.
 */
export class Accounting {
  readonly #limits: typeof ACCOUNTING_LIMITS
  readonly #idle = Array.from({ length: THREADS }, newThread)
  readonly #turns = new FairQueue<Job>()
  readonly #kept: LRUCache<string, { readonly result: Result }>
  /** Questions that are being answered, by organization. */
  readonly #running = new Map<string, Running>()
  #isClosed = false

  constructor(limits: Partial<typeof ACCOUNTING_LIMITS> = {}) {
    this.#limits = { ...ACCOUNTING_LIMITS, ...limits }
    this.#kept = new LRUCache({ max: this.#limits.kept })
  }

  /**
   * @throws rate_limited if too many questions wait or the service is shutting down; bad_request if this one takes longer than
   * the limit; the signal's reason if it is aborted
   */
  async ask<K extends AccountingRequest['kind']>(
    { orgId, keyId = '', signal }: Requester,
    question: Extract<AccountingRequest, { readonly kind: K }>,
  ): Promise<Results[K]> {
    signal?.throwIfAborted()
    if (this.#isClosed) throw closing()
    const key = JSON.stringify(question)
    const kept = this.#kept.get(key)
    if (kept !== undefined) return kept.result as Results[K]
    const org = orgId ?? keyId
    const job = this.#jobOf(org, key, question)
    let withdraw = (): void => undefined
    try {
      const result = await new Promise<Result>((resolve, reject) => {
        const waiter: Waiter = { resolve, reject }
        job.waiters.add(waiter)
        withdraw = () => this.#withdraw(org, job, waiter, signal?.reason)
        signal?.addEventListener('abort', withdraw, { once: true })
        this.#next()
      })
      return result as Results[K]
    } finally {
      // One request may ask hundreds of questions.
      signal?.removeEventListener('abort', withdraw)
    }
  }

  /** Rejects all current and future questions, and stops the threads. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (let next = this.#turns.next(); next !== undefined; next = this.#turns.next()) {
      settleAll(next.item, ({ reject }) => reject(closing()))
    }
    const threads = [...this.#idle, ...[...this.#running.values()].map(({ thread }) => thread)]
    await Promise.all(threads.map((thread) => thread.stop(closing())))
  }

  /** An identical question that is waiting or being answered; otherwise a new one at the end of the organization's queue. */
  #jobOf(org: string, key: string, question: AccountingRequest): Job {
    const running = [...this.#running.values()].find(({ job }) => job.key === key && job.waiters.size > 0)
    const same = running?.job ?? this.#turns.find(org, key)
    if (same !== undefined) return same
    if (this.#turns.sizeOf(org) >= this.#limits.queuedPerOrg || this.#turns.size >= this.#limits.queued) throw tooMany()
    const job: Job = { key, question, waiters: new Set() }
    this.#turns.add(org, job)
    return job
  }

  #next(): void {
    const next = this.#idle.length === 0 || this.#isClosed ? undefined : this.#turns.next(this.#running)
    if (next === undefined) return
    // Takes the thread that answered last, so that the other one may not have to start.
    const thread = this.#idle.pop()!
    const timer = this.#endIn(thread, this.#limits.seconds)
    const running = { job: next.item, thread, startedAt: performance.now(), timer }
    this.#running.set(next.org, running)
    void this.#run(next.org, running)
    this.#next()
  }

  async #run(org: string, running: Running): Promise<void> {
    const { job, thread } = running
    try {
      const reply = await thread.run(job.question)
      if (!reply.ok) throw new Error(reply.stack)
      this.#kept.set(job.key, reply)
      settleAll(job, ({ resolve }) => resolve(reply.result))
    } catch (error) {
      settleAll(job, ({ reject }) => reject(error))
    } finally {
      clearTimeout(running.timer)
      this.#running.delete(org)
      this.#idle.push(thread)
      this.#next()
    }
  }

  #endIn(thread: AccountingThread, seconds: number): NodeJS.Timeout {
    return setTimeout(() => void thread.stop(tooLong(this.#limits.seconds)), Math.max(0, seconds) * 1000)
  }

  #withdraw(org: string, job: Job, waiter: Waiter, reason: unknown): void {
    if (!job.waiters.delete(waiter)) return
    waiter.reject(reason)
    if (job.waiters.size > 0) return
    const running = [...this.#running.values()].find((one) => one.job === job)
    if (running === undefined) {
      this.#turns.remove(org, job)
      return
    }
    // Stopping a thread at once would lose its cached sums, and most answers arrive before that is worthwhile.
    const elapsed = (performance.now() - running.startedAt) / 1000
    clearTimeout(running.timer)
    running.timer = this.#endIn(running.thread, Math.min(this.#limits.abandonedSeconds, this.#limits.seconds) - elapsed)
  }
}

const settleAll = ({ waiters }: Job, settle: (waiter: Waiter) => void): void => {
  for (const waiter of waiters) settle(waiter)
  waiters.clear()
}

const closing = () => tryAgain('The service is shutting down.')

const tooLong = (seconds: number) =>
  badRequest(
    `This privacy accounting took longer than ${seconds} s and was stopped. Use less extreme numbers: fewer ` +
      'steps, more noise, or a larger sample rate.',
  )

const tooMany = () => tryAgain('Too many privacy accounting requests are waiting.')

const tryAgain = (why: string) =>
  new ServiceError('rate_limited', `${why} Try again in ${RETRY_AFTER_SECONDS} s.`, {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })
