import { DEFAULT_METRIC, hasConverged } from './job-metric.ts'
import { plural } from './plural.ts'
import { type JobEvent, type JobSettings, type JobTarget, targetOf } from './training-job.ts'

/** Why a job ended, as a code for programs. */
export type EndedBy =
  | 'rounds_done'
  | 'converged'
  | 'budget_spent'
  | 'rounds_failed'
  | 'no_devices'
  | 'cannot_start'
  | 'stopped'

/** How a job ends: the event, its code, and a sentence for people. */
export interface Ending {
  readonly event: Exclude<JobEvent, 'begin' | 'resume' | 'extend'>
  readonly endedBy: EndedBy
  readonly reason: string
}

/** A job ends after this many failed rounds in a row. */
const FAILED_ROUNDS_ALLOWED = 3

/** The parts of a job that determine the effect of a completed round. */
export interface JobProgress {
  readonly settings: Pick<JobSettings, 'rounds' | 'stopWhen' | 'metric' | 'extendedAfter'>
  /** Includes this round. */
  readonly roundsCompleted: number
  /** Of the completed rounds, oldest first: the job's metric by `asLosses`. */
  readonly losses: readonly (number | null)[]
}

const metricName = (metric = DEFAULT_METRIC): string => (metric === DEFAULT_METRIC ? 'the loss' : `'${metric}'`)

/**
 * The message of a job that ended without any round reporting its metric; `reported` are the metrics that were reported, null if
 * not every reader may know them.
 */
export const neverReported = (metric: string, reported: readonly string[] | null): string => {
  const others = reported?.length === 0 ? '; none was reported' : reported && `; reported: ${reported.join(', ')}`
  return `No round reported the metric '${metric}'${others ?? ''}.`
}

/** The note for a federation's job whose metric is withheld: its values could be inferred from what they decide. */
export const metricWithheld = (metric: string): string =>
  `No round has a value of '${metric}' that all members may see, so publish and stop_when did not use it.`

/** Returns how the job ends after a completed round; null: it continues. */
export const afterCompletedRound = ({ settings, roundsCompleted, losses }: JobProgress): Ending | null => {
  if (roundsCompleted >= settings.rounds) {
    const rounds = settings.rounds === 1 ? 'The requested round is' : `All ${settings.rounds} requested rounds are`
    return { event: 'finish', endedBy: 'rounds_done', reason: `${rounds} completed.` }
  }
  const rule = settings.stopWhen
  if (rule === null || !hasConverged(losses.slice(settings.extendedAfter ?? 0), rule)) return null
  const span = rule.patience === 1 ? 'The last round' : `The last ${rule.patience} rounds`
  return {
    event: 'finish',
    endedBy: 'converged',
    reason: `${span} improved ${metricName(settings.metric)} by less than ${rule.lossImprovementBelow}.`,
  }
}

/** Returns how the job ends after consecutive failed rounds, the last of them for `reason`; null: it tries again. */
export const afterFailedRound = (failedInARow: number, reason: string): Ending | null =>
  failedInARow < FAILED_ROUNDS_ALLOWED
    ? null
    : {
        event: 'give_up',
        endedBy: 'rounds_failed',
        reason: `${failedInARow} rounds failed one after another. The last: ${reason}`,
      }

/** The ending of a job that waited for devices in vain. */
export const noDevices = (
  active: number,
  needed: number,
  job: JobTarget & { readonly settings: Pick<JobSettings, 'waitForDevicesSeconds'> },
): Ending => ({
  event: 'give_up',
  endedBy: 'no_devices',
  reason:
    `Waited ${job.settings.waitForDevicesSeconds} s for at least ${plural(needed, 'active device')}${targetOf(job)}; ` +
    `there ${active === 1 ? 'was 1' : `were ${active}`}.`,
})
