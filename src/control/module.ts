import type { Tables } from '../platform/db/rows.ts'
import type { App } from '../platform/http/app.ts'
import type { Context, Settings } from './context.ts'
import type { ControlEvents } from './events.ts'

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

/** What `app.ts` needs from a module. `Earlier` has the modules it builds on, which precede it in the list there. */
export interface Module<Parts, Earlier> {
  /** The description of its group of operations in the API document. */
  readonly description: string
  /** The tables that only this module's stores write; a later module may read them in a `*.report.ts`. */
  readonly tables: readonly (keyof Tables)[]
  create(context: Context, earlier: Earlier): Parts
  /** Registering does not use `parts`, so that the API document can be generated without a service. */
  routes(app: App, parts: Parts, settings: Settings): void | Promise<void>
  tasks?(context: Context, parts: Parts): readonly Task[]
}
