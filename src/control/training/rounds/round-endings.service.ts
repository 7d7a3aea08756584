import { nextStatus } from '../../../domain/round.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { ParticipantsStore } from './participants.store.ts'
import type { RoundsStore, StoredRound } from './rounds.store.ts'

/** Where noisy rounds are booked. It runs in the transaction of what ends the round. */
export interface PrivacyLedger {
  /** The round has ended, in whatever way: what it reserved is spent. */
  settle(tx: Executor, roundId: string): Promise<unknown>
}

/** What a completed round leaves to its job. */
export interface RoundOutcome {
  readonly modelId: string
  readonly loss: number | null
  readonly stateSha256: string | null
  readonly controlSha256: string | null
  /** Null where clipping is not adapted. */
  readonly nextClipNorm: number | null
  /** Of the job's completed rounds, oldest first, this one included. */
  readonly losses: readonly (number | null)[]
}

/**
 * A job hears of the end of its rounds in the transaction that ends them, so that no crash can come in between. Both return
 * why the job has ended with the round; null while it goes on.
 */
export interface RoundFollower {
  roundCompleted(tx: Executor, round: StoredRound, outcome: RoundOutcome): Promise<string | null>
  roundFailed(tx: Executor, round: StoredRound, reason: string): Promise<string | null>
}

const NOT_DELIVERED = { reason: 'Had not delivered when the round closed.', missed: true } as const

/** How rounds end: what else must happen in the same transaction. */
export const createRoundEndings = (parts: {
  readonly store: RoundsStore
  readonly participants: ParticipantsStore
  readonly ledger: PrivacyLedger
  /** Makes a federation's result readable to its members. */
  readonly sharing: { shareResult(tx: Executor, federationId: string, modelId: string): Promise<void> }
  readonly follower: RoundFollower
  readonly now: () => Date
}) => {
  const { store, participants, ledger, sharing, follower, now } = parts
  /** Ends the part of everybody who still trains in the round: its job has ended. */
  const dismiss = (tx: Executor, roundId: string, reason: string): Promise<number> =>
    participants.failTheRest(tx, roundId, { reason, missed: false }, now())

  const isBooked = (round: StoredRound) => round.privacy !== null && round.federationId !== null

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
    },

    /** After the round's row has been completed. */
    async completed(tx: Executor, round: StoredRound, outcome: Omit<RoundOutcome, 'losses'>): Promise<void> {
      if (isBooked(round)) await ledger.settle(tx, round.id)
      if (round.federationId !== null) await sharing.shareResult(tx, round.federationId, outcome.modelId)
      if (round.jobId === null) return
      const losses = await store.lossesOf(tx, round.jobId)
      const ended = await follower.roundCompleted(tx, round, { ...outcome, losses })
      if (ended !== null && round.plan.asynchronous) await dismiss(tx, round.id, ended)
    },

    /**
     * Fails the locked round. Those who still train are told `told`; not so in an asynchronous job, which goes on with them
     * and dismisses them when it ends itself.
     */
    async fail(
      tx: Executor,
      round: StoredRound,
      why: {
        readonly event: 'time_out' | 'fail'
        readonly reason: string
        readonly told: string
        /** Somebody has ended it: that says nothing about the job, which goes on. */
        readonly cancelled?: true
      },
    ): Promise<void> {
      const failed = round.plan.asynchronous
        ? round.failedDevices
        : await participants.failTheRest(
            tx,
            round.id,
            { reason: why.told, missed: why.event === 'time_out' && round.privacy === null },
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
      // That it failed may tell something of who was drawn and what was delivered.
      if (isBooked(round)) await ledger.settle(tx, round.id)
      if (round.jobId === null || why.cancelled) return
      const ended = await follower.roundFailed(tx, round, why.reason)
      if (ended !== null && round.plan.asynchronous) await dismiss(tx, round.id, ended)
    },

    dismiss,
  }
}

export type RoundEndings = ReturnType<typeof createRoundEndings>
