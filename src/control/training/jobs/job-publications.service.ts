import { asLosses, DEFAULT_METRIC, isBest, isMeasuredLater, type RoundValue } from '../../../domain/job-metric.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { ModelsService } from '../../catalog/models/models.service.ts'
import type { StoredJob } from './jobs.store.ts'

/** A completed round, as its version tells of it. */
export interface PublishedRound {
  readonly id: string
  readonly roundNumber: number
  /** By name: what its updates reported, and after `evaluation.` what was measured on held-out data, as far as it is known. */
  readonly metrics: Readonly<Record<string, number>>
}

/** What becomes a version of the model that a job trains, in the transaction that ends the round or the job. */
export const createJobPublications = (parts: {
  readonly models: Pick<ModelsService, 'publish' | 'hasPublished'>
  /** The completed round that made this model. */
  readonly roundOf: (tx: Executor, modelId: string) => Promise<PublishedRound | null>
  readonly valuesOf: (tx: Executor, jobId: string, metric: string) => Promise<readonly RoundValue[]>
}) => {
  const { models, roundOf, valuesOf } = parts

  const publish = async (tx: Executor, { id: jobId, modelId }: StoredJob, resultId: string | null): Promise<void> => {
    const round = resultId === null ? null : await roundOf(tx, resultId)
    if (modelId === null || resultId === null || round === null) return
    const { id: roundId, roundNumber, metrics } = round
    await models.publish(tx, modelId, { modelId: resultId, roundId, roundNumber, jobId, metrics })
  }

  /** The newest round whose value is known, if it is the best so far. */
  const publishBest = async (tx: Executor, job: StoredJob, isLastMeasured: boolean): Promise<void> => {
    const { metric = DEFAULT_METRIC } = job.settings
    const rounds = await valuesOf(tx, job.id, metric)
    const measured = isLastMeasured || !isMeasuredLater(metric) ? rounds : rounds.slice(0, -1)
    const losses = asLosses(
      metric,
      measured.map(({ value }) => value),
    )
    if (isBest(losses)) await publish(tx, job, measured.at(-1)!.modelId)
  }

  return {
    async roundCompleted(tx: Executor, job: StoredJob): Promise<void> {
      if (job.settings.publish === 'every') await publish(tx, job, job.latestModelId)
      if (job.settings.publish === 'best') await publishBest(tx, job, false)
    },

    /** However it has ended, what its rounds have made is there. Where no round told the metric, the last counts as the best. */
    async jobEnded(tx: Executor, job: StoredJob): Promise<void> {
      const { publish: which } = job.settings
      if (which === 'best') await publishBest(tx, job, true)
      const isDue = which === 'last' || (which === 'best' && !(await models.hasPublished(tx, job.id)))
      if (isDue) await publish(tx, job, job.latestModelId)
    },
  }
}

export type JobPublications = ReturnType<typeof createJobPublications>
