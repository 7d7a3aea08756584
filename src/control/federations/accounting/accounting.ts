import { LRUCache } from 'lru-cache'
import { badRequest, ServiceError } from '../../../domain/errors.ts'
import { JobThread } from '../../../platform/threads/job-thread.ts'
import { startThread } from '../../../platform/threads/start-thread.ts'
import type { AccountingRequest, Answer, Answers, Reply } from './accounting-requests.ts'
import { FairQueue } from './fair-queue.ts'

/** The caller: organizations take turns, as do keys without one; `signal` withdraws the question. */
export interface Asker {
  readonly orgId: string | null
  readonly keyId?: string
  readonly signal?: AbortSignal | undefined
}

export const ACCOUNTING_LIMITS = {
  /** How long one question may be computed. */
  seconds: 10,
  /** How long an unwanted computation, for which no request waits, may still run. */
  abandonedSeconds: 1,
  /** Questions that may wait, of one organization and of all. */
  queuedPerOrg: 32,
  queued: 512,
  /** Answers that are kept. */
  kept: 500,
}

const RETRY_AFTER_SECONDS = 2

interface Waiter {
  resolve(answer: Answer): void
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

/** The second one is started when two organizations ask at once. */
const THREADS = 2

/**
 * Privacy accounting off the event loop, on two threads. Each answers one question at a time, an organization has one of
 * them at most, and organizations take turns: one that asks many questions waits for its own. Identical questions are
 * computed once, and answers are kept.
 */
export class Accounting {
  readonly #limits: typeof ACCOUNTING_LIMITS
  readonly #idle = Array.from({ length: THREADS }, newThread)
  readonly #turns = new FairQueue<Job>()
  readonly #kept: LRUCache<string, { readonly answer: Answer }>
  /** What is being answered, by organization. */
  readonly #running = new Map<string, Running>()
  #isClosed = false

  constructor(limits: Partial<typeof ACCOUNTING_LIMITS> = {}) {
    this.#limits = { ...ACCOUNTING_LIMITS, ...limits }
    this.#kept = new LRUCache({ max: this.#limits.kept })
  }

  /**
   * Throws rate_limited when too many questions wait or the service is shutting down, bad_request when this one takes longer than the limit, and the
   * signal's reason when it is aborted.
   */
  async ask<K extends AccountingRequest['kind']>(
    { orgId, keyId = '', signal }: Asker,
    question: Extract<AccountingRequest, { readonly kind: K }>,
  ): Promise<Answers[K]> {
    signal?.throwIfAborted()
    if (this.#isClosed) throw closing()
    const key = JSON.stringify(question)
    const kept = this.#kept.get(key)
    if (kept !== undefined) return kept.answer as Answers[K]
    const org = orgId ?? keyId
    const job = this.#jobOf(org, key, question)
    const answer = await new Promise<Answer>((resolve, reject) => {
      const waiter: Waiter = { resolve, reject }
      job.waiters.add(waiter)
      signal?.addEventListener('abort', () => this.#withdraw(org, job, waiter, signal.reason), { once: true })
      this.#next()
    })
    return answer as Answers[K]
  }

  /** Rejects every question, now and later, and ends the thread. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (let next = this.#turns.next(); next !== undefined; next = this.#turns.next()) {
      settleAll(next.item, ({ reject }) => reject(closing()))
    }
    const threads = [...this.#idle, ...[...this.#running.values()].map(({ thread }) => thread)]
    await Promise.all(threads.map((thread) => thread.stop(closing())))
  }

  /** An identical question that waits or is being answered, or else a new one at the end of the organization's queue. */
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
    // The one that answered last: the other one need not be started.
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
      settleAll(job, ({ resolve }) => resolve(reply.answer))
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
    // A thread that is ended forgets what it knows, and most answers come sooner than that is worth.
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
