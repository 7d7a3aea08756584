import { createHash } from 'node:crypto'
import type { Assignment } from '../../sdk/assignment.ts'

export type Metrics = Readonly<Record<string, number>>

/** A version that this device has, or for a model without a file, a name that its hook has resolved. */
export interface KeptVersion {
  /** The plan that gives it; null when none does any more: then it is what ran before. */
  readonly planId: string | null
  readonly version: string
  readonly format: string | null
  /** `fileName` is that of the file in the model's folder; null for names that the hook resolves. */
  readonly file: { readonly sha256: string; readonly sizeBytes: number; readonly fileName: string } | null
  /** What was measured with it here. */
  readonly metrics: Metrics | null
}

/** A version that this device shall not be given again, as long as the same plan gives it and the hook is the same. */
export interface Refused {
  readonly planId: string
  readonly version: string
  readonly sha256: string | null
  /** Digest of the hook's command line. */
  readonly hook: string
  readonly reason: string
}

/** What a device remembers of one model: one small file, replaced as a whole. */
export interface ModelState {
  readonly modelId: string | null
  readonly modelName: string | null
  /** What runs. */
  readonly current: KeptVersion | null
  /** What ran before it, kept for going back. */
  readonly previous: KeptVersion | null
  /** What was being made to run when this was written; `null` inside: nothing. Counts how often that was started. */
  readonly trying: { readonly version: KeptVersion | null; readonly attempts: number } | null
  readonly refused: Refused | null
}

export const emptyState = (modelId: string | null, modelName: string | null): ModelState => ({
  modelId,
  modelName,
  current: null,
  previous: null,
  trying: null,
  refused: null,
})

/** A name for the model's folder, made of ids and digests only. */
export const folderOf = ({ modelId, modelName }: Pick<Assignment, 'modelId' | 'modelName'>): string =>
  modelId ??
  `name-${createHash('sha256')
    .update(modelName ?? '')
    .digest('hex')
    .slice(0, 32)}`

export const isFolderName = (name: string): boolean => /^[\w-]{1,64}$/.test(name)

/** How people know it. */
export const titleOf = ({ modelId, modelName }: Pick<ModelState, 'modelId' | 'modelName'>): string =>
  `Model ${modelName ?? modelId ?? 'without a name'}`

export const describeMetrics = (metrics: Metrics | null): string => {
  const shown = Object.entries(metrics ?? {}).map(([name, value]) => `${name} ${Number(value.toPrecision(4))}`)
  return shown.length === 0 ? '' : ` (${shown.join(', ')})`
}
