import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ApiError } from '../../client/client.ts'
import { isObject } from '../../domain/is-object.ts'
import { jsonOrNull } from '../../domain/parse-json.ts'
import { writeDurably } from '../../platform/files/durable-file.ts'
import { makeFolder } from '../../platform/files/make-folder.ts'
import type { DeliveryReport } from '../../sdk/assignment.ts'
import { backOffMs, DEFAULT_POLICY, isTransient, sleep } from '../../sdk/retry.ts'

interface Waiting {
  readonly planId: string
  readonly report: DeliveryReport
}

export interface ReportOutbox {
  /** Resolves once the report is stored, unless the disk is full; sending is independent of that. Never rejects. */
  add(planId: string, report: DeliveryReport): Promise<void>
  /** Sends a report on this plan that is waiting, which `run` repeats. False if there is none, or the service refuses it. */
  sendWaiting(planId: string, signal: AbortSignal): Promise<boolean>
  /** Sends pending and new reports until the signal is aborted. Unsent ones stay on disk. */
  run(signal: AbortSignal): Promise<void>
}

export interface OutboxOptions {
  /** A file used only by the outbox. */
  readonly path: string
  readonly send: (planId: string, report: DeliveryReport, signal: AbortSignal) => Promise<unknown>
  readonly log: (message: string) => void
}

const WAITS = { ...DEFAULT_POLICY, firstWaitMs: 2000, longestWaitMs: 60_000 }

/** True for progress reports, which a restart sends again. The others are outcomes, which are reported once. */
const isIntermediate = ({ state }: DeliveryReport): boolean => state === 'downloading' || state === 'verifying'

/** Returns the newest report of each plan. Metrics survive later reports of the same version without metrics. */
const newestOfEach = (waiting: readonly Waiting[]): Waiting[] => {
  const newest = new Map<string, Waiting>()
  for (const { planId, report } of waiting) {
    const before = newest.get(planId)?.report
    const sameVersion = before?.version === report.version
    const metrics = report.metrics ?? (sameVersion ? before.metrics : undefined)
    newest.delete(planId)
    newest.set(planId, { planId, report: { ...report, ...(metrics && { metrics }) } })
  }
  return [...newest.values()]
}

const isWaiting = (value: unknown): value is Waiting => {
  const { planId, report } = isObject(value) ? value : {}
  return typeof planId === 'string' && isObject(report) && [report.state, report.version].every(isString)
}

const isString = (value: unknown): boolean => typeof value === 'string'

/** Omits what is damaged. */
const readWaiting = async (path: string): Promise<Waiting[]> => {
  const found = jsonOrNull(await readFile(path, 'utf8').catch(() => ''))
  return Array.isArray(found) ? found.filter(isWaiting) : []
}

/**
 * Sends this device's delivery reports in order, one at a time, and keeps them on disk until the service has them. While the
 * service is unreachable, only the newest per plan is kept, as in the service.
 */
export const openOutbox = async ({ path, send, log }: OutboxOptions): Promise<ReportOutbox> => {
  let waiting: Waiting[] = await readWaiting(path)
  let wake = (): void => undefined
  let lastWrite: Promise<void> = Promise.resolve()

  const persist = (): Promise<void> => {
    lastWrite = lastWrite
      .catch(() => undefined)
      // The folder may have been deleted.
      .then(() => makeFolder(dirname(path), 0o700))
      .then(() =>
        writeDurably(path, JSON.stringify(newestOfEach(waiting).filter(({ report }) => !isIntermediate(report)))),
      )
    return lastWrite
  }

  /** Returns true if the service has accepted it or never will. */
  const deliver = async ({ planId, report }: Waiting, signal: AbortSignal): Promise<boolean> => {
    try {
      await send(planId, report, signal)
      return true
    } catch (error) {
      signal.throwIfAborted()
      // A refused key may be replaced. The reports are then sent with the new key.
      if (isTransient(error) || (error instanceof ApiError && error.status === 401)) return false
      if (report.metrics !== undefined && error instanceof ApiError && error.status === 400) {
        const { metrics: _, ...rest } = report
        log(`The service rejected the metrics of version ${report.version}: ${error.message} Reporting without them.`)
        return deliver({ planId, report: rest }, signal)
      }
      log(`The service rejected the report that version ${report.version} is ${report.state}: ${String(error)}`)
      return true
    }
  }

  return {
    add: async (planId, report) => {
      waiting.push({ planId, report })
      wake()
      // A full disk must still be reported.
      if (!isIntermediate(report)) await persist().catch((error: unknown) => log(`${path}: ${String(error)}`))
    },

    sendWaiting: async (planId, signal) => {
      const found = newestOfEach(waiting).find((one) => one.planId === planId)
      if (found === undefined) return false
      const { metrics: _, ...report } = found.report
      try {
        await send(planId, report, signal)
        return true
      } catch (error) {
        signal.throwIfAborted()
        if (isTransient(error) || !(error instanceof ApiError)) throw error
        return false
      }
    },

    run: async (signal) => {
      signal.addEventListener('abort', () => wake(), { once: true })
      for (let failures = 0; !signal.aborted; ) {
        const awake = new Promise<void>((resolve) => {
          wake = resolve
          if (signal.aborted) resolve()
        })
        const next = waiting[0]
        if (next !== undefined && (await deliver(next, signal).catch(() => false))) {
          failures = 0
          waiting = waiting.filter((one) => one !== next)
          // Reports are idempotent, so a crash before this write is harmless.
          if (!isIntermediate(next.report)) await persist().catch(() => undefined)
          continue
        }
        if (next === undefined) await awake
        else {
          waiting = newestOfEach(waiting)
          await sleep(backOffMs(++failures, WAITS, Math.random), signal).catch(() => undefined)
        }
      }
    },
  }
}
