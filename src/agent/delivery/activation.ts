import { errorMessage } from '../../domain/error-message.ts'
import type { Assignment } from '../../sdk/assignment.ts'
import { DeliveryFailed } from './fetch-version.ts'
import { HookFailed, type ModelHook } from './model-hook.ts'
import type { KeptVersion, Metrics, ModelState } from './model-state.ts'
import type { ModelFolder } from './model-store.ts'

/** Measures a model's file on this device's data; null if it cannot be read or there is no data for it. Never throws. */
export type Measure = (path: string) => Promise<Metrics | null>

export interface ActivationContext {
  readonly folder: ModelFolder
  readonly hook: ModelHook | null
  readonly measure: Measure | null
  readonly signal: AbortSignal
  /** Stores the new state durably. */
  readonly save: (state: ModelState) => Promise<void>
  readonly log: (message: string) => void
}

/** An activation that was interrupted this often (by a power cut, or because the agent was killed) is not tried again. */
const MAX_INTERRUPTIONS = 3

/** This version is not tried again, because its hook refused it and would do so again. */
export class ActivationRefused extends DeliveryFailed {}

/** True if two versions have the same bytes or, without files, the same version name. */
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

/** Tells the hook to run the previous version, or none, again. If it refuses that, too, nothing more can be done. */
const restorePrevious = async (state: ModelState, failed: KeptVersion, context: ActivationContext): Promise<void> => {
  if (isSameVersion(state.current, failed)) return
  await runHook(state, state.current, failed, context).catch((error: unknown) => {
    context.signal.throwIfAborted()
    const previous = state.current === null ? 'The state without a version' : `Version ${state.current.version}`
    context.log(`${previous} could not be restored either: ${errorMessage(error)}`)
  })
}

/** Returns the version to return to once `next` runs: the running one, unless its plan was withdrawn. */
const previousOf = ({ current, previous, plans }: ModelState, next: KeptVersion): KeptVersion | null => {
  if (isSameVersion(current, next)) return previous
  return current === null || current.planId === null || plans.includes(current.planId) ? current : null
}

/**
 * Activates a version: runs the hook, and replaces the pointer if it succeeds. The attempt is stored on disk before the hook
 * starts, so that a restart after a crash knows that an activation was in progress.
 * @throws ActivationRefused if the hook fails, or the error of a pointer that cannot be written; the previous version then runs again
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
    if (state.current !== null) await restorePrevious(state, next, context)
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
        // Not this version's fault: whatever aborted it decides what runs next.
        await save({ ...state, trying: { version: next, attempts: earlier } })
        throw error
      }
      return refuse(error instanceof HookFailed ? error.message : `The --on-model command: ${errorMessage(error)}`)
    }
  }
  const path = folder.pathOf(next)
  const seen = path === null || measure === null ? null : await measure(path)
  const metrics = seen === null && reported === null ? next.metrics : { ...seen, ...reported }
  const previous = previousOf(state, next)
  const done = { ...state, current: { ...next, metrics, hooked: hook !== null }, previous, trying: null, refused: null }
  try {
    await save(done)
  } catch (error) {
    await restorePrevious(state, next, context)
    await save({ ...state, trying: null }).catch(() => undefined)
    throw error
  }
  return done
}

/**
 * Activates `next` (null for none, also if its file is gone or damaged) after no plan assigns the model anymore. The old version
 * stops even if the hook fails.
 */
export const withdraw = async (
  state: ModelState,
  wanted: KeptVersion | null,
  context: ActivationContext,
): Promise<ModelState> => {
  const { folder, hook, signal, save, log } = context
  const file = wanted?.file ?? null
  const isGone = file !== null && (await folder.verify(file.sha256, file.sizeBytes)) === null
  const next = isGone ? null : wanted
  if (hook !== null) {
    await save({ ...state, trying: { version: next, attempts: 0 } })
    await runHook(state, next, state.current, context).catch((error: unknown) => {
      signal.throwIfAborted()
      log(`The --on-model command failed during the rollback: ${errorMessage(error)}`)
    })
  }
  const current = next === null ? null : { ...next, planId: null, hooked: hook !== null }
  // Nothing returns to the withdrawn version, so its file can be deleted.
  const previous = isSameVersion(state.current, next) ? state.previous : null
  const done = { ...state, current, previous, trying: null, refused: null }
  await save(done)
  return done
}
