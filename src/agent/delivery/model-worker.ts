import { type Assignment, sameContent } from '../../sdk/assignment.ts'
import { backOffMs, DEFAULT_POLICY } from '../../sdk/retry.ts'
import { ActivationRefused } from './activation.ts'
import { failureOf } from './fetch-version.ts'
import type { ModelSteps } from './model-steps.ts'

export interface ModelWorker {
  /** What this device shall run of the model; null: no plan says anything any more. */
  want(assignment: Assignment | null): void
  /** Resolves when it has stopped. Never rejects. */
  readonly ended: Promise<void>
}

export interface WorkerContext {
  readonly steps: ModelSteps
  /** How often what runs is measured and said again: half to the whole of it, left to chance. */
  readonly restateSeconds: number
  readonly signal: AbortSignal
  /** No plan gives the model any more, and that is done with: from here on this worker takes no wishes. */
  readonly onDone: () => void
}

interface Outcome {
  readonly waitMs: number
  /** Whether things are as wanted, so that they need only be said again. */
  readonly isSettled: boolean
}

/** When nobody answers, or the disk of the pointer does not. */
const AWAY = { ...DEFAULT_POLICY, firstWaitMs: 5000, longestWaitMs: 300_000 }
/** After a failure that time may mend: a full disk, bytes that were damaged on their way. */
const FAILED = { ...DEFAULT_POLICY, firstWaitMs: 3_600_000, longestWaitMs: 86_400_000 }

const isSameWish = (a: Assignment | null | undefined, b: Assignment | null): boolean =>
  JSON.stringify(a) === JSON.stringify(b)

/** Whether work on `a` is also work on `b`, so that it may go on. */
const leadsTo = (a: Assignment | null | undefined, b: Assignment | null): boolean =>
  a !== undefined && a !== null && b !== null && sameContent(a, b) && !(a.activate && !b.activate)

/**
 * Brings one model of this device to what is wanted, beside everything else that the device does. What is wanted now stops
 * what was wanted before, be it a download or a hook. All waits are timers', which no change of the date moves.
 */
export const startModelWorker = ({ steps, restateSeconds, signal, onDone }: WorkerContext): ModelWorker => {
  let requested: Assignment | null | undefined
  let step = new AbortController()
  let awaken = (): void => undefined

  const restateMs = (): number => restateSeconds * 1000 * (0.5 + Math.random() / 2)

  /** Until something else is wanted than `target`, or the time is over. */
  const rest = (target: Assignment | null | undefined, ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = Number.isFinite(ms) ? setTimeout(resolve, ms) : undefined
      awaken = () => {
        clearTimeout(timer)
        resolve()
      }
      if (requested !== target || signal.aborted) awaken()
    })

  const work = async (target: Assignment | null, failures: number, stop: AbortSignal): Promise<Outcome> => {
    try {
      if (target === null) await steps.rollback(stop)
      else await steps.ensureActive(target, stop)
      return { waitMs: target === null ? Number.POSITIVE_INFINITY : restateMs(), isSettled: true }
    } catch (error) {
      if (stop.aborted) return { waitMs: 0, isSettled: false }
      const failure = failureOf(error)
      if (target === null || failure === null) {
        steps.log(`${error instanceof Error ? error.message : String(error)} Trying again.`)
        return { waitMs: backOffMs(failures + 1, AWAY, Math.random), isSettled: false }
      }
      await steps.reportFailure(target, failure.message)
      if (failure instanceof ActivationRefused) return { waitMs: Number.POSITIVE_INFINITY, isSettled: true }
      return { waitMs: backOffMs(failures + 1, FAILED, Math.random), isSettled: false }
    }
  }

  const run = async (): Promise<void> => {
    await steps.load()
    let delivered: Assignment | null | undefined
    let outcome: Outcome = { waitMs: Number.POSITIVE_INFINITY, isSettled: false }
    let failures = 0
    while (!signal.aborted) {
      const target = requested
      if (target !== undefined && (target !== delivered || !outcome.isSettled)) {
        if (target !== delivered) failures = 0
        delivered = target
        step = new AbortController()
        outcome = await work(target, failures, AbortSignal.any([signal, step.signal]))
        failures = outcome.isSettled ? 0 : failures + 1
      } else if (target && (await steps.isLost(target).catch(() => false))) {
        steps.log(`the file of version ${target.version} is gone.`)
        outcome = { waitMs: 0, isSettled: false }
      } else if (target) {
        await steps.restate(target).catch((error: unknown) => steps.log(String(error)))
      }
      if (target === null && requested === null && outcome.isSettled) return onDone()
      await rest(target, outcome.waitMs)
    }
  }

  const stop = (): void => awaken()
  signal.addEventListener('abort', stop, { once: true })
  return {
    want: (assignment) => {
      if (isSameWish(requested, assignment)) return
      const isTheSameWork = leadsTo(requested, assignment)
      requested = assignment
      if (!isTheSameWork) step.abort(new Error('Another version is assigned now.'))
      awaken()
    },
    ended: run().finally(() => signal.removeEventListener('abort', stop)),
  }
}
