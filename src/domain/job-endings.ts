import { DEFAULT_METRIC, hasConverged } from './job-metric.ts'
import { type JobEvent, type JobSettings, type JobTarget, targetOf } from './training-job.ts'

/** Why a job ended, as a word for programs. */
export type EndedBy =
  | 'rounds_done'
  | 'converged'
  | 'budget_spent'
  | 'rounds_failed'
  | 'no_devices'
  | 'cannot_start'
  | 'stopped'

/** How a job ends: the event, the word for it, and a sentence for people. */
export interface Ending {
  readonly event: Exclude<JobEvent, 'begin' | 'resume' | 'extend'>
  readonly endedBy: EndedBy
  readonly reason: string
}

/** So many failed rounds in a row end a job. */
const FAILED_ROUNDS_ALLOWED = 3

/** The parts of a job that decide what a completed round means for it. */
export interface JobProgress {
  readonly settings: Pick<JobSettings, 'rounds' | 'stopWhen' | 'metric' | 'extendedAfter'>
  /** This round included. */
  readonly roundsCompleted: number
  /** Of the completed rounds, oldest first: `asLosses` of the job's metric. */
  readonly losses: readonly (number | null)[]
}

const metricName = (metric = DEFAULT_METRIC): string => (metric === DEFAULT_METRIC ? 'the loss' : `'${metric}'`)

/** What a job says at its end whose metric no round has reported; `reported` are those that were. */
export const neverReported = (metric: string, reported: readonly string[]): string =>
  `No round reported the metric '${metric}'; ${reported.length === 0 ? 'none was reported' : `reported: ${reported.join(', ')}`}.`

/** How the job ends now that a round is completed; null: it goes on. */
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

/** How the job ends after so many failed rounds in a row, the last of them for `reason`; null: it tries again. */
export const afterFailedRound = (failedInARow: number, reason: string): Ending | null =>
  failedInARow < FAILED_ROUNDS_ALLOWED
    ? null
    : {
        event: 'give_up',
        endedBy: 'rounds_failed',
        reason: `${failedInARow} rounds failed one after another. The last: ${reason}`,
      }

/** The end of waiting for devices that did not come. */
export const noDevices = (
  active: number,
  needed: number,
  job: JobTarget & { readonly settings: Pick<JobSettings, 'waitForDevicesSeconds'> },
): Ending => ({
  event: 'give_up',
  endedBy: 'no_devices',
  reason:
    `Waited ${job.settings.waitForDevicesSeconds} s for at least ${needed} active devices${targetOf(job)}; ` +
    `there ${active === 1 ? 'was 1' : `were ${active}`}.`,
})
