import { isBest } from '../../../domain/training-job.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { ModelsService } from '../../catalog/models/models.service.ts'
import type { StoredJob } from './jobs.store.ts'

/** A completed round, as its version tells of it. */
export interface PublishedRound {
  readonly id: string
  readonly roundNumber: number
  readonly loss: number | null
  readonly accuracy: number | null
}

/** What becomes a version of the model that a job trains, in the transaction that ends the round or the job. */
export const createJobPublications = (parts: {
  readonly models: Pick<ModelsService, 'publish' | 'hasPublished'>
  /** The completed round that made this model. */
  readonly roundOf: (tx: Executor, modelId: string) => Promise<PublishedRound | null>
}) => {
  const { models, roundOf } = parts

  const publishLatest = async (tx: Executor, { id: jobId, modelId, latestModelId }: StoredJob): Promise<void> => {
    const round = latestModelId === null ? null : await roundOf(tx, latestModelId)
    if (modelId === null || latestModelId === null || round === null) return
    const { id: roundId, roundNumber, loss, accuracy } = round
    const metrics = { ...(loss !== null && { loss }), ...(accuracy !== null && { accuracy }) }
    await models.publish(tx, modelId, { modelId: latestModelId, roundId, roundNumber, jobId, metrics })
  }

  return {
    /** `losses` of its completed rounds, this one last. */
    async roundCompleted(tx: Executor, job: StoredJob, losses: readonly (number | null)[]): Promise<void> {
      const { publish } = job.settings
      if (publish === 'every' || (publish === 'best' && isBest(losses))) await publishLatest(tx, job)
    },

    /** However it has ended, what its rounds have made is there. Where no round told a loss, the last counts as the best. */
    async jobEnded(tx: Executor, job: StoredJob): Promise<void> {
      const { publish } = job.settings
      const isDue = publish === 'last' || (publish === 'best' && !(await models.hasPublished(tx, job.id)))
      if (isDue) await publishLatest(tx, job)
    },
  }
}

export type JobPublications = ReturnType<typeof createJobPublications>
