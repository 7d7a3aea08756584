import type { Tables } from '../platform/db/rows.ts'
import type { App } from '../platform/http/app.ts'
import type { Context, Settings } from './context.ts'
import type { ControlEvents } from './events.ts'

/** Events after whose commit a task runs at once; a function says of an event whether it does. */
export type WakeOn = {
  readonly [Type in keyof ControlEvents]?: true | ((event: ControlEvents[Type]) => boolean)
}

/** Periodic work. It must be safe to run in several processes at once. */
export interface Task {
  readonly name: string
  readonly everyMs: number
  readonly wakeOn?: WakeOn
  readonly run: () => Promise<unknown>
}

/** Runs each step in turn, whether those before it failed or not; then fails as the first that did. */
export const runEach = async (...steps: readonly (() => Promise<unknown>)[]): Promise<void> => {
  const failures: unknown[] = []
  for (const step of steps) await step().catch((error: unknown) => failures.push(error))
  if (failures.length > 0) throw failures[0]
}

/** What `app.ts` needs of a module. `Earlier` are the modules it builds on: those before it in the list there. */
export interface Module<Parts, Earlier> {
  /** The description of its group of operations in the API document. */
  readonly description: string
  /** Only this module's stores write them; a later module may read them in a `*.report.ts`. */
  readonly tables: readonly (keyof Tables)[]
  create(context: Context, earlier: Earlier): Parts
  /** Registering does not use `parts`, so that the API document can be generated without a service. */
  routes(app: App, parts: Parts, settings: Settings): void | Promise<void>
  tasks?(context: Context, parts: Parts): readonly Task[]
}
