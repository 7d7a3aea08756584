import { describeFailures, dueEvent } from '../../../domain/round.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { ControlEventBus } from '../../events.ts'
import type { SelectionStore } from '../../fleet/selection/private-draws.service.ts'
import type { AbsentDevicesStore } from './absent-devices.store.ts'
import { mayYetJoin } from './participants.store.ts'
import type { RoundEndings } from './round-endings.service.ts'
import type { RoundReach } from './round-reach.service.ts'
import type { RoundsStore, StoredRound } from './rounds.store.ts'

/** While a round lacks devices that may yet come, it is looked at so often. */
const LOOK_AGAIN_MS = 2000
const MIN_MS = 1000

/**
 * Looks after active rounds: gives the places of devices that do not come to others, and ends a round that can no longer
 * reach min_devices. What a review decides on is in rows, so any process may do it, at any time, more than once. Private
 * rounds are left alone: who takes part in them is settled by the draw.
 */
export const createRoundReviews = (parts: {
  readonly store: RoundsStore
  readonly absent: AbsentDevicesStore
  readonly selection: Pick<SelectionStore, 'countExpected'>
  readonly endings: Pick<RoundEndings, 'collect' | 'fail'>
  readonly scopeOf: RoundReach['scopeOf']
  readonly events: Pick<ControlEventBus, 'publish'>
  readonly now: () => Date
}) => {
  const { store, absent, selection, endings, scopeOf, events, now } = parts

  const takesNewcomers = async (tx: Executor, round: StoredRound): Promise<boolean> =>
    round.plan.secure === undefined || absent.isAdvertising(tx, round.id)

  /** How many devices are missing that nobody can be expected to replace. */
  const isHopeless = async (tx: Executor, round: StoredRound): Promise<boolean> => {
    if (!(await takesNewcomers(tx, round))) return true
    const needed = round.minDevices - round.takingPart
    const scope = await scopeOf(tx, round)
    const coming = await selection.countExpected(tx, scope, {
      condition: mayYetJoin(round.id),
      now: now(),
      enough: needed,
    })
    return coming < needed
  }

  const giveUp = async (tx: Executor, round: StoredRound): Promise<void> => {
    const failures = await absent.failures(tx, round.id)
    const reason = describeFailures(failures)
    const enough = failures.failed === failures.selected ? '' : `. At least ${round.minDevices} updates were needed`
    const reported = `The round could no longer be completed: ${reason}.`
    await endings.fail(tx, round, { event: 'fail', reason: `${reason}${enough}`, reported })
  }

  return {
    /** Looks at the locked round as it is now, and writes down what has changed besides. */
    async review(tx: Executor, round: StoredRound): Promise<void> {
      if (round.status !== 'active' || round.privacy !== null) return
      const given = await absent.giveUp(tx, round, now())
      const reviewed = { ...round, takingPart: round.takingPart - given }
      await store.update(tx, round.id, { taking_part: reviewed.takingPart })
      if (dueEvent(reviewed, now()) === 'collect') {
        return endings.collect(tx, reviewed)
      }
      // Devices may yet come to a round that never had enough of them.
      const lacks = reviewed.takingPart < round.minDevices && (await absent.countLive(tx, round.id)) >= round.minDevices
      if (lacks && (await isHopeless(tx, reviewed))) return giveUp(tx, reviewed)
      const turnEnds = (await absent.nextTurnEnds(tx, round))?.getTime() ?? round.timeoutAt.getTime()
      const next = Math.min(turnEnds, lacks ? now().getTime() + LOOK_AGAIN_MS : round.timeoutAt.getTime())
      await store.update(tx, round.id, { review_at: new Date(Math.max(next, now().getTime() + MIN_MS)) })
      if (given > 0) await events.publish(tx, 'round.places_freed', { id: round.id })
    },
  }
}

export type RoundReviews = ReturnType<typeof createRoundReviews>
