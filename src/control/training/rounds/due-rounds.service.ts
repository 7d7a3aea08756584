import { describeFailures, dueEvent } from '../../../domain/round.ts'
import type { Database } from '../../../platform/db/open.ts'
import { unaudited } from '../../audit-note.ts'
import type { AbsentDevicesStore } from './absent-devices.store.ts'
import type { RoundEndings } from './round-endings.service.ts'
import type { RoundReviews } from './round-reviews.service.ts'
import type { RoundsStore, StoredRound } from './rounds.store.ts'

/** What the clock demands of rounds. */
export const createDueRounds = (parts: {
  readonly database: Database
  readonly store: RoundsStore
  readonly endings: RoundEndings
  readonly reviews: RoundReviews
  readonly absent: Pick<AbsentDevicesStore, 'failures'>
  readonly now: () => Date
}) => {
  const { database, store, endings, reviews, absent, now } = parts

  /** Moves every due round on. Called by a timer and before reads, so that what is read never lags the clock. */
  const tick = async (): Promise<void> => {
    if (!(await store.isAnyDue(database.sql, now()))) return
    await unaudited(() =>
      database.transaction(async (tx) => {
        for (const round of await store.lockDue(tx, now())) await moveOn(tx, round)
      }),
    )
  }

  const moveOn = (tx: Database['sql'], round: StoredRound): Promise<void> => {
    switch (dueEvent(round, now())) {
      case 'collect':
        return endings.collect(tx, round)
      case 'time_out':
        return timeOut(tx, round)
      case null:
        return reviews.review(tx, round)
    }
  }

  const timeOut = async (tx: Database['sql'], round: StoredRound): Promise<void> => {
    const failures = round.privacy === null ? await absent.failures(tx, round.id) : null
    const parts = [
      `${endedEarly(round) ? 'All devices have reported' : `Timed out after ${lasted(round)} s`}: ` +
        `${round.completedDevices} of at least ${round.minDevices} updates had arrived.`,
      ...(round.plan.secure === undefined ? [] : ['No update was revealed.']),
      ...(failures === null || failures.failed === 0 ? [] : [`${describeFailures(failures)}.`]),
    ]
    const reported = 'Had not submitted an update when the round timed out.'
    await endings.fail(tx, round, { event: 'time_out', reason: parts.join(' '), reported })
  }

  const isDue = (round: StoredRound): boolean =>
    round.status === 'active' &&
    (dueEvent(round, now()) !== null || (round.reviewAt !== null && round.reviewAt.getTime() <= now().getTime()))

  return { tick, isDue }
}

/** A private round whose devices have all reported has nobody to wait for. */
const endedEarly = ({ closesAt, completedDevices, takingPart }: StoredRound): boolean =>
  closesAt !== null && completedDevices >= takingPart

const lasted = ({ closesAt, startedAt, timeoutSeconds }: StoredRound): number =>
  closesAt === null || startedAt === null ? timeoutSeconds : (closesAt.getTime() - startedAt.getTime()) / 1000

export type DueRounds = ReturnType<typeof createDueRounds>
