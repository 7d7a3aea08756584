import { badRequest, conflict } from './errors.ts'
import { plural } from './plural.ts'
import { privateDueEvent } from './private-round.ts'
import { cut } from './text.ts'

export const ROUND_STATUSES = ['pending', 'active', 'aggregating', 'completed', 'failed'] as const
export type RoundStatus = (typeof ROUND_STATUSES)[number]

/**
 * What can happen to a round. `start` distributes the model; `collect` stops accepting updates when there are enough;
 * `time_out` is the deadline with too few; `complete` and `fail` end the aggregation.
 */
export type RoundEvent = 'start' | 'collect' | 'time_out' | 'complete' | 'fail'

/** The transitions between states. A pending or active round may `fail` as well, so that an operator can always stop it. */
export const ROUND_TRANSITIONS: Readonly<Record<RoundStatus, Readonly<Partial<Record<RoundEvent, RoundStatus>>>>> = {
  pending: { start: 'active', fail: 'failed' },
  active: { collect: 'aggregating', time_out: 'failed', fail: 'failed' },
  aggregating: { complete: 'completed', fail: 'failed' },
  completed: {},
  failed: {},
}

export const IN_PROGRESS: readonly RoundStatus[] = ['pending', 'active', 'aggregating']

/** Returns the status after `event`. Throws conflict naming the status if the event is not allowed. */
export const nextStatus = (status: RoundStatus, event: RoundEvent): RoundStatus => {
  const next = ROUND_TRANSITIONS[status][event]
  if (next === undefined) throw conflict(`A round that is ${status} cannot ${event.replace('_', ' ')}.`)
  return next
}

/** Limits of a round's `timeout_seconds`. */
export const TIMEOUT_SECONDS = { min: 60, max: 3600, default: 300 } as const

/** Throws bad_request naming the field if min exceeds target. */
export const requireSizes = (sizes: { readonly minDevices: number; readonly targetDevices: number }): void => {
  if (sizes.minDevices > sizes.targetDevices) {
    throw badRequest(
      `min_devices (${sizes.minDevices}) must not exceed target_devices (${sizes.targetDevices}): ` +
        'a round cannot wait for more updates than it selects devices.',
    )
  }
}

/** The number of updates without which the round cannot be completed: a secure one needs its threshold. */
export const neededUpdates = (round: {
  readonly minDevices: number
  readonly plan: { readonly secure?: { readonly threshold: number } }
}): number => Math.max(round.minDevices, round.plan.secure?.threshold ?? 0)

/** Returns how long to wait for stragglers after min_devices updates: 10% of the timeout, within 5 s and 60 s. */
export const stragglerGraceSeconds = (timeoutSeconds: number): number => Math.min(60, Math.max(5, timeoutSeconds * 0.1))

const MAX_REASONS = 3
const MAX_REASON_LENGTH = 200

/** The start of the reason of a round that failed by timeout; metrics use it to count rounds. */
export const TIMED_OUT = 'Timed out'
/** The start of the reason if all devices had reported, but too few updates had arrived. */
export const ALL_REPORTED = 'All devices have reported'

/** `2 of 3 devices failed: CUDA out of memory (1), no disk (1)`: the first reasons (the most common), with their counts. */
export const describeFailures = (failures: {
  readonly selected: number
  readonly failed: number
  readonly reasons: readonly { readonly reason: string; readonly count: number }[]
}): string => {
  const { selected, failed, reasons } = failures
  const shown = reasons.slice(0, MAX_REASONS).map(({ reason, count }) => `${oneLine(reason)} (${count})`)
  const others = reasons.slice(MAX_REASONS).reduce((sum, { count }) => sum + count, 0)
  if (others > 0) shown.push(`other reasons (${others})`)
  return `${failed} of ${plural(selected, 'device')} failed: ${shown.join(', ')}`
}

const inOneLine = (text: string): string => text.replace(/\s+/g, ' ').trim().replace(/\.$/, '')

const oneLine = (reason: string): string => {
  const line = inOneLine(reason)
  if (line.length <= MAX_REASON_LENGTH) return line
  // A program's output usually says in its last line what went wrong.
  const lines = reason.trim().split(/[\r\n]+/)
  const ends =
    lines.length > 1 ? `${cut(inOneLine(lines[0]!), MAX_REASON_LENGTH / 2)} ... ${inOneLine(lines.at(-1)!)}` : line
  return ends.length > MAX_REASON_LENGTH ? `${cut(ends, MAX_REASON_LENGTH)}...` : ends
}

/** The parts of a round that determine when it leaves `active`. */
export interface RoundProgress {
  readonly minDevices: number
  /** Participants that have not failed or left: those still training, and those that delivered. */
  readonly takingPart: number
  readonly completedDevices: number
  /** Stops accepting updates after this many, even if other devices still train; null: after those of all participants. */
  readonly wantedUpdates: number | null
  /** When the min_devices-th update arrived; null until then. */
  readonly quorumAt: Date | null
  readonly timeoutAt: Date
  readonly graceSeconds: number
  /** When a private round ends, whatever has arrived; null if the round is not private. */
  readonly closesAt: Date | null
  readonly plan?: { readonly asynchronous?: true }
}

/** Returns how many participants are still training, and have not delivered. */
const training = ({ takingPart, completedDevices }: Pick<RoundProgress, 'takingPart' | 'completedDevices'>): number =>
  takingPart - completedDevices

/** True if another device may join. In an asynchronous round, a device that has delivered frees its place. */
export const hasFreePlace = (
  round: Pick<RoundProgress, 'takingPart' | 'completedDevices' | 'plan'> & { readonly targetDevices: number },
): boolean => (round.plan?.asynchronous ? training(round) : round.takingPart) < round.targetDevices

/**
 * True if an asynchronous round has its min_devices updates and no device is training: it continues while other devices may
 * take the free places.
 */
export const lacksDevices = (round: RoundProgress): boolean =>
  round.plan?.asynchronous === true && round.completedDevices >= round.minDevices && training(round) <= 0

/** Returns after how many updates a round stops accepting more; an asynchronous one stops when its buffer is full. */
const closingUpdates = ({ takingPart, wantedUpdates, plan }: RoundProgress): number =>
  plan?.asynchronous ? (wantedUpdates ?? takingPart) : Math.min(takingPart, wantedUpdates ?? takingPart)

/** Returns what an active round must do at `now`: stop accepting updates, fail, or nothing yet (null). */
export const dueEvent = (round: RoundProgress, now: Date): 'collect' | 'time_out' | null => {
  if (round.closesAt !== null) return privateDueEvent({ ...round, closesAt: round.closesAt }, now)
  const isOver = now.getTime() >= dueAt(round).getTime()
  if (!hasQuorum(round)) return isOver ? 'time_out' : null
  return isOver || round.completedDevices >= closingUpdates(round) ? 'collect' : null
}

const hasQuorum = ({ quorumAt, completedDevices, minDevices }: RoundProgress): boolean =>
  quorumAt !== null && completedDevices >= minDevices

/**
 * Returns when the round is due however few updates have arrived. With a quorum, it stops waiting for stragglers after the grace
 * period, but not after the timeout.
 */
export const dueAt = (round: RoundProgress): Date => {
  if (round.closesAt !== null) return round.closesAt
  if (!hasQuorum(round)) return round.timeoutAt
  return new Date(Math.min(round.quorumAt!.getTime() + round.graceSeconds * 1000, round.timeoutAt.getTime()))
}

/** True if the round needs a decision at `now`, by `dueEvent` or by a review. */
export const isDue = (
  round: RoundProgress & { readonly status: RoundStatus; readonly reviewAt: Date | null },
  now: Date,
): boolean =>
  round.status === 'active' &&
  (dueEvent(round, now) !== null || (round.reviewAt !== null && round.reviewAt.getTime() <= now.getTime()))
