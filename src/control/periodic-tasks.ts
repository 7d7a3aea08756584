import { isLogged } from '../domain/repeated-failures.ts'
import { unaudited } from './audit-note.ts'
import type { ControlEventBus, ControlEvents } from './events.ts'

/** A service that is often restarted, such as that of a laptop, may never run for an hour. */
const FIRST_RUN_MS = 10 * 60_000

/** Events that start a task right after their commit; a function decides whether an event does. */
type WakeOn = {
  readonly [Type in keyof ControlEvents]?: true | ((event: ControlEvents[Type]) => boolean)
}

/** Periodic work. It must be safe to run in several processes at once. */
export interface Task {
  readonly name: string
  readonly everyMs: number
  readonly wakeOn?: WakeOn
  readonly run: () => Promise<unknown>
}

interface PeriodicTasks {
  /** Runs a task as soon as possible, in addition to its interval. Resolves when a run that began after this call has ended. */
  wake(name: string): Promise<void>
  /** Starts no more runs and waits for the current ones. */
  stop(): Promise<void>
}

/**
 * Runs tasks at their intervals, rare ones also soon after the start, and after the events that wake them. Runs of one task never
 * overlap. A task that throws is logged and runs again at its next interval. Most due work is done only here; a few reads also do
 * it (rounds: DueRounds.tick(); rollouts), so that they return up-to-date data.
 */
export const startPeriodicTasks = (
  tasks: readonly Task[],
  events: Pick<ControlEventBus, 'afterCommit'>,
  log: { error(fields: object, message: string): void },
): PeriodicTasks => {
  let stopped = false
  const timers = new Map(tasks.map((task) => [task.name, startTimer(task)]))
  for (const { name, wakeOn } of tasks) {
    for (const [type, wakes] of Object.entries(wakeOn ?? {})) {
      events.afterCommit(type as keyof ControlEvents, (event) => {
        if (wakes === true || wakes(event as never)) void timers.get(name)!.wake()
      })
    }
  }

  function startTimer(task: Task) {
    let running: Promise<void> = Promise.resolve()
    let next: Promise<void> | null = null
    let failure: { readonly message: string; readonly count: number } | null = null

    const logFailure = (error: unknown): void => {
      const message = String(error)
      const count = failure?.message === message ? failure.count + 1 : 1
      failure = { message, count }
      if (isLogged(count)) log.error({ task: task.name, err: error, failures: count }, 'a periodic task failed')
    }

    const runOnce = async (): Promise<void> => {
      next = null
      if (stopped) return
      // A request may wake a task, whose work must not be audited as that request's action.
      await unaudited(async () => task.run()).then(() => (failure = null), logFailure)
    }
    /** Calls during a run share the next run. */
    const wake = (): Promise<void> => {
      next ??= running = running.then(runOnce)
      return next
    }
    const timers = [setInterval(wake, task.everyMs)]
    if (task.everyMs > FIRST_RUN_MS) timers.push(setTimeout(wake, FIRST_RUN_MS))
    for (const timer of timers) timer.unref()
    return { wake, timers, finished: () => running }
  }

  return {
    wake: (name) => timers.get(name)?.wake() ?? Promise.resolve(),
    async stop() {
      stopped = true
      for (const each of timers.values()) for (const timer of each.timers) clearInterval(timer)
      await Promise.all([...timers.values()].map((each) => each.finished()))
    },
  }
}

/** Runs `work` for each item in turn, even after a failure; then throws the first failure. */
export const forEach = async <T>(items: Iterable<T>, work: (item: T) => Promise<unknown>): Promise<void> => {
  const failures: unknown[] = []
  for (const item of items) await work(item).catch((error: unknown) => failures.push(error))
  if (failures.length > 0) throw failures[0]
}

/** Runs the steps in the same way. */
export const runEach = (...steps: readonly (() => Promise<unknown>)[]): Promise<void> =>
  forEach(steps, (step) => step())

/**
 * Does what is due before a read. Ignores failures, which may concern another organization: the periodic task that does the
 * same work logs them and tries again.
 */
export const runDue = async (tick: () => Promise<unknown>): Promise<void> => {
  await tick().catch(() => undefined)
}
