import { createHash } from 'node:crypto'
import { isObject } from '../../domain/is-object.ts'
import type { Assignment } from '../../sdk/assignment.ts'

export type Metrics = Readonly<Record<string, number>>

/** A version stored on this device, or, for a model without a file, a name that its hook has resolved. */
export interface KeptVersion {
  /** The plan that assigned it; null if that was withdrawn and this version runs on. */
  readonly planId: string | null
  readonly version: string
  readonly format: string | null
  /** `fileName` is in the model's folder. null for names that the hook resolves. */
  readonly file: { readonly sha256: string; readonly sizeBytes: number; readonly fileName: string } | null
  /** The metrics measured on this device. */
  readonly metrics: Metrics | null
  /** False if no hook knows that it is active: there was none, or the folder was moved. */
  readonly hooked?: boolean
}

/** A version not to be tried again on this device, as long as the plan and the hook are the same. */
export interface Refused {
  readonly planId: string
  readonly version: string
  readonly sha256: string | null
  /** The digest of the hook's command line. */
  readonly hook: string
  readonly reason: string
}

/** A device's state for one model: one small file that is replaced atomically. */
export interface ModelState {
  readonly modelId: string | null
  readonly modelName: string | null
  /** The running version. */
  readonly current: KeptVersion | null
  /** The version that ran before, kept for a rollback. */
  readonly previous: KeptVersion | null
  /** The activation in progress when this was written, with the number of attempts. A `version` of null stops the model. */
  readonly trying: { readonly version: KeptVersion | null; readonly attempts: number } | null
  readonly refused: Refused | null
  /** The plans that have assigned versions and were not withdrawn since, oldest first, whether their versions ran or not. */
  readonly plans: readonly string[]
}

/** More than this device ever returns through. */
const MAX_PLANS = 100

/** Returns the plans once this one assigns the version. If it did so before, all newer ones were withdrawn. */
export const plansUpTo = (plans: readonly string[], planId: string): readonly string[] => {
  const at = plans.indexOf(planId)
  return [...(at < 0 ? plans : plans.slice(0, at)), planId].slice(-MAX_PLANS)
}

export const emptyState = (modelId: string | null, modelName: string | null): ModelState => ({
  modelId,
  modelName,
  current: null,
  previous: null,
  trying: null,
  refused: null,
  plans: [],
})

const isVersion = (value: unknown): boolean => {
  if (!isObject(value)) return value === null || value === undefined
  const { version, file } = value
  return typeof version === 'string' && (file === null || (isObject(file) && typeof file.fileName === 'string'))
}

/** Returns the state from the content of its file; null if that is something else. */
export const modelStateOf = (value: unknown): ModelState | null => {
  if (!isObject(value)) return null
  const { path: _, ...found } = { ...emptyState(null, null), ...value } as ModelState & { readonly path?: unknown }
  const { current, previous, trying, refused, plans } = found
  const isValid =
    [current, previous, trying?.version].every(isVersion) &&
    (trying === null || typeof trying.attempts === 'number') &&
    (refused === null || isObject(refused)) &&
    Array.isArray(plans)
  if (!isValid) return null
  // Written by an agent that did not store them.
  return plans.length === 0 && current?.planId ? { ...found, plans: [current.planId] } : found
}

/** Returns a name for the model's folder that consists only of ids and digests. */
export const folderOf = ({ modelId, modelName }: Pick<Assignment, 'modelId' | 'modelName'>): string =>
  modelId ??
  `name-${createHash('sha256')
    .update(modelName ?? '')
    .digest('hex')
    .slice(0, 32)}`

export const isFolderName = (name: string): boolean => /^[\w-]{1,64}$/.test(name)

/** The model's name for messages. */
export const titleOf = ({ modelId, modelName }: Pick<ModelState, 'modelId' | 'modelName'>): string =>
  `Model ${modelName ?? modelId ?? 'without a name'}`

export const describeMetrics = (metrics: Metrics | null): string => {
  const shown = Object.entries(metrics ?? {}).map(([name, value]) => `${name} ${Number(value.toPrecision(4))}`)
  return shown.length === 0 ? '' : ` (${shown.join(', ')})`
}
