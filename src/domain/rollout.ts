import { badRequest, conflict } from './errors.ts'

export type RolloutStatus = 'pending' | 'active' | 'paused' | 'completed' | 'rolled_back'

/**
 * What can happen to a rollout. `step` is a scheduled step, `advance` an operator's early step; `reach` follows when the
 * percentage reaches the target; `fail_health` means too many failures; by `promote` a policy continues a canary to its new
 * target.
 */
export type RolloutEvent =
  | 'start'
  | 'pause'
  | 'resume'
  | 'advance'
  | 'step'
  | 'reach'
  | 'promote'
  | 'rollback'
  | 'fail_health'
  | 'set_percentage'

/**
 * A paused rollout cannot be stepped by anyone: resuming it is a separate decision. A completed one can still be rolled back,
 * which is when a rollback matters most.
 */
export const ROLLOUT_TRANSITIONS: Readonly<
  Record<RolloutStatus, Readonly<Partial<Record<RolloutEvent, RolloutStatus>>>>
> = {
  pending: { start: 'active', set_percentage: 'pending' },
  active: {
    pause: 'paused',
    step: 'active',
    advance: 'active',
    reach: 'completed',
    promote: 'active',
    rollback: 'rolled_back',
    fail_health: 'paused',
    set_percentage: 'active',
  },
  paused: { resume: 'active', rollback: 'rolled_back', set_percentage: 'paused' },
  completed: { rollback: 'rolled_back' },
  rolled_back: {},
}

const VERB: Readonly<Record<RolloutEvent, string>> = {
  start: 'be started',
  pause: 'be paused',
  resume: 'be resumed',
  advance: 'be advanced',
  step: 'be stepped',
  reach: 'be completed',
  promote: 'be promoted',
  rollback: 'be rolled back',
  fail_health: 'be paused',
  set_percentage: 'be given another percentage',
}

/** What to do about an event that the status does not allow. */
const INSTEAD: Readonly<Record<RolloutStatus, string>> = {
  pending: ' Start it first, or delete it.',
  active: '',
  paused: ' Resume it first.',
  completed: ' It can only be rolled back.',
  rolled_back: ' Create another rollout.',
}

/** user: a person or key requested it. service: its steps, its health, or a policy did it; the reason says which. */
export const ROLLOUT_ENDED_BY = ['user', 'service'] as const
export type EndedBy = (typeof ROLLOUT_ENDED_BY)[number]

/** The parts of a rollout that its rules use. */
export interface RolloutState {
  readonly status: RolloutStatus
  /** Integers from 0 to 100; the percentage is at most the target. */
  readonly percentage: number
  readonly targetPercentage: number
  readonly incrementStep: number
  readonly stepIntervalSeconds: number
  /** Why it was paused or rolled back, or its start was not approved; otherwise null. */
  readonly reason: string | null
  /** When the next step is due; only while active. */
  readonly nextStepAt: Date | null
  /** Earlier reports do not count toward its health. */
  readonly healthSince: Date | null
  readonly startedAt: Date | null
  readonly endedAt: Date | null
  readonly endedBy: EndedBy | null
}

/**
 * Returns the rollout after `event`; if it reaches the target, call again with `reach`. `detail.reason` is stored with pauses
 * and rollbacks; `detail.percentage` belongs to `set_percentage`; `detail.by` is who caused the event, by default the service.
 * @throws conflict if the rollout's status does not allow the event.
 */
export const transition = (
  rollout: RolloutState,
  event: RolloutEvent,
  now: Date,
  detail: { readonly reason?: string; readonly percentage?: number; readonly by?: EndedBy } = {},
): RolloutState => {
  const status = ROLLOUT_TRANSITIONS[rollout.status][event]
  if (status === undefined) {
    throw conflict(`A rollout that is ${rollout.status} cannot ${VERB[event]}.${INSTEAD[rollout.status]}`)
  }
  const next = { ...rollout, status, ...changesBy(event, rollout, now, detail) }
  const runs = status === 'active'
  const ends = status === 'completed' || status === 'rolled_back'
  const ending = ends ? { endedAt: now, endedBy: detail.by ?? 'service' } : { endedAt: null, endedBy: null }
  return { ...next, nextStepAt: runs ? next.nextStepAt : null, ...ending }
}

const changesBy = (
  event: RolloutEvent,
  rollout: RolloutState,
  now: Date,
  detail: { readonly reason?: string; readonly percentage?: number },
): Partial<RolloutState> => {
  // From now, not from the due time: after an outage of the service, no step is taken unobserved.
  const hasSteps = rollout.stepIntervalSeconds < NO_STEPS_SECONDS
  const nextStepAt = hasSteps ? new Date(now.getTime() + rollout.stepIntervalSeconds * 1000) : null
  switch (event) {
    case 'start':
      return { nextStepAt, healthSince: now, startedAt: now, reason: null }
    case 'resume':
      return { nextStepAt, healthSince: now, reason: null }
    case 'promote':
      return { nextStepAt }
    case 'step':
    case 'advance':
      return {
        nextStepAt,
        percentage: Math.min(rollout.targetPercentage, rollout.percentage + rollout.incrementStep),
      }
    case 'set_percentage': {
      const percentage = detail.percentage ?? rollout.percentage
      return { nextStepAt, percentage, targetPercentage: Math.max(rollout.targetPercentage, percentage) }
    }
    case 'pause':
    case 'fail_health':
    case 'rollback':
      return { reason: detail.reason ?? null }
    case 'reach':
      return {}
  }
}

/** True if an event that raised the percentage has completed an active rollout. */
export const hasReached = (rollout: RolloutState): boolean =>
  rollout.status === 'active' && rollout.percentage >= rollout.targetPercentage

/** Device reports on a rollout's version since it was last started or resumed. */
export interface Health {
  readonly active: number
  readonly failed: number
  /** The most common reason for failure. */
  readonly commonReason: string | null
}

/** Applied once three devices have reported. */
export const HEALTH = { maxFailureShare: 0.05, minReports: 3 } as const

/** Returns why the version must not reach more devices, for people; null while the rollout is healthy. */
export const unhealthyBecause = ({ active, failed, commonReason }: Health): string | null => {
  const reports = active + failed
  if (reports < HEALTH.minReports || failed <= HEALTH.maxFailureShare * reports) return null
  const share = `${((100 * failed) / reports).toFixed(1)}%`
  const most = commonReason === null ? '' : ` Most often: ${commonReason}`
  return `${failed} of ${reports} reporting devices failed (${share}; the limit is ${100 * HEALTH.maxFailureShare}%).${most}`
}

/** The step interval of a rollout that never steps automatically: only its creator ends it. */
export const NO_STEPS_SECONDS = 10 * 365 * 24 * 3600

/** True if an active rollout is finished once every device runs its version. */
export const mayEndEarly = (rollout: RolloutState): boolean =>
  hasReached(rollout) && rollout.percentage === 100 && rollout.stepIntervalSeconds < NO_STEPS_SECONDS

/** Devices silent since this time are not waited for: the rollout would end before they return. */
export const heardSince = ({ stepIntervalSeconds }: RolloutState, now: Date): Date =>
  new Date(now.getTime() - stepIntervalSeconds * 1000)

/**
 * Returns what an active rollout must do at `now`, given its health. `runsEverywhere`: it may end early, and every device that
 * was active lately reports that it runs the version.
 */
export const dueEvent = (
  rollout: RolloutState,
  health: Health,
  runsEverywhere: boolean,
  now: Date,
): 'fail_health' | 'step' | 'reach' | null => {
  if (rollout.status !== 'active') return null
  if (unhealthyBecause(health) !== null) return 'fail_health'
  if (runsEverywhere) return 'reach'
  if (rollout.nextStepAt === null || rollout.nextStepAt.getTime() > now.getTime()) return null
  return hasReached(rollout) ? 'reach' : 'step'
}

export type Steps = Pick<RolloutState, 'percentage' | 'targetPercentage' | 'incrementStep' | 'stepIntervalSeconds'>

/** Requires the target not to be below the start. @throws bad_request naming the field. */
export const requireSteps = (steps: Steps): void => {
  if (steps.targetPercentage < steps.percentage) {
    throw badRequest(
      `target_percentage (${steps.targetPercentage}) must not be below rollout_percentage (${steps.percentage}): ` +
        'a rollout only grows. Lower rollout_percentage, or raise target_percentage.',
    )
  }
}

/** Returns the percentages of a healthy rollout, with the seconds after its start at which they are reached. */
export const previewSchedule = (steps: Steps): { readonly atSeconds: number; readonly percentage: number }[] => {
  const seen = [{ atSeconds: 0, percentage: steps.percentage }]
  for (let { atSeconds, percentage } = seen[0]!; percentage < steps.targetPercentage; ) {
    percentage = Math.min(steps.targetPercentage, percentage + steps.incrementStep)
    atSeconds += steps.stepIntervalSeconds
    seen.push({ atSeconds, percentage })
  }
  return seen
}
