import type { Tables } from '../platform/db/rows.ts'
import type { App } from '../platform/http/app.ts'
import type { Context, Settings } from './context.ts'
import type { Task } from './periodic-tasks.ts'

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
