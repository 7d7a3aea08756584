import { badRequest, conflict } from './errors.ts'

export type RolloutStatus = 'pending' | 'active' | 'paused' | 'completed' | 'rolled_back'

/**
 * What can happen to a rollout. `step` is the tick's, `advance` an operator's step ahead of time; `reach` follows when the
 * percentage is at the target; `fail_health` is too many failures.
 */
export type RolloutEvent =
  | 'start'
  | 'pause'
  | 'resume'
  | 'advance'
  | 'step'
  | 'reach'
  | 'rollback'
  | 'fail_health'
  | 'set_percentage'

/**
 * A paused rollout is not stepped, by nobody:
 * resuming it is a decision of its own. A completed one can still be rolled back, which is when it is needed most.
 */
export const NEXT: Readonly<Record<RolloutStatus, Readonly<Partial<Record<RolloutEvent, RolloutStatus>>>>> = {
  pending: { start: 'active', set_percentage: 'pending' },
  active: {
    pause: 'paused',
    step: 'active',
    advance: 'active',
    reach: 'completed',
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
  rollback: 'be rolled back',
  fail_health: 'be paused',
  set_percentage: 'be given another percentage',
}

/** The parts of a rollout that its rules know. */
export interface RolloutState {
  readonly status: RolloutStatus
  /** Integers from 0 to 100; the percentage is at most the target. */
  readonly percentage: number
  readonly targetPercentage: number
  readonly incrementStep: number
  readonly stepIntervalSeconds: number
  /** Why it was paused or rolled back; null while nothing is wrong. */
  readonly reason: string | null
  /** When the next step is due; only while active. */
  readonly nextStepAt: Date | null
  /** Reports from before say nothing of its health. */
  readonly healthSince: Date | null
  readonly startedAt: Date | null
  readonly endedAt: Date | null
}

/**
 * The rollout after `event`; where the target is reached, call again with `reach`. `detail.reason` is kept with pauses
 * and rollbacks; `detail.percentage` belongs to `set_percentage`.
 * @throws conflict when the event has no place in the rollout's status.
 */
export const transition = (
  rollout: RolloutState,
  event: RolloutEvent,
  now: Date,
  detail: { readonly reason?: string; readonly percentage?: number } = {},
): RolloutState => {
  const status = NEXT[rollout.status][event]
  if (status === undefined) throw conflict(`A rollout that is ${rollout.status} cannot ${VERB[event]}.`)
  const next = { ...rollout, status, ...changesBy(event, rollout, now, detail) }
  const runs = status === 'active'
  const ends = status === 'completed' || status === 'rolled_back'
  return { ...next, nextStepAt: runs ? next.nextStepAt : null, endedAt: ends ? now : null }
}

const changesBy = (
  event: RolloutEvent,
  rollout: RolloutState,
  now: Date,
  detail: { readonly reason?: string; readonly percentage?: number },
): Partial<RolloutState> => {
  // From now on, not from when it was due: after a standstill of the service, no step is taken unobserved.
  const nextStepAt = new Date(now.getTime() + rollout.stepIntervalSeconds * 1000)
  switch (event) {
    case 'start':
      return { nextStepAt, healthSince: now, startedAt: now }
    case 'resume':
      return { nextStepAt, healthSince: now, reason: null }
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

/** Whether an event that raised the percentage has brought an active rollout to its end. */
export const hasReached = (rollout: RolloutState): boolean =>
  rollout.status === 'active' && rollout.percentage >= rollout.targetPercentage

/** What devices reported of a rollout's version since it was last started or resumed. */
export interface Health {
  readonly active: number
  readonly failed: number
  /** What most failures gave as their reason. */
  readonly commonReason: string | null
}

/** Above 5%, and not before three devices have reported. */
export const HEALTH = { maxFailureShare: 0.05, minReports: 3 } as const

/** Why the version must not reach more devices, for people to read; null while health holds. */
export const unhealthyBecause = ({ active, failed, commonReason }: Health): string | null => {
  const reports = active + failed
  if (reports < HEALTH.minReports || failed <= HEALTH.maxFailureShare * reports) return null
  const share = `${((100 * failed) / reports).toFixed(1)}%`
  const most = commonReason === null ? '' : ` Most often: ${commonReason}`
  return `${failed} of ${reports} reporting devices failed (${share}; at most ${100 * HEALTH.maxFailureShare}% may).${most}`
}

/** The step interval of a rollout that never moves by itself: whoever started it ends it. */
export const NO_STEPS_SECONDS = 10 * 365 * 24 * 3600

/** Whether an active rollout has nobody left to reach once every device runs its version. */
export const mayEndEarly = (rollout: RolloutState): boolean =>
  hasReached(rollout) && rollout.percentage === 100 && rollout.stepIntervalSeconds < NO_STEPS_SECONDS

/** Devices not heard from since then are not waited for: the rollout would end before they come back. */
export const heardSince = ({ stepIntervalSeconds }: RolloutState, now: Date): Date =>
  new Date(now.getTime() - stepIntervalSeconds * 1000)

/**
 * What an active rollout must do at `now`, given its health. `runsEverywhere`: it may end early, and every device that has
 * been heard from lately reports to run its version.
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

export interface Steps {
  readonly percentage: number
  readonly targetPercentage: number
  readonly incrementStep: number
  readonly stepIntervalSeconds: number
}

/** Whole percentages; target not below the start; a step of at least 1. @throws bad_request naming the field. */
export const requireSteps = (steps: Steps): void => {
  if (steps.targetPercentage < steps.percentage) {
    throw badRequest(
      `target_percentage (${steps.targetPercentage}) must not be below rollout_percentage (${steps.percentage}): ` +
        'a rollout only grows. Lower rollout_percentage, or raise target_percentage.',
    )
  }
}

/** The percentages of a rollout whose health holds, with the seconds since its start at which they are reached. */
export const previewSchedule = (steps: Steps): { readonly atSeconds: number; readonly percentage: number }[] => {
  const seen = [{ atSeconds: 0, percentage: steps.percentage }]
  for (let { atSeconds, percentage } = seen[0]!; percentage < steps.targetPercentage; ) {
    percentage = Math.min(steps.targetPercentage, percentage + steps.incrementStep)
    atSeconds += steps.stepIntervalSeconds
    seen.push({ atSeconds, percentage })
  }
  return seen
}
