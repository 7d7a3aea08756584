import { countedForOthers, NOT_DELIVERED_IN_TIME, NOT_RUNNING, notCompleted } from '../../../domain/failure-reasons.ts'
import { plural } from '../../../domain/plural.ts'
import {
  ALL_REPORTED,
  describeFailures,
  dueEvent,
  lacksDevices,
  neededUpdates,
  TIMED_OUT,
} from '../../../domain/round.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { unaudited } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import { selectionStore } from '../../fleet/selection/selection.service.ts'
import { absentDevicesStore, canStillJoin, type Failures, MAX_GIVEN_UP } from './absent-devices.store.ts'
import type { ParticipantScopes } from './participant-scope.service.ts'
import type { RoundEndings } from './round-endings.service.ts'
import { roundTimesStore } from './round-times.store.ts'
import { roundsStore, type StoredRound } from './rounds.store.ts'

/** How often a round is reviewed while it lacks devices that may still arrive. */
const LOOK_AGAIN_MS = 2000
/** How often a round is reviewed while devices train that have sent no heartbeats yet; a tenth of the timeout if that is longer. */
const TRAINING_MS = 20_000
const MIN_MS = 1000
/** Sorts before all other ids. */
const FIRST_ID = '00000000-0000-0000-0000-000000000000'

interface Parts {
  readonly endings: Pick<RoundEndings, 'collect' | 'fail' | 'wasStopped'>
  readonly scopes: Pick<ParticipantScopes, 'scopeOf'>
}

/** All members see a federation's round, but they should not see what other organizations' devices wrote about failures. */
const failuresOf = async (tx: Executor, { id, federationId }: StoredRound): Promise<Failures> => {
  const failures = await absentDevicesStore.failures(tx, id)
  return federationId === null ? failures : { ...failures, reasons: countedForOthers(failures.reasons) }
}

/**
 * Reviews active rounds: gives the places of absent devices to others, and ends a round that can no longer be completed.
 * A review depends only on rows, so any process can run it at any time and repeat it. Skips private rounds: their participants
 * are determined by the draw.
 */
const createReview = ({ events, now }: Context, { endings, scopes }: Parts) => {
  let startedAt = now()

  /**
   * Devices of a secure round have their own deadlines. One of an asynchronous round may deliver to a later round, which it could
   * not without its place.
   */
  const withSilence = (round: StoredRound) => {
    // The clock may have been ahead at the start.
    if (now() < startedAt) startedAt = now()
    return { ...round, upSince: round.plan.secure === undefined && !round.plan.asynchronous ? startedAt : null }
  }

  /** True if the round cannot reach the updates that it needs: too few devices can still join it. */
  const isHopeless = async (tx: Executor, round: StoredRound): Promise<boolean> => {
    const needed = neededUpdates(round)
    const cohort = round.plan.secure === undefined ? null : await absentDevicesStore.countCohort(tx, round.id)
    // Includes absent devices whose keys arrived all the same.
    if (cohort !== null) return cohort < needed
    const missing = needed - round.takingPart
    return (await countComing(tx, round, missing)) < missing
  }

  /** How many devices may still join the round; counting stops at `enough`. */
  const countComing = async (tx: Executor, round: StoredRound, enough: number): Promise<number> => {
    const scope = await scopes.scopeOf(tx, round)
    return selectionStore.countExpected(tx, scope, { condition: canStillJoin(round.id), now: now(), enough })
  }

  /** False if every active device has delivered to the round or failed in it. */
  const mayGetAnother = async (tx: Executor, round: StoredRound): Promise<boolean> =>
    (await countComing(tx, round, 1)) > 0

  const giveUp = async (tx: Executor, round: StoredRound): Promise<void> => {
    const failures = await failuresOf(tx, round)
    const reason = describeFailures(failures)
    const enough = failures.failed === failures.selected ? '' : `. At least ${neededUpdates(round)} updates were needed`
    const reported = notCompleted(reason)
    await endings.fail(tx, round, { event: 'fail', reason: `${reason}${enough}`, reported })
  }

  /** Reviews the locked round and stores the changes. */
  return async (tx: Executor, round: StoredRound): Promise<void> => {
    if (round.status !== 'active' || round.privacy !== null) return
    const given = await absentDevicesStore.giveUp(tx, withSilence(round), now())
    const reviewed = { ...round, takingPart: round.takingPart - given }
    await roundsStore.update(tx, round.id, { taking_part: reviewed.takingPart })
    if (dueEvent(reviewed, now()) === 'collect') {
      return endings.collect(tx, reviewed)
    }
    const lacksOthers = lacksDevices(reviewed)
    if (lacksOthers && !(await mayGetAnother(tx, reviewed))) return endings.collect(tx, reviewed)
    // A round that has never had enough devices may still get them.
    const needed = neededUpdates(round)
    // A device without heartbeats may continue when it is started again, or when its network is back (docs/decisions/0031).
    const silent = reviewed.takingPart < needed ? await absentDevicesStore.countSilent(tx, round.id) : 0
    const expected = { ...reviewed, takingPart: reviewed.takingPart + silent }
    const lacks = expected.takingPart < needed && (await absentDevicesStore.countLive(tx, round.id)) >= needed
    if (lacks && (await isHopeless(tx, expected))) return giveUp(tx, reviewed)
    const later = new Date(now().getTime() + Math.max(TRAINING_MS, round.timeoutSeconds * 100))
    const turnEnds = (await absentDevicesStore.nextTurnEnds(tx, withSilence(round), later)) ?? round.timeoutAt
    const next = Math.min(
      turnEnds.getTime(),
      lacks || lacksOthers ? now().getTime() + LOOK_AGAIN_MS : round.timeoutAt.getTime(),
      given === MAX_GIVEN_UP ? now().getTime() : Number.POSITIVE_INFINITY,
    )
    await roundsStore.update(tx, round.id, { review_at: new Date(Math.max(next, now().getTime() + MIN_MS)) })
    if (given > 0) await events.publish(tx, 'round.places_freed', { id: round.id })
  }
}

/** Moves rounds to their next status when they are due. */
export const createDueRounds = (context: Context, parts: Parts) => {
  const { database, now } = context
  const { endings } = parts
  const review = createReview(context, parts)

  const isAny = (): Promise<boolean> => roundsStore.isAnyDue(database.sql, now())

  /** Moves every due round on, each in its own transaction. Called by a timer, and before reads so that they are up to date. */
  const tick = async (): Promise<void> => {
    if (!(await isAny())) return
    const failures: unknown[] = []
    await unaudited(async () => {
      for (let id: string | null = FIRST_ID; id !== null; ) id = await moveOnAfter(id, failures)
    })
    if (failures.length > 0) throw failures[0]
  }

  /** Handles the next due round by id and returns its id; null after the last. Concurrent calls skip each other's rounds. */
  const moveOnAfter = async (id: string, failures: unknown[]): Promise<string | null> => {
    let next: string | null = null
    const moved = database.transaction(async (tx) => {
      const round = await roundsStore.lockDue(tx, now(), id)
      next = round?.id ?? null
      if (round !== null) await moveOn(tx, round)
    })
    await moved.catch((error: unknown) => failures.push(error))
    return next
  }

  const moveOn = (tx: Executor, round: StoredRound): Promise<void> => {
    switch (dueEvent(round, now())) {
      case 'collect':
        return endings.collect(tx, round)
      case 'time_out':
        return timeOut(tx, round)
      case null:
        return review(tx, round)
    }
  }

  const timeOut = async (tx: Executor, round: StoredRound): Promise<void> => {
    const failures = round.privacy === null ? await failuresOf(tx, round) : null
    const isDown = endings.wasStopped(round)
    const parts = [
      `${endedEarly(round) ? ALL_REPORTED : `${TIMED_OUT} after ${lasted(round)} s`}: ` +
        `${round.completedDevices} of at least ${plural(neededUpdates(round), 'update')} had arrived.`,
      ...(isDown ? [NOT_RUNNING] : []),
      ...(round.plan.secure === undefined ? [] : ['No update was revealed.']),
      ...(failures === null || failures.failed === 0 ? [] : [`${describeFailures(failures)}.`]),
    ]
    const reason = parts.join(' ')
    await endings.fail(tx, round, { event: 'time_out', reason, reported: isDown ? NOT_RUNNING : NOT_DELIVERED_IN_TIME })
  }

  const resetTimesAhead = (): Promise<void> => roundTimesStore.resetTimesAhead(database.sql, now())

  return { isAny, tick, review, resetTimesAhead }
}

/** A private round ends early once all of its devices have delivered or failed. */
const endedEarly = ({ closesAt, completedDevices, takingPart }: StoredRound): boolean =>
  closesAt !== null && completedDevices >= takingPart

const lasted = ({ closesAt, startedAt, timeoutSeconds }: StoredRound): number =>
  closesAt === null || startedAt === null ? timeoutSeconds : (closesAt.getTime() - startedAt.getTime()) / 1000

export type DueRounds = ReturnType<typeof createDueRounds>
