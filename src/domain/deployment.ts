import { bucketOf } from './bucket.ts'
import { conflict } from './errors.ts'

export const DEPLOYMENT_STATUSES = [
  'pending_approval',
  'started',
  'completed',
  'failed',
  'rolled_back',
  'rejected',
] as const
export type DeploymentStatus = (typeof DEPLOYMENT_STATUSES)[number]
export type DeploymentEvent = 'approve' | 'reject' | 'complete' | 'fail' | 'rollback' | 'promote' | 'replace' | 'switch'

export const STRATEGIES = ['canary', 'immediate', 'blue_green'] as const
/**
 * canary: withdrawn as soon as too many devices fail. immediate: judged when every device has reported. blue_green: devices
 * prepare the version, and run it only when all are ready; those that a promotion adds after the switch run it at once.
 */
export type Strategy = (typeof STRATEGIES)[number]

/** The start of the warning about a whole-fleet deployment, by which `svc deploy` omits it if the whole fleet was requested. */
export const WHOLE_FLEET_WARNING = 'Neither devices nor a group is given'

/**
 * A failed deployment is withdrawn: its devices get their previous assignment. Promoting a completed one activates more devices
 * and restarts it; it does not become newer than plans that were started since. A deployment that waits for a second admin is rejected if it is not approved or is withdrawn.
 * When activated devices are erased, others replace them.
 */
export const DEPLOYMENT_TRANSITIONS: Readonly<
  Record<DeploymentStatus, Readonly<Partial<Record<DeploymentEvent, DeploymentStatus>>>>
> = {
  pending_approval: { approve: 'started', reject: 'rejected' },
  started: {
    complete: 'completed',
    fail: 'failed',
    rollback: 'rolled_back',
    promote: 'started',
    replace: 'started',
    switch: 'started',
  },
  completed: { rollback: 'rolled_back', promote: 'started' },
  failed: {},
  rolled_back: {},
  rejected: {},
}

const VERB: Readonly<Record<DeploymentEvent, string>> = {
  approve: 'be approved',
  reject: 'be rejected',
  complete: 'be completed',
  fail: 'fail',
  rollback: 'be rolled back',
  promote: 'be promoted',
  replace: 'replace devices',
  switch: 'be switched',
}

/** @throws conflict if the status does not allow the event. */
export const nextStatus = (status: DeploymentStatus, event: DeploymentEvent): DeploymentStatus => {
  const next = DEPLOYMENT_TRANSITIONS[status][event]
  if (next === undefined) {
    const why = status === 'failed' ? ' It was withdrawn when it failed.' : ''
    throw conflict(`A deployment that is ${status} cannot ${VERB[event]}.${why}`)
  }
  return next
}

/** True if its devices return to their previous versions. */
export const isWithdrawn = (status: DeploymentStatus): boolean => status === 'failed' || status === 'rolled_back'

/** Devices cannot report in less time than this. */
export const MIN_PHASE_SECONDS = 60

/**
 * Returns the deadline of a phase that begins now; null without a deadline. A phase begins when a deployment starts or switches,
 * and when more devices are activated. Each may last equally long, and at least a minute.
 */
export const deadlineOfNextPhase = (phaseSeconds: number | null, now: Date): Date | null =>
  phaseSeconds === null ? null : new Date(now.getTime() + Math.max(MIN_PHASE_SECONDS, phaseSeconds) * 1000)

/** The latest reports of the activated devices. */
export interface Reported {
  readonly activated: number
  readonly ready: number
  readonly active: number
  readonly failed: number
  /** The most common reason for failure. */
  readonly commonReason: string | null
}

/** Applied once three devices or all of them have finished. */
const MAX_FAILURE_SHARE = 0.05
const MIN_REPORTS = 3

export interface Progress {
  readonly strategy: Strategy
  /** For blue_green: devices already run the new version. */
  readonly switched: boolean
  readonly deadlineAt: Date | null
}

export interface Due {
  readonly event: 'complete' | 'fail' | 'switch'
  readonly reason: string | null
}

/** Returns what a started deployment must do at `now`; null while devices are working and have time left. */
export const dueEvent = ({ strategy, switched, deadlineAt }: Progress, reported: Reported, now: Date): Due | null => {
  const { activated, ready, active, failed } = reported
  const preparing = strategy === 'blue_green' && !switched
  const well = preparing ? ready + active : active
  const finished = well + failed
  const all = activated > 0 && finished >= activated
  const enough = all || (finished >= MIN_REPORTS && strategy !== 'immediate')
  if (enough && failed > MAX_FAILURE_SHARE * finished) {
    const most = reported.commonReason === null ? '' : ` Most often: ${reported.commonReason}`
    return { event: 'fail', reason: `${failed} of ${finished} reporting devices failed (the limit is 5%).${most}` }
  }
  if (all) return preparing ? { event: 'switch', reason: null } : { event: 'complete', reason: leftOver(reported) }
  if (deadlineAt === null || deadlineAt.getTime() > now.getTime()) return null
  if (activated === 0 || well === 0) {
    return { event: 'fail', reason: `At the deadline, ${well} of ${activated} activated devices had succeeded.` }
  }
  if (preparing) return { event: 'fail', reason: `At the deadline, only ${well} of ${activated} devices were ready.` }
  // Devices that were offline keep their assignment, and catch up when they return.
  return { event: 'complete', reason: leftOver(reported) }
}

const leftOver = ({ activated, active, failed }: Reported): string | null => {
  const silent = activated - active - failed
  const parts = [failed > 0 ? `${failed} failed` : '', silent > 0 ? `${silent} had not reported and may catch up` : '']
  const text = parts.filter((part) => part !== '').join(', ')
  return text === '' ? null : `${active} of ${activated} devices run it; ${text}.`
}

/** A target device: its internal id, and its name, which is unique only in its organization. */
export interface DeploymentTarget {
  readonly id: string
  readonly deviceId: string
}

/** Returns how many of this many targets a percentage activates. */
export const activatedCountAt = (percentage: number, targets: number): number => Math.ceil((targets * percentage) / 100)

/**
 * Returns the internal ids of the targets that a percentage activates: ceil(percentage of them), those with the lowest buckets,
 * so a higher percentage only adds devices. Devices of different organizations may share a name, and so a bucket.
 */
export const activatedAt = (
  percentage: number,
  targets: readonly DeploymentTarget[],
  deploymentId: string,
): Set<string> => {
  const count = activatedCountAt(percentage, targets.length)
  const byBucket = targets
    .map(({ id, deviceId }) => ({ id, bucket: bucketOf(deviceId, deploymentId) }))
    .sort((a, b) => a.bucket - b.bucket || (a.id < b.id ? -1 : 1))
  return new Set(byBucket.slice(0, count).map(({ id }) => id))
}
