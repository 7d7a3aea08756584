import { mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ApiError } from '../../client/client.ts'
import { writeDurably } from '../../platform/transfer/durable-file.ts'
import type { DeliveryReport } from '../../sdk/assignment.ts'
import { backOffMs, DEFAULT_POLICY, isPassing, sleep } from '../../sdk/retry.ts'

interface Waiting {
  readonly planId: string
  readonly report: DeliveryReport
}

export interface ReportOutbox {
  /** Resolves once the report cannot be lost any more, unless the disk is full; it is sent beside. Never rejects. */
  add(planId: string, report: DeliveryReport): Promise<void>
  /** Sends what waits, and what is added, until the signal is aborted; what is left then stays on the disk. */
  run(signal: AbortSignal): Promise<void>
}

export interface OutboxOptions {
  /** A file of its own. */
  readonly path: string
  readonly send: (planId: string, report: DeliveryReport, signal: AbortSignal) => Promise<unknown>
  readonly log: (message: string) => void
}

const WAITS = { ...DEFAULT_POLICY, firstWaitMs: 2000, longestWaitMs: 60_000 }

/** These are said again by whoever starts anew; the others are what has become of a version, and said once. */
const isIntermediate = ({ state }: DeliveryReport): boolean => state === 'downloading' || state === 'verifying'

/** Of each plan what was said last; what was measured is not lost to a later report that did not measure. */
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

const readWaiting = async (path: string): Promise<Waiting[]> => {
  try {
    const found = JSON.parse(await readFile(path, 'utf8')) as unknown
    return Array.isArray(found) ? (found as Waiting[]) : []
  } catch {
    return []
  }
}

/**
 * What this device has to say of its deliveries, in order, one at a time, kept on the disk until the service has it. While
 * the service is away only the newest of each plan is kept: the service keeps no more either.
 */
export const openOutbox = async ({ path, send, log }: OutboxOptions): Promise<ReportOutbox> => {
  let waiting: Waiting[] = await readWaiting(path)
  let awaken = (): void => undefined
  let lastWrite: Promise<void> = Promise.resolve()

  const persist = (): Promise<void> => {
    lastWrite = lastWrite
      .catch(() => undefined)
      // Somebody may have deleted the folder.
      .then(() => mkdir(dirname(path), { recursive: true, mode: 0o700 }))
      .then(() =>
        writeDurably(path, JSON.stringify(newestOfEach(waiting).filter(({ report }) => !isIntermediate(report)))),
      )
    return lastWrite
  }

  /** True when the service has it or never will. */
  const deliver = async ({ planId, report }: Waiting, signal: AbortSignal): Promise<boolean> => {
    try {
      await send(planId, report, signal)
      return true
    } catch (error) {
      signal.throwIfAborted()
      // A key that is refused may be replaced; what waits is then said with the new one.
      if (isPassing(error) || (error instanceof ApiError && error.status === 401)) return false
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
      awaken()
      // A full disk is among the things that must be reported.
      if (!isIntermediate(report)) await persist().catch((error: unknown) => log(`${path}: ${String(error)}`))
    },

    run: async (signal) => {
      signal.addEventListener('abort', () => awaken(), { once: true })
      for (let failures = 0; !signal.aborted; ) {
        const awake = new Promise<void>((resolve) => {
          awaken = resolve
          if (signal.aborted) resolve()
        })
        const next = waiting[0]
        if (next !== undefined && (await deliver(next, signal).catch(() => false))) {
          failures = 0
          waiting = waiting.filter((one) => one !== next)
          // Said twice is said once, so a crash before this is written does no harm.
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
