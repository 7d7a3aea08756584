import { afterCompletedRound, afterFailedRound, type Ending, nextJobStatus } from '../../../domain/training-job.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { RoundFollower } from '../rounds/round-endings.service.ts'
import type { JobsStore, StoredJob } from './jobs.store.ts'

/** What the end of a round means for its job, written down in the transaction that ends the round. */
export const createJobProgress = (parts: { readonly store: JobsStore; readonly now: () => Date }) => {
  const { store, now } = parts

  const end = async (tx: Executor, job: StoredJob, ending: Ending): Promise<void> => {
    await store.update(tx, job.id, {
      status: nextJobStatus(job.status, ending.event),
      ended_by: ending.endedBy,
      reason: ending.reason,
      ended_at: now(),
      waiting_until: null,
      waiting_for: null,
    })
  }

  /** Null also for a job that has ended before its round: it was stopped. */
  const lockRunning = async (tx: Executor, id: string): Promise<StoredJob | null> => {
    const job = await store.lock(tx, id)
    return job === null || job.endedAt !== null ? null : job
  }

  const follower: RoundFollower = {
    async roundCompleted(tx, round, outcome) {
      const job = await lockRunning(tx, round.jobId!)
      if (job === null) return null
      const roundsCompleted = job.roundsCompleted + 1
      await store.update(tx, job.id, {
        latest_model_id: outcome.modelId,
        rounds_completed: roundsCompleted,
        rounds_failed_in_a_row: 0,
        state_sha256: outcome.stateSha256,
        control_sha256: outcome.controlSha256,
        ...(outcome.nextClipNorm === null ? {} : { clip_norm: outcome.nextClipNorm }),
      })
      const ending = afterCompletedRound({ settings: job.settings, roundsCompleted, losses: outcome.losses })
      if (ending !== null) await end(tx, job, ending)
      return ending?.reason ?? null
    },

    async roundFailed(tx, round, reason) {
      const job = await lockRunning(tx, round.jobId!)
      if (job === null) return null
      const failed = job.roundsFailedInARow + 1
      await store.update(tx, job.id, { rounds_failed_in_a_row: failed })
      const ending = afterFailedRound(failed, reason)
      if (ending !== null) await end(tx, job, ending)
      return ending?.reason ?? null
    },
  }

  return { end, follower }
}

export type JobProgressService = ReturnType<typeof createJobProgress>
