import type { Caller } from '../../../domain/access.ts'
import type { Executor } from '../../../platform/db/open.ts'
import {
  closeStep,
  failRound,
  isOpen,
  isStepOver,
  type Missing,
  type OpenStatus,
} from '../../../secure-aggregation/server-round.ts'
import type { Context } from '../../context.ts'
import { type Step, type StoredSecureRound, secureRoundsStore } from './secure-rounds.store.ts'
import { deadlineOf } from './secure-steps.service.ts'

export const STEP_OF: Readonly<Record<OpenStatus, Step>> = {
  advertising: 'keys',
  sharing: 'shares',
  masking: 'masked',
  unmasking: 'unmask',
}

/** The properties of a round that secure aggregation needs. */
export interface Round {
  readonly status: string
  readonly failureReason: string | null
  readonly takingPart: number
  /** With over-selection, after how many updates the round closes; null: after those of all. */
  readonly wantedUpdates: number | null
  readonly createdAt: Date
  readonly startedAt: Date | null
  readonly timeoutAt: Date
}

/** How secure rounds act on the rounds that they belong to. */
export interface RoundControl<R extends Round> {
  /** @throws not_found if the caller cannot see such a round */
  readonly get: (caller: Caller, id: string) => Promise<R>
  /** The round, locked until the transaction ends. */
  readonly lock: (tx: Executor, id: string) => Promise<R | null>
  readonly collect: (tx: Executor, round: R) => Promise<void>
  readonly fail: (tx: Executor, round: R, reason: string) => Promise<void>
}

/** Moves secure rounds from step to step, and collects or fails their rounds at the end. */
export const createSecureProgress = <R extends Round>(
  { database, changes, now }: Context,
  { roundControl }: { readonly roundControl: RoundControl<R> },
) => {
  /** The devices of the current step that continue, and how many others it still waits for, or have failed. */
  const stateOf = async (tx: Executor, secure: StoredSecureRound & { status: OpenStatus }, round: Round) => {
    const answered = await secureRoundsStore.answered(tx, secure.roundId, STEP_OF[secure.status])
    const failed = await secureRoundsStore.failed(tx, secure.roundId)
    // Until the updates are masked, a device that has failed is left out; later, what it has sent still counts.
    const leavesOut = secure.status === 'advertising' || secure.status === 'sharing'
    const continuing = [...answered].filter((device) => !leavesOut || !failed.has(device))
    const { cohort, settings } = secure
    const left =
      cohort === null
        ? Math.max(settings.threshold, round.takingPart) - continuing.length
        : cohort.filter((device) => !failed.has(device) && !answered.has(device)).length
    const isEnough = secure.status === 'masking' && round.wantedUpdates !== null
    const wanted = isEnough ? Math.max(settings.threshold, round.wantedUpdates) - continuing.length : left
    const awaited = Math.min(left, wanted)
    const failures = cohort === null ? failed.size : cohort.filter((device) => failed.has(device)).length
    return { continuing, awaited: Math.max(0, awaited), failed: failures }
  }

  const closed = (
    secure: StoredSecureRound,
    continuing: readonly string[],
    missing: Missing,
    round: Round,
  ): StoredSecureRound => {
    const next = closeStep(secure, continuing, missing)
    return { ...secure, ...next, deadlineAt: isOpen(next.status) ? deadlineIn(next.status, round) : secure.deadlineAt }
  }

  /** Ends the current step if it is over; true if something changed. */
  const advance = (roundId: string): Promise<boolean> =>
    database.transaction(async (tx) => {
      const round = await roundControl.lock(tx, roundId)
      const secure = await secureRoundsStore.lock(tx, roundId)
      if (round === null || secure === null || !isOpen(secure.status)) return false
      if (round.status !== 'active') {
        const reason = round.failureReason ?? `The round is ${round.status}.`
        await secureRoundsStore.update(tx, { ...secure, ...failRound(secure, reason) })
        return true
      }
      const { continuing, awaited, failed } = await stateOf(tx, { ...secure, status: secure.status }, round)
      const past = now().getTime() >= secure.deadlineAt.getTime()
      if (!isStepOver(secure, continuing.length, continuing.length + awaited, past)) return false
      const next = closed(secure, continuing, { failed, late: awaited > 0 }, round)
      await secureRoundsStore.update(tx, next)
      if (next.status === 'failed') {
        await roundControl.fail(tx, round, next.reason!)
      }
      if (next.status === 'done') await roundControl.collect(tx, round)
      return true
    })

  /** Advances as far as possible: a jump of the clock may end several steps. */
  const settle = async (roundId: string): Promise<void> => {
    let moved = false
    while (await advance(roundId)) moved = true
    if (moved) changes.notify('rounds')
  }

  return { settle }
}

const deadlineIn = (status: OpenStatus, round: Round): Date =>
  deadlineOf(status, { startedAt: round.startedAt ?? round.createdAt, timeoutAt: round.timeoutAt })
