import { badRequest, conflict } from './errors.ts'
import { stragglerGraceSeconds } from './round.ts'
import { STRATEGY_RULES } from './strategy-rules.ts'
import { fewestUpdates, type StrategySettings } from './strategy-settings.ts'

/** `pending` until its first round has begun. The last three are where every job ends, always with a reason. */
export type JobStatus = 'pending' | 'running' | 'completed' | 'failed' | 'stopped'

/** `begin` is the start of a round, the first or a later one. `resume` and `extend` give an ended job more rounds. */
export type JobEvent = 'begin' | 'finish' | 'give_up' | 'stop' | 'resume' | 'extend'

/** The states of a job and what leads from one to the next. */
export const NEXT: Readonly<Record<JobStatus, Readonly<Partial<Record<JobEvent, JobStatus>>>>> = {
  // A budget may be spent by others before the first round: that is an ending like any other.
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

/** What to do instead. */
const ADVICE: Readonly<Partial<Record<JobStatus, Readonly<Partial<Record<JobEvent, string>>>>>> = {
  pending: { resume: ' It goes on by itself.', extend: ' Wait until it is completed.' },
  running: { resume: ' It goes on by itself.', extend: ' Wait until it is completed.' },
  completed: { resume: ' Extend it by more rounds.' },
  failed: { extend: ' Resume it; that may be for more rounds than it had left.' },
  stopped: { extend: ' Resume it; that may be for more rounds than it had left.' },
}

/** The status after `event`, or a conflict that says where the job stands. */
export const nextJobStatus = (status: JobStatus, event: JobEvent): JobStatus => {
  const next = NEXT[status][event]
  if (next === undefined) {
    throw conflict(`A training job that is ${status} cannot ${VERB[event]}.${ADVICE[status]?.[event] ?? ''}`)
  }
  return next
}

/**
 * Converged: over the last `patience` rounds the best value of the job's metric has not become better by `lossImprovementBelow` or
 * more. Databases keep it under this name, from when the loss was the only metric.
 */
export interface StopRule {
  readonly lossImprovementBelow: number
  readonly patience: number
}

export interface JobPrivacy {
  readonly noiseMultiplier: number
  readonly clipNorm: number
  readonly adaptiveClip: boolean
  /** What its epsilon is told at; absent in jobs of before it was kept. */
  readonly delta?: number
  /** What all its rounds may cost together, where its noise was chosen by that. */
  readonly targetEpsilon?: number
}

/** What was asked for, whole, with defaults filled in. Kept with the job as JSON. */
export interface JobSettings {
  readonly strategy: StrategySettings
  readonly rounds: number
  readonly minDevices: number
  /** How many updates a round wants; of an asynchronous job: how many devices train at the same time. */
  readonly targetDevices: number
  /** So many times the target are selected, because some never deliver. */
  readonly overSelection: number
  readonly timeoutSeconds: number
  /** How long devices have to evaluate the last model; absent: what follows from the timeout. */
  readonly evaluationSeconds?: number
  /** How long, once min_devices updates are in, the rest is waited for; null: what follows from the timeout. */
  readonly reportWindowSeconds: number | null
  /** How long a round that could start waits for min_devices active devices. */
  readonly waitForDevicesSeconds: number
  readonly hyperparameters: Readonly<Record<string, unknown>>
  readonly privacy: JobPrivacy | null
  /** Rounds whose updates are masked, and what was asked of them; the rest follows from the sizes. */
  readonly secureAggregation: {
    readonly threshold?: number | undefined
    readonly range?: number | undefined
    readonly maxWeight?: number | undefined
  } | null
  readonly stopWhen: StopRule | null
  /** What `stopWhen` and `publish: best` go by; absent: the loss. */
  readonly metric?: string
  /** Absent in jobs of before it was kept: none. */
  readonly publish?: Publish
  /** The version of its model that it begins from; absent in jobs of before it was kept, which begin from the latest. */
  readonly modelVersion?: number
  /** Its model and updates are bare float32 vectors. */
  readonly rawVector?: true
  /** Rounds completed when it was last extended: `stopWhen` looks at those after them. */
  readonly extendedAfter?: number
}

/** Which of a job's results become versions of the model that it trains. */
export const PUBLISH = ['last', 'every', 'best', 'none'] as const
export type Publish = (typeof PUBLISH)[number]

export const JOB_ROUNDS = { min: 1, max: 10_000, default: 10 } as const
export const MIN_DEVICES_DEFAULT = 2
export const WAIT_FOR_DEVICES_SECONDS = { min: 1, max: 7 * 24 * 3600, default: 3600 } as const
export const OVER_SELECTION = { min: 1, max: 10, default: 1 } as const
/** How many devices a round selects, and how many updates close it. */
export interface RoundSizes {
  readonly minDevices: number
  readonly selected: number
  readonly requested: number
}

/**
 * A job's round sizes. Over-selection selects ceil(target * factor) and closes at the target (Bonawitz et al. 2019,
 * "Towards Federated Learning at Scale", section 4.2). An asynchronous job's rounds close at its buffer's size.
 * @throws bad_request naming the field where the sizes contradict each other.
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
  const fewest = fewestUpdates(strategy)
  if (requested < fewest) {
    throw badRequest(
      `target_devices (${requested}) is too low for strategy '${strategy.name}' with strategy_options.byzantine ` +
        `${strategy.options.byzantine}: it needs 2f + 3 = ${fewest} updates. Set target_devices to that, or byzantine lower.`,
    )
  }
  // 10 * 1.1 is a little more than 11 in floating point.
  return {
    minDevices: Math.max(minDevices, fewest),
    requested,
    selected: Math.ceil(targetDevices * overSelection - 1e-9),
  }
}

/**
 * The settings of a job that goes on: `more` rounds after those that it has completed; those that it had left when `more` is
 * undefined. Its status afterwards is checked by `nextJobStatus`.
 * @throws bad_request naming the field where that would be more rounds than a job may have.
 */
export const continuedSettings = (
  settings: JobSettings,
  roundsCompleted: number,
  event: 'resume' | 'extend',
  more: number | undefined,
): JobSettings => {
  const rounds = more === undefined ? settings.rounds : roundsCompleted + more
  if (rounds <= roundsCompleted) {
    throw conflict(`All ${settings.rounds} requested rounds are completed. To train more, say how many: rounds.`)
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

/** How long devices have to evaluate the last round's model: as asked for, else as stragglers of a round have. */
export const evaluationSecondsOf = ({
  evaluationSeconds,
  timeoutSeconds,
}: Pick<JobSettings, 'evaluationSeconds' | 'timeoutSeconds'>): number =>
  evaluationSeconds ?? stragglerGraceSeconds(timeoutSeconds)

/** What a job tells of itself while its last model is evaluated. */
export const waitingForEvaluations = (devices: number): string =>
  `Waits for ${devices === 1 ? '1 device' : `${devices} devices`} to evaluate the last model.`

/** Whose devices a job trains with; all of its organization's where both are null. */
export interface JobTarget {
  readonly groupId: string | null
  readonly federationId: string | null
}

/** Behind "devices": which ones. */
export const targetOf = ({ groupId, federationId }: JobTarget): string => {
  if (groupId !== null) return ' of its device group'
  return federationId === null ? '' : ' of its federation'
}

/** What a job tells of itself while too few devices are active, and why it needs so many. */
export const waitingForDevices = (
  active: number,
  needed: number,
  job: JobTarget & { readonly settings: Pick<JobSettings, 'strategy' | 'minDevices'> },
): string => {
  const { strategy, minDevices } = job.settings
  const fewest = fewestUpdates(strategy)
  const why =
    fewest > minDevices && needed === fewest
      ? ` Strategy '${strategy.name}' with byzantine ${strategy.options.byzantine} needs 2f + 3 = ${fewest} updates.`
      : ''
  return `Waits for ${needed} active devices${targetOf(job)} that train; ${active === 1 ? '1 is' : `${active} are`} active.${why}`
}
