import type { Caller } from '../../../domain/access.ts'
import { isNotFound } from '../../../domain/errors.ts'
import type { TrainingOrigin } from '../../catalog/models/lineage.service.ts'
import type { Context } from '../../context.ts'
import type { PrivacyCosts } from '../rounds/privacy-costs.service.ts'
import type { RoundsService } from '../rounds/rounds.service.ts'
import { jobsStore } from './jobs.store.ts'

/** Describes how a version was trained, from its round and its job. */
export const createVersionOrigins = (
  { database }: Context,
  {
    rounds,
    prices,
  }: {
    readonly rounds: Pick<RoundsService, 'get'>
    readonly prices: Pick<PrivacyCosts, 'spentBy'>
  },
) => {
  /** Null if the caller may not see the round. */
  return async (caller: Caller, roundId: string): Promise<TrainingOrigin | null> => {
    const round = await rounds.get(caller, roundId).catch((error: unknown) => {
      if (isNotFound(error)) return null
      throw error
    })
    if (round === null) return null
    const { jobId, privacy, globalModelId, globalModelVersion } = round
    const job = jobId === null ? null : await jobsStore.find(database.sql, jobId)
    const ofJob =
      privacy === null || jobId === null ? null : await prices.spentBy(caller, jobId, privacy.delta, round.roundNumber)
    const alone =
      privacy?.epsilon === undefined || privacy.delta === undefined
        ? null
        : { epsilon: privacy.epsilon, delta: privacy.delta, rounds: 1 }
    return {
      jobId,
      jobName: job?.name ?? null,
      roundId,
      roundNumber: round.roundNumber,
      strategy: round.plan.strategy,
      strategyOptions: round.plan.options ?? {},
      selectedDevices: round.takingPart,
      completedDevices: round.completedDevices,
      failedDevices: round.failedDevices,
      trainedFrom: globalModelId === null ? null : { modelId: globalModelId, version: globalModelVersion ?? 1 },
      spent: ofJob ?? alone,
      endedAt: round.endedAt,
    }
  }
}
