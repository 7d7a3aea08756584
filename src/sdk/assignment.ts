import type { operations } from '../client/api.gen.ts'
import { NetworkError } from './api-error.ts'

export type PlanKind = 'rollout' | 'deployment' | 'experiment'

/** What this device should run for one model because of a rollout, a deployment or an experiment. */
export interface Assignment {
  readonly planId: string
  readonly kind: PlanKind
  /** Null if the catalog does not contain the model; then resolve `modelName`, such as `hf:org/model`. */
  readonly modelId: string | null
  readonly modelName: string | null
  /** The version's name for use in reports. */
  readonly version: string
  readonly versionNumber: number | null
  readonly format: string | null
  /** Null if the device must resolve the name itself. */
  readonly file: { readonly sizeBytes: number; readonly sha256: string } | null
  /** False: fetch and verify it, report `ready`, and keep running the current version. */
  readonly activate: boolean
  /** The experiment's variant. */
  readonly variant: string | null
}

export type DeliveryState = 'downloading' | 'verifying' | 'ready' | 'active' | 'failed'

/** This device's progress with an assignment. */
export interface DeliveryReport {
  readonly state: DeliveryState
  /** The assignment's version. */
  readonly version: string
  /** Why it failed. Truncated to 2000 characters. */
  readonly reason?: string | undefined
  /** Measurements of this version, such as accuracy and loss; at most 100 finite numbers. */
  readonly metrics?: Readonly<Record<string, number>> | undefined
}

type AssignmentBody =
  operations['listAssignments']['responses'][200]['content']['application/json']['assignments'][number]

/** Ids become folder names on devices, so they are validated. */
const requireId = (id: string, what: string): string => {
  if (/^[\w-]{1,64}$/.test(id)) return id
  throw new NetworkError(`The service sent an assignment whose ${what} is not a valid id.`)
}

const fileOf = (body: AssignmentBody): Assignment['file'] => {
  if (body.download_path === null) return null
  const sha256 = /^sha256:([0-9a-f]{64})$/.exec(body.model_hash ?? '')?.[1]
  if (
    sha256 === undefined ||
    body.model_size_bytes === null ||
    body.model_id === null ||
    body.version_number === null
  ) {
    throw new NetworkError('The service sent an assignment with a file, but without its id, number, size, or sha256.')
  }
  return { sizeBytes: body.model_size_bytes, sha256 }
}

export const assignmentOf = (body: AssignmentBody): Assignment => ({
  planId: requireId(body.plan_id, 'plan_id'),
  kind: body.kind,
  modelId: body.model_id === null ? null : requireId(body.model_id, 'model_id'),
  modelName: body.model_name,
  version: body.version,
  versionNumber: body.version_number,
  format: body.format,
  file: fileOf(body),
  activate: body.activate,
  variant: body.variant ?? null,
})

/** True if two assignments refer to the same file or, without files, to the same version. */
export const sameContent = (
  a: Pick<Assignment, 'version' | 'file'> | null,
  b: Pick<Assignment, 'version' | 'file'> | null,
): boolean => {
  if (a === null || b === null) return a === b
  return a.file === null || b.file === null
    ? a.file === b.file && a.version === b.version
    : a.file.sha256 === b.file.sha256
}
