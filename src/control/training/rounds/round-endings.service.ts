import { nextStatus } from '../../../domain/round.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { ControlEventBus, RoundEvent, RoundOutcome } from '../../events.ts'
import type { ParticipantsStore } from './participants.store.ts'
import type { RoundsStore, StoredRound } from './rounds.store.ts'

const NOT_DELIVERED = { reason: 'Had not submitted an update when the round closed.', missed: true } as const

/** How rounds end. Whoever has to follow does so in the same transaction, by the events that are published in it. */
export const createRoundEndings = (parts: {
  readonly store: RoundsStore
  readonly participants: ParticipantsStore
  readonly events: Pick<ControlEventBus, 'publish' | 'inTransaction'>
  readonly now: () => Date
}) => {
  const { store, participants, events, now } = parts

  // The devices of an asynchronous job go on from round to round; when the job ends, so does their part in the latest.
  events.inTransaction('job.changed', async (tx, job) => {
    if (job.ended === null) return
    const latest = await store.latestOfJob(tx, job.id)
    if (!latest?.plan.asynchronous) return
    await participants.failTheRest(tx, latest.id, { reason: job.ended, missed: false }, now())
  })

  return {
    /**
     * Closes the doors of the locked round. Whoever has not delivered has failed; in an asynchronous job they deliver to a
     * later round.
     */
    async collect(tx: Executor, round: StoredRound): Promise<void> {
      const failed = round.plan.asynchronous
        ? round.failedDevices
        : await participants.failTheRest(tx, round.id, { ...NOT_DELIVERED, missed: round.privacy === null }, now())
      await store.update(tx, round.id, { status: nextStatus(round.status, 'collect'), failed_devices: failed })
      await events.publish(tx, 'round.collected', eventOf(round))
    },

    /** After the round's row has been completed. */
    completed: (tx: Executor, round: StoredRound, outcome: RoundOutcome): Promise<void> =>
      events.publish(tx, 'round.completed', { ...eventOf(round), ...outcome }),

    /**
     * Fails the locked round. Those who still train are told `told`; not so in an asynchronous job, which goes on with them
     * until it ends itself.
     */
    async fail(
      tx: Executor,
      round: StoredRound,
      why: {
        readonly event: 'time_out' | 'fail'
        readonly reason: string
        readonly reported: string
        readonly cancelled?: true
      },
    ): Promise<void> {
      const failed = round.plan.asynchronous
        ? round.failedDevices
        : await participants.failTheRest(
            tx,
            round.id,
            { reason: why.reported, missed: why.event === 'time_out' && round.privacy === null },
            now(),
          )
      await store.update(tx, round.id, {
        status: nextStatus(round.status, why.event),
        failed_devices: failed,
        failure_reason: why.reason,
        ended_at: now(),
        lease_owner: null,
        lease_until: null,
      })
      const { reason, cancelled = false } = why
      await events.publish(tx, 'round.failed', { ...eventOf(round), reason, cancelled })
    },
  }
}

export const eventOf = (round: StoredRound): RoundEvent => ({
  id: round.id,
  orgId: round.orgId,
  jobId: round.jobId,
  federationId: round.federationId,
  roundNumber: round.roundNumber,
  isPrivate: round.privacy !== null,
  isSecure: round.plan.secure !== undefined,
})

export type RoundEndings = ReturnType<typeof createRoundEndings>
