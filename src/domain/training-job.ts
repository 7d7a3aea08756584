import { badRequest, conflict } from './errors.ts'
import type { Goal } from './metric-goal.ts'
import { plural } from './plural.ts'
import { stragglerGraceSeconds } from './round.ts'
import { STRATEGY_RULES } from './strategy-rules.ts'
import { minDevicesFor, minUpdates, type StrategySettings } from './strategy-settings.ts'

/** `pending` until its first round begins. Every job ends in one of the last three, always with a reason. */
export type JobStatus = 'pending' | 'running' | 'completed' | 'failed' | 'stopped'

/** `begin` is the start of any round. `resume` and `extend` give an ended job more rounds. */
export type JobEvent = 'begin' | 'finish' | 'give_up' | 'stop' | 'resume' | 'extend'

/** The transitions between a job's states. */
export const JOB_TRANSITIONS: Readonly<Record<JobStatus, Readonly<Partial<Record<JobEvent, JobStatus>>>>> = {
  // Others may spend a budget before the first round: that ends the job normally.
  pending: { begin: 'running', finish: 'completed', give_up: 'failed', stop: 'stopped' },
  running: { begin: 'running', finish: 'completed', give_up: 'failed', stop: 'stopped' },
  completed: { extend: 'pending' },
  failed: { resume: 'pending' },
  stopped: { resume: 'pending' },
}

const VERB: Readonly<Record<JobEvent, string>> = {
  begin: 'begin a round',
  finish: 'be completed',
  give_up: 'fail',
  stop: 'be stopped',
  resume: 'be resumed',
  extend: 'be extended',
}

/** Advice on what to do instead. */
const ADVICE: Readonly<Partial<Record<JobStatus, Readonly<Partial<Record<JobEvent, string>>>>>> = {
  pending: { resume: ' It continues by itself.', extend: ' Wait until it is completed.' },
  running: { resume: ' It continues by itself.', extend: ' Wait until it is completed.' },
  completed: { resume: ' Extend it by more rounds.' },
  failed: { extend: ' Resume it; that may be for more rounds than it had left.' },
  stopped: { extend: ' Resume it; that may be for more rounds than it had left.' },
}

/** Returns the status after `event`. Throws conflict naming the status if the event is not allowed. */
export const nextJobStatus = (status: JobStatus, event: JobEvent): JobStatus => {
  const next = JOB_TRANSITIONS[status][event]
  if (next === undefined) {
    throw conflict(`A training job that is ${status} cannot ${VERB[event]}.${ADVICE[status]?.[event] ?? ''}`)
  }
  return next
}

/**
 * Converged: over the last `patience` rounds the best value of the job's metric has not improved by `lossImprovementBelow` or
 * more. The name is stored in databases, and dates from when the loss was the only metric.
 */
export interface StopRule {
  readonly lossImprovementBelow: number
  readonly patience: number
}

export interface JobPrivacy {
  readonly noiseMultiplier: number
  readonly clipNorm: number
  readonly adaptiveClip: boolean
  /** The delta at which its epsilon is reported; absent in jobs from before it was stored. */
  readonly delta?: number
  /** The budget for all its rounds together, if its noise was derived from one. */
  readonly targetEpsilon?: number
}

/** The complete request, with defaults filled in. Stored with the job as JSON. */
export interface JobSettings {
  readonly strategy: StrategySettings
  readonly rounds: number
  readonly minDevices: number
  /** How many updates a round requests; for an asynchronous job: how many devices train at the same time. */
  readonly targetDevices: number
  /** The factor by which more devices than the target are selected, because some never deliver. */
  readonly overSelection: number
  readonly timeoutSeconds: number
  /** How long devices have to evaluate the last model; absent: derived from the timeout. */
  readonly evaluationSeconds?: number
  /** How long to wait for more updates after min_devices have arrived; null: derived from the timeout. */
  readonly reportWindowSeconds: number | null
  /** How long a round that could start waits for min_devices active devices. */
  readonly waitForDevicesSeconds: number
  readonly hyperparameters: Readonly<Record<string, unknown>>
  readonly privacy: JobPrivacy | null
  /** The requested options of rounds with masked updates; the rest is derived from the sizes. */
  readonly secureAggregation: {
    readonly threshold?: number | undefined
    readonly range?: number | undefined
    readonly maxWeight?: number | undefined
  } | null
  readonly stopWhen: StopRule | null
  /** The metric used by `stopWhen` and `publish: best`; absent: the loss. */
  readonly metric?: string
  /** Which values of `metric` are better. Absent for the loss, and in jobs from before it was kept: by the metric's name. */
  readonly goal?: Goal
  /** Absent in jobs from before it was stored: none. */
  readonly publish?: Publish
  /** The version of its model that it starts from; absent in jobs from before it was stored: the latest. */
  readonly modelVersion?: number
  /** Its model and updates are raw float32 vectors. */
  readonly rawVector?: true
  /** Its model belongs to another organization: rounds may distribute it only while it is shared with the job's. */
  readonly sharedModel?: true
  /** Rounds completed when it was last extended; `stopWhen` considers only later ones. */
  readonly extendedAfter?: number
}

/** Which of a job's results become versions of the model that it trains. */
export const PUBLISH = ['last', 'every', 'best', 'none'] as const
export type Publish = (typeof PUBLISH)[number]

export const JOB_ROUNDS = { min: 1, max: 10_000, default: 10 } as const
export const MIN_DEVICES_DEFAULT = 2
export const WAIT_FOR_DEVICES_SECONDS = { min: 1, max: 7 * 24 * 3600, default: 3600 } as const
export const OVER_SELECTION = { min: 1, max: 10, default: 1 } as const
/** How many devices a round selects, and how many updates end it. */
export interface RoundSizes {
  readonly minDevices: number
  readonly selected: number
  readonly requested: number
}

/**
 * Returns a job's round sizes. Over-selection selects ceil(target * factor) and closes at the target (Bonawitz et al. 2019,
 * "Towards Federated Learning at Scale", section 4.2). An asynchronous job's rounds close at its buffer's size.
 * @throws bad_request naming the field if the sizes contradict each other.
 */
export const roundSizes = (
  settings: Pick<JobSettings, 'strategy' | 'minDevices' | 'targetDevices' | 'overSelection'>,
): RoundSizes => {
  const { strategy, minDevices, targetDevices, overSelection } = settings
  const isAsynchronous = STRATEGY_RULES[strategy.name].asynchronous
  const requested = isAsynchronous ? Number(strategy.options.buffer) : targetDevices
  if (minDevices > requested) {
    throw badRequest(
      `min_devices (${minDevices}) must not exceed ${isAsynchronous ? 'strategy_options.buffer' : 'target_devices'} ` +
        `(${requested}): a round closes with that number of updates.`,
    )
  }
  // 10 * 1.1 is slightly more than 11 in floating point.
  return {
    minDevices: minDevicesFor(strategy, { minDevices, requested }),
    requested,
    selected: Math.ceil(targetDevices * overSelection - 1e-9),
  }
}

/**
 * Returns the settings of a job that continues: `more` rounds after its completed ones, or its remaining rounds if `more` is
 * undefined. Does not check the job's status, as `nextJobStatus` does.
 * @throws bad_request naming the field if a job may not have that many rounds.
 */
export const continuedSettings = (
  settings: JobSettings,
  roundsCompleted: number,
  event: 'resume' | 'extend',
  more: number | undefined,
): JobSettings => {
  const rounds = more === undefined ? settings.rounds : roundsCompleted + more
  if (rounds <= roundsCompleted) {
    throw conflict(
      `All ${settings.rounds} requested rounds are completed. To train more, set rounds to the number of additional rounds.`,
    )
  }
  if (rounds > JOB_ROUNDS.max) {
    throw badRequest(
      `rounds: ${more} more than the ${roundsCompleted} completed ones would be ${rounds}; a job has at most ${JOB_ROUNDS.max}. ` +
        'Ask for fewer, or start another job from its result.',
    )
  }
  return { ...settings, rounds, ...(event === 'extend' ? { extendedAfter: roundsCompleted } : {}) }
}
export const EVALUATION_SECONDS = { min: 1, max: 3600 } as const

/** Returns how long devices have to evaluate the last model: as requested, otherwise as long as stragglers have. */
export const evaluationSecondsOf = ({
  evaluationSeconds,
  timeoutSeconds,
}: Pick<JobSettings, 'evaluationSeconds' | 'timeoutSeconds'>): number =>
  evaluationSeconds ?? stragglerGraceSeconds(timeoutSeconds)

/** A job's status message while its last model is evaluated. */
export const waitingForEvaluations = (devices: number): string =>
  `Waits for ${plural(devices, 'device')} to evaluate the last model.`

/** The status message of a job that has a round to start while another job or request has one in progress. */
export const WAITING_FOR_TURN = 'Waits for its turn: only one round can be in progress at a time.'

/** Which devices a job trains with; all of its organization's if both are null. */
export interface JobTarget {
  readonly groupId: string | null
  readonly federationId: string | null
}

/** Returns text to append to "devices". */
export const targetOf = ({ groupId, federationId }: JobTarget): string => {
  if (groupId !== null) return ' of its device group'
  return federationId === null ? '' : ' of its federation'
}

/** A job's status message while too few devices are active, with the reason for the minimum. */
export const waitingForDevices = (
  active: number,
  needed: number,
  job: JobTarget & { readonly settings: Pick<JobSettings, 'strategy' | 'minDevices'> },
): string => {
  const { strategy, minDevices } = job.settings
  const minimum = minUpdates(strategy)
  const why =
    minimum > minDevices && needed === minimum
      ? ` Strategy '${strategy.name}' with byzantine ${strategy.options.byzantine} needs 2f + 3 = ${minimum} updates.`
      : ''
  const now = active === 1 ? '1 is' : `${active} are`
  return `Waits for ${plural(needed, 'active device')}${targetOf(job)} that train${needed === 1 ? 's' : ''}; ${now} active.${why}`
}
