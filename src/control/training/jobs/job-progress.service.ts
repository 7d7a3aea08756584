import type { VisibleSummaries } from '../../../domain/disclosure.ts'
import {
  afterCompletedRound,
  afterFailedRound,
  type Ending,
  metricWithheld,
  neverReported,
} from '../../../domain/job-endings.ts'
import { asLosses, isBest, isMeasuredLater, objectiveOf, type RoundValue } from '../../../domain/job-metric.ts'
import { EVALUATION_PREFIX } from '../../../domain/metrics.ts'
import { ownEntry } from '../../../domain/own-entry.ts'
import { evaluationSecondsOf, nextJobStatus, waitingForEvaluations } from '../../../domain/training-job.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { RoundResults } from '../../catalog/models/round-results.service.ts'
import type { Context } from '../../context.ts'
import type { EvaluationSteps } from '../rounds/evaluation-steps.service.ts'
import { roundsReport } from '../rounds/rounds.service.ts'
import type { VisibleRound, VisibleRounds } from '../rounds/visible-rounds.service.ts'
import { jobsStore, type StoredJob } from './jobs.store.ts'

interface Parts {
  readonly visibleRounds: Pick<VisibleRounds, 'cataloged'>
  readonly roundResults: Pick<RoundResults, 'publish' | 'hasPublished'>
  readonly evaluationSteps: Pick<EvaluationSteps, 'ask'>
}

/** A round's metrics in the form stored with a version: loss, accuracy, and the means of all others. */
const metricsOf = ({ loss, accuracy, metrics, evaluation }: VisibleRound): Readonly<Record<string, number>> => ({
  ...(loss !== null && { loss }),
  ...(accuracy !== null && { accuracy }),
  ...meansOf(metrics, ''),
  ...meansOf(evaluation?.metrics ?? null, EVALUATION_PREFIX),
})

const meansOf = (summaries: VisibleSummaries | null, prefix: string): Record<string, number> =>
  Object.fromEntries(Object.entries(summaries ?? {}).map(([name, { mean }]) => [prefix + name, mean]))

/** Returns a metric's value for each completed round, oldest first. */
const createValues =
  ({ visibleRounds }: Pick<Parts, 'visibleRounds'>) =>
  async (tx: Executor, { id, federationId }: StoredJob, metric: string): Promise<readonly RoundValue[]> => {
    if (federationId === null) return roundsReport.valuesOf(tx, id, metric)
    // Members see what the values decide: only those that all of them may see count (docs/decisions/0185).
    const rounds = await visibleRounds.cataloged(tx, await roundsReport.completedOf(tx, id))
    return rounds.map((round) => ({
      modelId: round.aggregatedModelId,
      value: ownEntry(metricsOf(round), metric) ?? null,
    }))
  }

/** Publishes results as versions of the job's model, in the transaction that ends the round or the job. */
const createPublications = (parts: Parts) => {
  const { roundResults, visibleRounds } = parts
  const valuesOf = createValues(parts)

  const publish = async (tx: Executor, { id: jobId, modelId }: StoredJob, resultId: string | null): Promise<void> => {
    const round = resultId === null ? null : await roundsReport.thatMade(tx, resultId)
    if (modelId === null || resultId === null || round === null) return
    const { id: roundId, roundNumber } = round
    const metrics = metricsOf((await visibleRounds.cataloged(tx, [round]))[0]!)
    await roundResults.publish(tx, modelId, { modelId: resultId, roundId, roundNumber, jobId, metrics })
  }

  /** Publishes the newest round with a known value if it is the best so far. */
  const publishBest = async (tx: Executor, job: StoredJob, isLastMeasured: boolean): Promise<void> => {
    const { metric, goal } = objectiveOf(job.settings)
    const rounds = await valuesOf(tx, job, metric)
    const measured = isLastMeasured || !isMeasuredLater(metric) ? rounds : rounds.slice(0, -1)
    const losses = asLosses(
      goal,
      measured.map(({ value }) => value),
    )
    if (isBest(losses)) await publish(tx, job, measured.at(-1)!.modelId)
  }

  return {
    async roundCompleted(tx: Executor, job: StoredJob): Promise<void> {
      if (job.settings.publish === 'every') await publish(tx, job, job.latestModelId)
      if (job.settings.publish === 'best') await publishBest(tx, job, false)
    },

    /** Applies however the job ended. If no round reported the metric, the last result counts as the best. */
    async jobEnded(tx: Executor, job: StoredJob): Promise<void> {
      const { publish: which } = job.settings
      if (which === 'best') await publishBest(tx, job, true)
      const isDue = which === 'last' || (which === 'best' && !(await roundResults.hasPublished(tx, job.id)))
      if (isDue) await publish(tx, job, job.latestModelId)
    },
  }
}

/** Records what the end of a round means for its job, in the transaction that ends the round. */
export const createJobProgress = ({ events, now }: Context, parts: Parts) => {
  const { evaluationSteps } = parts
  const publications = createPublications(parts)
  const valuesOf = createValues(parts)

  /** Publishes the job's current state; call it in the transaction that stores that state. */
  const changed = (
    tx: Executor,
    { id, orgId, federationId, status }: Pick<StoredJob, 'id' | 'orgId' | 'federationId' | 'status'>,
    ended: string | null = null,
  ): Promise<void> => events.publish(tx, 'job.changed', { id, orgId, federationId, status, ended })

  /** True if publish or stop_when needs values, but there are none that all members may see. */
  const hasNoVisibleValue = async (tx: Executor, job: StoredJob, metric: string): Promise<boolean> =>
    job.federationId !== null &&
    (job.settings.publish === 'best' || job.settings.stopWhen !== null) &&
    (await valuesOf(tx, job, metric)).every(({ value }) => value === null)

  /** The reason, plus a note if no round reported the job's metric, or none that may decide. */
  const reasonOf = async (tx: Executor, job: StoredJob, reason: string) => {
    const { id, federationId, roundsCompleted } = job
    if (roundsCompleted === 0) return reason
    const { metric } = objectiveOf(job.settings)
    if ((await roundsReport.valuesOf(tx, id, metric)).some(({ value }) => value !== null))
      return (await hasNoVisibleValue(tx, job, metric)) ? `${reason} ${metricWithheld(metric)}` : reason
    if (job.settings.metric === undefined) return reason
    // All members read the reason, and devices choose the names of their metrics.
    const reported = federationId === null ? await roundsReport.metricsOf(tx, id) : null
    return `${reason} ${neverReported(metric, reported)}`
  }

  const end = async (tx: Executor, job: StoredJob, ending: Ending): Promise<void> => {
    const status = nextJobStatus(job.status, ending.event)
    const reason = await reasonOf(tx, job, ending.reason)
    await jobsStore.update(tx, job.id, {
      status,
      ended_by: ending.endedBy,
      reason,
      ended_at: now(),
      waiting_until: null,
      waiting_for: null,
      ending: null,
    })
    await changed(tx, { ...job, status }, reason)
    await publications.jobEnded(tx, job)
  }

  /** Ends the job, after the evaluation of its last model if devices have offered one. */
  const endEvaluated = async (tx: Executor, job: StoredJob, ending: Ending, roundId: string): Promise<void> => {
    const requested = await evaluationSteps.ask(tx, roundId, evaluationSecondsOf(job.settings))
    if (requested === null) return end(tx, job, ending)
    await jobsStore.update(tx, job.id, {
      ending: JSON.stringify(ending),
      waiting_until: requested.until,
      waiting_for: waitingForEvaluations(requested.devices),
    })
    await changed(tx, job)
  }

  /** Null if the round has no job, or if the job ended before its round because it was stopped. */
  const lockRunning = async (tx: Executor, id: string | null): Promise<StoredJob | null> => {
    const job = id === null ? null : await jobsStore.lock(tx, id)
    return job === null || job.endedAt !== null ? null : job
  }

  events.inTransaction('round.completed', async (tx, round) => {
    const job = await lockRunning(tx, round.jobId)
    if (job === null) return
    const roundsCompleted = job.roundsCompleted + 1
    await jobsStore.update(tx, job.id, {
      latest_model_id: round.modelId,
      rounds_completed: roundsCompleted,
      rounds_failed_in_a_row: 0,
      state_sha256: round.stateSha256,
      control_sha256: round.controlSha256,
      ...(round.nextClipNorm === null ? {} : { clip_norm: round.nextClipNorm }),
    })
    const after: StoredJob = { ...job, roundsCompleted, latestModelId: round.modelId }
    await publications.roundCompleted(tx, after)
    const { metric, goal } = objectiveOf(job.settings)
    const values = job.settings.stopWhen === null ? [] : await valuesOf(tx, job, metric)
    const losses = asLosses(
      goal,
      values.map(({ value }) => value),
    )
    const ending = afterCompletedRound({ settings: job.settings, roundsCompleted, losses })
    if (ending !== null) await endEvaluated(tx, after, ending, round.id)
  })

  events.inTransaction('round.evaluated', async (tx, round) => {
    const job = await lockRunning(tx, round.jobId)
    if (job !== null && job.ending !== null) await end(tx, job, job.ending)
  })

  events.inTransaction('round.failed', async (tx, round) => {
    const job = round.cancelled ? null : await lockRunning(tx, round.jobId)
    if (job === null) return
    const failed = job.roundsFailedInARow + 1
    await jobsStore.update(tx, job.id, { rounds_failed_in_a_row: failed })
    const ending = afterFailedRound(failed, round.reason)
    if (ending !== null) await end(tx, job, ending)
  })

  return { changed, end }
}

export type JobProgressService = ReturnType<typeof createJobProgress>
