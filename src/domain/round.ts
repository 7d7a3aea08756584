import { badRequest, conflict } from './errors.ts'
import { privateDueEvent } from './private-round.ts'
import { cut } from './text.ts'

export const ROUND_STATUSES = ['pending', 'active', 'aggregating', 'completed', 'failed'] as const
export type RoundStatus = (typeof ROUND_STATUSES)[number]

/**
 * What can happen to a round. `start` hands the model out; `collect` stops accepting updates when there are enough of them;
 * `time_out` is the deadline with too few of them; `complete` and `fail` end the aggregation.
 */
export type RoundEvent = 'start' | 'collect' | 'time_out' | 'complete' | 'fail'

/**
 * The states and what leads from one to the next. A pending or active round may `fail` too, so that an operator's stop
 * always has somewhere to go.
 */
export const NEXT: Readonly<Record<RoundStatus, Readonly<Partial<Record<RoundEvent, RoundStatus>>>>> = {
  pending: { start: 'active', fail: 'failed' },
  active: { collect: 'aggregating', time_out: 'failed', fail: 'failed' },
  aggregating: { complete: 'completed', fail: 'failed' },
  completed: {},
  failed: {},
}

export const IN_PROGRESS: readonly RoundStatus[] = ['pending', 'active', 'aggregating']

/** The status after `event`, or a conflict that says where the round stands. */
export const nextStatus = (status: RoundStatus, event: RoundEvent): RoundStatus => {
  const next = NEXT[status][event]
  if (next === undefined) throw conflict(`A round that is ${status} cannot ${event.replace('_', ' ')}.`)
  return next
}

/** Limits of `timeout_seconds` of a round, in seconds. */
export const TIMEOUT_SECONDS = { min: 60, max: 3600, default: 300 } as const

/** min and target at least 1 and min <= target; else bad_request naming the field. */
export const requireSizes = (sizes: { readonly minDevices: number; readonly targetDevices: number }): void => {
  if (sizes.minDevices > sizes.targetDevices) {
    throw badRequest(
      `min_devices (${sizes.minDevices}) must not exceed target_devices (${sizes.targetDevices}): ` +
        'a round cannot wait for more updates than it selects devices.',
    )
  }
}

/** Without so many updates the round cannot be completed: a secure one needs its threshold. */
export const neededUpdates = (round: {
  readonly minDevices: number
  readonly plan: { readonly secure?: { readonly threshold: number } }
}): number => Math.max(round.minDevices, round.plan.secure?.threshold ?? 0)

/** How long stragglers are waited for once min_devices updates are in: 10% of the timeout, within 5 s and 60 s. */
export const stragglerGraceSeconds = (timeoutSeconds: number): number => Math.min(60, Math.max(5, timeoutSeconds * 0.1))

const MAX_REASONS = 3
const MAX_REASON_LENGTH = 200

/** How the reason of a failed round begins where its time was over; metrics count rounds by it. */
export const TIMED_OUT = 'Timed out'
/** How it begins where every device had reported and too few updates had arrived. */
export const ALL_REPORTED = 'All devices have reported'

/** `2 of 3 devices failed: CUDA out of memory (1), no disk (1)`: the commonest reasons, which come first, and how often. */
export const describeFailures = (failures: {
  readonly selected: number
  readonly failed: number
  readonly reasons: readonly { readonly reason: string; readonly count: number }[]
}): string => {
  const { selected, failed, reasons } = failures
  const shown = reasons.slice(0, MAX_REASONS).map(({ reason, count }) => `${oneLine(reason)} (${count})`)
  const others = reasons.slice(MAX_REASONS).reduce((sum, { count }) => sum + count, 0)
  if (others > 0) shown.push(`other reasons (${others})`)
  return `${failed} of ${selected} ${selected === 1 ? 'device' : 'devices'} failed: ${shown.join(', ')}`
}

const oneLine = (reason: string): string => {
  const line = reason.replace(/\s+/g, ' ').trim().replace(/\.$/, '')
  return line.length > MAX_REASON_LENGTH ? `${cut(line, MAX_REASON_LENGTH)}...` : line
}

/** The parts of a round that decide when it must leave `active`. */
export interface RoundProgress {
  readonly minDevices: number
  /** Participants that have neither failed nor left: those still training and those that delivered. */
  readonly takingPart: number
  readonly completedDevices: number
  /** After so many updates it stops accepting more, even if other devices still train; null: after those of all that take part. */
  readonly wantedUpdates: number | null
  /** When the min_devices-th update arrived; null until then. */
  readonly quorumAt: Date | null
  readonly timeoutAt: Date
  readonly graceSeconds: number
  /** When a private round ends, whatever has arrived; null where a round is not private. */
  readonly closesAt: Date | null
}

/** What an active round must do at `now`: nothing yet, stop accepting updates, or give up. */
export const dueEvent = (round: RoundProgress, now: Date): 'collect' | 'time_out' | null => {
  if (round.closesAt !== null) return privateDueEvent({ ...round, closesAt: round.closesAt }, now)
  const quorum = round.quorumAt !== null && round.completedDevices >= round.minDevices
  if (quorum && round.completedDevices >= Math.min(round.takingPart, round.wantedUpdates ?? round.takingPart)) {
    return 'collect'
  }
  if (quorum && now.getTime() >= collectAt(round).getTime()) return 'collect'
  return now.getTime() >= round.timeoutAt.getTime() ? 'time_out' : null
}

/** When a round with a quorum stops waiting for stragglers: after the grace, never after the timeout. */
const collectAt = (round: RoundProgress): Date =>
  new Date(Math.min(round.quorumAt!.getTime() + round.graceSeconds * 1000, round.timeoutAt.getTime()))

/** Whether something about the round is to be decided at `now`, by `dueEvent` or by a review. */
export const isDue = (
  round: RoundProgress & { readonly status: RoundStatus; readonly reviewAt: Date | null },
  now: Date,
): boolean =>
  round.status === 'active' &&
  (dueEvent(round, now) !== null || (round.reviewAt !== null && round.reviewAt.getTime() <= now.getTime()))
