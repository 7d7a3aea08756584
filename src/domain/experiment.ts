import { shareAt } from './assignment.ts'
import { bucketOf } from './bucket.ts'
import { badRequest, conflict } from './errors.ts'

export const EXPERIMENT_STATUSES = ['draft', 'running', 'paused', 'completed', 'cancelled'] as const

export type ExperimentStatus = (typeof EXPERIMENT_STATUSES)[number]
export type ExperimentEvent = 'start' | 'pause' | 'resume' | 'complete' | 'cancel'

/**
 * A paused experiment assigns no variants and accepts no observations until it is resumed. `start` is allowed only once. A
 * finished experiment is final; its results change only when one of its devices is erased.
 */
const EXPERIMENT_TRANSITIONS: Readonly<
  Record<ExperimentStatus, Readonly<Partial<Record<ExperimentEvent, ExperimentStatus>>>>
> = {
  draft: { start: 'running', cancel: 'cancelled' },
  running: { pause: 'paused', complete: 'completed', cancel: 'cancelled' },
  paused: { resume: 'running', complete: 'completed', cancel: 'cancelled' },
  completed: {},
  cancelled: {},
}

const VERB: Readonly<Record<ExperimentEvent, string>> = {
  start: 'be started',
  pause: 'be paused',
  resume: 'be resumed',
  complete: 'be completed',
  cancel: 'be canceled',
}

/** The fields of an experiment that its events change. */
export interface ExperimentState {
  readonly status: ExperimentStatus
  /** The reason for pausing, completing, or canceling it, if one was given. */
  readonly reason: string | null
  readonly startedAt: Date | null
  readonly endedAt: Date | null
}

/**
 * Returns the experiment after `event`.
 * @throws conflict if the status does not allow the event.
 */
export const transition = (
  experiment: ExperimentState,
  event: ExperimentEvent,
  now: Date,
  reason: string | null = null,
): ExperimentState => {
  const status = EXPERIMENT_TRANSITIONS[experiment.status][event]
  if (status === undefined) throw conflict(`An experiment that is ${experiment.status} cannot ${VERB[event]}.`)
  return {
    status,
    reason,
    startedAt: event === 'start' ? now : experiment.startedAt,
    endedAt: status === 'completed' || status === 'cancelled' ? now : null,
  }
}

/** How far the sum of the allocations may be from 1: 0.1 + 0.2 + 0.7 is not exactly 1. */
const ALLOCATION_TOLERANCE = 1e-9

/** Requires at least two variants with unique names, and allocations in 0..1 that sum to 1. @throws bad_request */
export const requireVariants = (variants: readonly { readonly name: string; readonly allocation: number }[]): void => {
  if (variants.length < 2) throw badRequest('variants: an experiment compares at least two.')
  const names = new Set<string>()
  for (const { name, allocation } of variants) {
    if (names.has(name)) throw badRequest(`variants: two of them are named '${name}'. Give each a unique name.`)
    names.add(name)
    if (!(allocation >= 0 && allocation <= 1)) {
      throw badRequest(`variants: the allocation of '${name}' is ${allocation}; it must be between 0 and 1.`)
    }
  }
  const sum = variants.reduce((total, { allocation }) => total + allocation, 0)
  if (Math.abs(sum - 1) > ALLOCATION_TOLERANCE) {
    throw badRequest(`variants: the allocations sum to ${Number(sum.toPrecision(10))}; they must sum to 1.`)
  }
}

/** Returns the index of a participating device's variant, which never changes during the experiment. */
export const variantOf = (
  experiment: { readonly id: string; readonly variants: readonly { readonly allocation: number }[] },
  deviceId: string,
): number =>
  shareAt(
    bucketOf(deviceId, experiment.id),
    experiment.variants.map(({ allocation }) => allocation),
  )

const ESTIMATE_EVERY_MS = 10_000
const ESTIMATES_PER_AGE = 100

/**
 * True if the experiment's curve is due for its next point: at most every 10 s, and at most once per percent of its age, so
 * that a year-long experiment has about a thousand points.
 */
export const isEstimateDue = (startedAt: Date, addedAt: Date | null, now: Date): boolean =>
  addedAt === null ||
  now.getTime() - addedAt.getTime() >=
    Math.max(ESTIMATE_EVERY_MS, (addedAt.getTime() - startedAt.getTime()) / ESTIMATES_PER_AGE)
