import { MODEL_CHOICES } from '../api/query-keys.ts'

/** An event of `GET /api/v1/events`, with its subject. */
export interface Change {
  readonly type: string
  readonly subject: { readonly kind: string; readonly id: string }
}

/** The plans of a model affect each other: each names those that take precedence over it, or have replaced it. */
const PLANS = ['/api/v1/models', '/api/v1/rollouts', '/api/v1/deployments', '/api/v1/experiments']

/** By topic of the stream: prefixes of paths with data that a change may affect. */
const AFFECTED: Readonly<Record<string, readonly string[]>> = {
  round: ['/api/v1/training', '/api/v1/models', '/api/v1/federations'],
  job: ['/api/v1/training'],
  device: ['/api/v1/devices', '/api/v1/fleet', '/api/v1/device-groups'],
  group: ['/api/v1/device-groups', '/api/v1/policies', '/api/v1/models/{model_id}/policy'],
  model: ['/api/v1/models', MODEL_CHOICES],
  rollout: PLANS,
  deployment: PLANS,
  experiment: PLANS,
  approval: ['/api/v1/approvals', '/api/v1/orgs', '/api/v1/models'],
  policy: ['/api/v1/models', '/api/v1/policies'],
  federation: ['/api/v1/federations'],
}
const ALWAYS = ['/api/v1/status', '/api/v1/overview']
/** Not affected by any event. */
const NEVER = ['/api/v1/session']

/** True if these changes may affect the data of `path`. An unknown kind affects the data of all paths. */
export const isAffected = (path: string, changes: readonly Change[]): boolean => {
  if (NEVER.some((beginning) => path.startsWith(beginning))) return false
  return changes.some(({ subject }) =>
    [...ALWAYS, ...(AFFECTED[subject.kind] ?? ['/api/'])].some((beginning) => path.startsWith(beginning)),
  )
}

/** @returns null if the data is not a change */
export const parseChange = (type: string, data: string): Change | null => {
  try {
    const { subject } = JSON.parse(data) as Partial<Change>
    return typeof subject?.kind === 'string' ? { type, subject } : null
  } catch {
    return null
  }
}
