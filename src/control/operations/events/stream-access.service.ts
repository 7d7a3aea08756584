import { setTimeout as sleep } from 'node:timers/promises'
import type { Caller } from '../../../domain/access.ts'
import type { EventTopic } from '../../../domain/event-topics.ts'
import { createBatcher } from '../../../platform/db/batch.ts'
import { isOutage } from '../../../platform/db/transactions.ts'
import type { Context } from '../../context.ts'
import type { EventTail } from './event-tail.service.ts'
import { federationsOf } from './memberships.report.ts'
import type { EventFilter } from './outbox.store.ts'

/** A revocation is announced; if the notification is lost, the stream ends after this time (docs/decisions/0175). */
const CHECK_MS = 5000
/** Not more often, however many keys are revoked: the next events wait for the check. */
const MIN_CHECK_MS = 250
const RETRY_MS = 1000
/** Streams end if they could not be checked for this time. */
const MAX_OUTAGE_MS = 30_000

/** Rejects as for an unavailable database if one that hangs has not answered after this time. */
const within = <T>(ms: number, work: () => Promise<T>): Promise<T> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    const hangs = Object.assign(new Error('the database does not respond'), { code: '57014' })
    timer = setTimeout(() => reject(hangs), ms)
  })
  return Promise.race([work(), late]).finally(() => clearTimeout(timer))
}

export interface StreamAccessParts {
  readonly tail: EventTail
  /** Whether the caller's key and session are still valid. */
  readonly isStillIn: (caller: Caller) => Promise<boolean>
}

/** Watches what the callers of event streams may receive. */
export const createStreamAccess = ({ database }: Pick<Context, 'database'>, { tail, isStillIn }: StreamAccessParts) => {
  database.hints.listen('keys', () => tail.news.notify('revocation'))

  const lookUpFederations = createBatcher<string, readonly string[]>({
    maxBatch: 1000,
    run: async (orgIds) => {
      const found = await federationsOf(database.sql, [...new Set(orgIds)])
      return orgIds.map((orgId) => found.get(orgId) ?? [])
    },
  })

  return (caller: Caller, topics: readonly EventTopic[], gone: AbortSignal) => {
    const { orgId } = caller
    let filter: EventFilter | null = { orgId, federationIds: [], topics }
    let seen = -1
    let checkedAt = Number.NEGATIVE_INFINITY

    /** How long the last check counts. For all streams of the process until the same time, so that they are checked together. */
    const untilMs = (everyMs: number): number =>
      Math.max(0, (Math.floor(checkedAt / everyMs) + 1) * everyMs - performance.now())

    /** Repeats work that failed because the database is unavailable: a client that reconnected would be refused. */
    const throughOutage = async <T>(work: () => Promise<T>): Promise<T> => {
      const endsAt = performance.now() + MAX_OUTAGE_MS
      for (;;) {
        try {
          return await within(endsAt - performance.now(), work)
        } catch (error) {
          const isOver = gone.aborted || tail.news.isClosed() || performance.now() + RETRY_MS >= endsAt
          if (isOver || !isOutage(error)) throw error
        }
        await sleep(RETRY_MS)
      }
    }

    const check = async (last: EventFilter): Promise<EventFilter | null> => {
      const [version, began] = [tail.news.versionOf('revocation'), performance.now()]
      const isValid = await isStillIn(caller)
      // Revocations do not change them.
      const areDue = orgId !== null && untilMs(CHECK_MS) === 0
      const federationIds = isValid && areDue ? await lookUpFederations(orgId) : last.federationIds
      seen = version
      checkedAt = began
      return isValid ? { ...last, federationIds } : null
    }

    return {
      /** Null once its key or session has ended. Call it before sending events. */
      async filter(): Promise<EventFilter | null> {
        const isNews = seen !== tail.news.versionOf('revocation')
        const last = filter
        if (last === null || (!isNews && untilMs(CHECK_MS) > 0)) return last
        const waitMs = untilMs(MIN_CHECK_MS)
        if (waitMs > 0) await sleep(waitMs)
        filter = await throughOutage(() => check(last))
        return filter
      },
      untilNextCheckMs: () => untilMs(CHECK_MS),
      throughOutage,
    }
  }
}

export type StreamAccess = ReturnType<ReturnType<typeof createStreamAccess>>
