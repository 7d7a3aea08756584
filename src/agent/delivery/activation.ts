import type { Assignment } from '../../sdk/assignment.ts'
import { DeliveryFailed } from './fetch-version.ts'
import { HookFailed, type ModelHook } from './model-hook.ts'
import type { KeptVersion, Metrics, ModelState } from './model-state.ts'
import type { ModelFolder } from './model-store.ts'

/** Measures a model's file on data of this device; null when it cannot read it or has no data for it. Never throws. */
export type Measure = (path: string) => Promise<Metrics | null>

export interface ActivationContext {
  readonly folder: ModelFolder
  readonly hook: ModelHook | null
  readonly measure: Measure | null
  readonly signal: AbortSignal
  /** Makes the new state durable. */
  readonly save: (state: ModelState) => Promise<void>
  readonly log: (message: string) => void
}

/** An activation that was started and cut off so often (the machine went down, the agent was killed) is not begun again. */
const MAX_INTERRUPTIONS = 3

/** This version is not tried again here: its hook said no, and would say it again. */
export class ActivationRefused extends DeliveryFailed {}

/** Whether two kept versions are the same bytes or, where there are none, the same name and version. */
const isSameVersion = (a: KeptVersion | null, b: KeptVersion | null): boolean => {
  if (a === null || b === null) return a === b
  return a.file === null || b.file === null
    ? a.file === b.file && a.version === b.version
    : a.file.sha256 === b.file.sha256
}

const runHook = async (
  state: ModelState,
  next: KeptVersion | null,
  before: KeptVersion | null,
  { folder, hook, signal }: ActivationContext,
): Promise<Metrics | null> =>
  hook === null
    ? null
    : hook.run({
        path: folder.pathOf(next),
        modelName: state.modelName,
        modelId: state.modelId,
        version: next?.version ?? null,
        format: next?.format ?? null,
        previousPath: folder.pathOf(before),
        signal,
      })

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Tells the hook that what ran before runs again. There is nothing left to do when it refuses that too. */
const restorePrevious = async (state: ModelState, failed: KeptVersion, context: ActivationContext): Promise<void> => {
  if (state.current === null) return
  await runHook(state, state.current, failed, context).catch((error: unknown) => {
    context.signal.throwIfAborted()
    context.log(`Version ${state.current?.version} could not be restored either: ${messageOf(error)}`)
  })
}

/** `next` as what runs, and what ran as the one before. */
export const switched = (state: ModelState, next: KeptVersion | null): ModelState => ({
  ...state,
  current: next,
  previous: isSameVersion(state.current, next) ? state.previous : state.current,
  trying: null,
  refused: null,
})

/**
 * Makes a version run: the hook is told, and the pointer replaced when it agrees. What is being tried is on the disk before
 * the hook begins, so that whoever starts after a crash knows that the world may be between two versions. Throws
 * ActivationRefused when the hook says no; what ran before then runs again.
 */
export const activate = async (
  state: ModelState,
  next: KeptVersion,
  assignment: Assignment,
  context: ActivationContext,
): Promise<ModelState> => {
  const { folder, hook, measure, signal, save } = context
  const earlier = state.trying !== null && isSameVersion(state.trying.version, next) ? state.trying.attempts : 0
  const refuse = async (reason: string): Promise<never> => {
    await restorePrevious(state, next, context)
    const refused = {
      planId: assignment.planId,
      version: assignment.version,
      sha256: assignment.file?.sha256 ?? null,
      hook: hook?.digest ?? '',
      reason,
    }
    await save({ ...state, trying: null, refused })
    throw new ActivationRefused(reason)
  }
  let reported: Metrics | null = null
  if (hook !== null) {
    if (earlier >= MAX_INTERRUPTIONS) {
      return refuse(`Its activation was started ${earlier} times and never finished: the agent was stopped each time.`)
    }
    await save({ ...state, trying: { version: next, attempts: earlier + 1 } })
    try {
      reported = await runHook(state, next, state.current, context)
    } catch (error) {
      if (signal.aborted) {
        // Whoever stopped it will say what is to run; that was no fault of this version.
        await save({ ...state, trying: { version: next, attempts: earlier } })
        throw error
      }
      return refuse(error instanceof HookFailed ? error.message : `The --on-model command: ${messageOf(error)}`)
    }
  }
  const path = folder.pathOf(next)
  const seen = path === null || measure === null ? null : await measure(path)
  const metrics = seen === null && reported === null ? next.metrics : { ...seen, ...reported }
  const done = switched(state, { ...next, metrics })
  await save(done)
  return done
}

/** Makes `next` run (null: nothing) because no plan gives anything any more: bad or good, what was withdrawn goes. */
export const withdraw = async (
  state: ModelState,
  next: KeptVersion | null,
  context: ActivationContext,
): Promise<ModelState> => {
  const { hook, signal, save, log } = context
  if (hook !== null) {
    await save({ ...state, trying: { version: next, attempts: 0 } })
    await runHook(state, next, state.current, context).catch((error: unknown) => {
      signal.throwIfAborted()
      log(`The --on-model command failed during the rollback: ${messageOf(error)}`)
    })
  }
  const done = switched(state, next === null ? null : { ...next, planId: null })
  await save(done)
  return done
}
