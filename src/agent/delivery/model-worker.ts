import { anySignal } from '../../domain/any-signal.ts'
import { errorMessage } from '../../domain/error-message.ts'
import { type Assignment, sameContent } from '../../sdk/assignment.ts'
import { backOffMs, DEFAULT_POLICY, retryNote } from '../../sdk/retry.ts'
import { ActivationRefused } from './activation.ts'
import { failureOf } from './fetch-version.ts'
import type { ModelSteps } from './model-steps.ts'

export interface ModelWorker {
  /** Sets the version that this device is to run; null if no plan assigns the model anymore. */
  want(assignment: Assignment | null): void
  /** Resolves when it has stopped. Never rejects. */
  readonly ended: Promise<void>
}

export interface WorkerContext {
  readonly steps: ModelSteps
  /** How often the running version is measured and reported: after a random time between half of this and all of it. */
  readonly restateSeconds: number
  readonly signal: AbortSignal
  /** Called after the model was withdrawn because no plan assigns it anymore. This worker then ignores further requests. */
  readonly onDone: () => void
}

interface Outcome {
  readonly waitMs: number
  /** True if the requested state is reached and only needs to be reported again. */
  readonly isSettled: boolean
}

/** Waits after the service did not answer, or the pointer could not be written. */
const AWAY = { ...DEFAULT_POLICY, firstWaitMs: 5000, longestWaitMs: 300_000 }
/** Waits after a failure that may be temporary, such as a full disk or corrupted bytes. */
const FAILED = { ...DEFAULT_POLICY, firstWaitMs: 3_600_000, longestWaitMs: 86_400_000 }

const isSameAssignment = (a: Assignment | null | undefined, b: Assignment | null): boolean =>
  JSON.stringify(a) === JSON.stringify(b)

/** True if work on `a` also serves `b`, so that it may continue. */
const leadsTo = (a: Assignment | null | undefined, b: Assignment | null): boolean =>
  a !== undefined && a !== null && b !== null && sameContent(a, b) && !(a.activate && !b.activate)

/**
 * Brings one model of this device to the requested state, in parallel with everything else. A new request stops the work on the
 * previous one, whether a download or a hook. All waits use timers, which a change of the system time does not affect.
 */
export const startModelWorker = ({ steps, restateSeconds, signal, onDone }: WorkerContext): ModelWorker => {
  let requested: Assignment | null | undefined
  let step = new AbortController()
  let wake = (): void => undefined

  const restateMs = (): number => restateSeconds * 1000 * (0.5 + Math.random() / 2)

  /** Waits until something other than `target` is requested, or the time has passed. */
  const rest = (target: Assignment | null | undefined, ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = Number.isFinite(ms) ? setTimeout(resolve, ms) : undefined
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
      if (requested !== target || signal.aborted) wake()
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
        steps.log(`${retryNote(errorMessage(error))}.`)
        return { waitMs: backOffMs(failures + 1, AWAY, Math.random), isSettled: false }
      }
      await steps.reportFailure(target, failure.message)
      if (failure instanceof ActivationRefused) return { waitMs: Number.POSITIVE_INFINITY, isSettled: true }
      return { waitMs: backOffMs(failures + 1, FAILED, Math.random), isSettled: false }
    }
  }

  const run = async (): Promise<void> => {
    // The work repeats it, and reports why it fails.
    await steps.load().catch(() => undefined)
    let delivered: Assignment | null | undefined
    let outcome: Outcome = { waitMs: Number.POSITIVE_INFINITY, isSettled: false }
    let failures = 0
    while (!signal.aborted) {
      const target = requested
      if (target !== undefined && (target !== delivered || !outcome.isSettled)) {
        if (target !== delivered) failures = 0
        delivered = target
        step = new AbortController()
        outcome = await work(target, failures, anySignal(signal, step.signal))
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

  const stop = (): void => wake()
  signal.addEventListener('abort', stop, { once: true })
  return {
    want: (assignment) => {
      if (isSameAssignment(requested, assignment)) return
      const isTheSameWork = leadsTo(requested, assignment)
      requested = assignment
      if (!isTheSameWork) step.abort(new Error('Another version is assigned now.'))
      wake()
    },
    ended: run().finally(() => signal.removeEventListener('abort', stop)),
  }
}
