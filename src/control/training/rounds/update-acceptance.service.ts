import { dueEvent, lacksDevices } from '../../../domain/round.ts'
import { createBatcher } from '../../../platform/db/batch.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { Context } from '../../context.ts'
import type { ObservationsService } from '../../delivery/experiments/observations.service.ts'
import type { SecureSteps } from '../secure-rounds/secure-steps.service.ts'
import { type Participant, participantsStore } from './participants.store.ts'
import { factsOf, type RoundEndings } from './round-endings.service.ts'
import { roundsStore, type StoredRound } from './rounds.store.ts'
import { type StoredUpdate, updatesStore } from './updates.store.ts'

/** What a device reports about its training, with its update. */
export type UpdateReport = Pick<
  StoredUpdate,
  'numSamples' | 'localLoss' | 'localAccuracy' | 'trainingTimeSeconds' | 'metrics' | 'evaluation'
>

/** An update whose files are checked and stored. */
interface Arrival extends UpdateReport {
  /** The round that the update was submitted to. It may have been trained from the model of an earlier round of its job. */
  readonly admitted: StoredRound
  readonly deviceId: string
  readonly sha256: string
  readonly size: number
  readonly rawVector: boolean
  readonly controlSha256: string | null
}

interface Accepted {
  readonly update: StoredUpdate
  /** The round whose model it was trained from. */
  readonly base: StoredRound
}

/** A locked round, changing as updates are counted for it. */
interface Tally {
  round: StoredRound
  closed: boolean
}

const MAX_BATCH = 500

/**
 * Counts updates for open rounds. A round's devices arrive all at once: updates that arrive while others are being counted
 * wait, then share one transaction, with the same result as if they had arrived one by one.
 */
export const createUpdateAcceptance = (
  { database, events, now, newId }: Context,
  {
    endings,
    secure,
    observations,
  }: {
    readonly endings: RoundEndings
    readonly secure: Pick<SecureSteps, 'acceptMasked'>
    readonly observations: Pick<ObservationsService, 'observeUpdate'>
  },
) => {
  /** Locks the rounds that the updates count for; in an asynchronous job, perhaps later ones than they began from. */
  const lockRounds = async (tx: Executor, arrivals: readonly Arrival[]): Promise<Map<string, Tally>> => {
    const moving = arrivals.filter(({ admitted }) => admitted.plan.asynchronous)
    const taken = await participantsStore.findAll(tx, moving.map(keyOf))
    const roundIds = new Set(taken.flatMap((part) => (part === null ? [] : [part.roundId])))
    for (const { admitted } of arrivals) if (!admitted.plan.asynchronous) roundIds.add(admitted.id)
    const locked = await roundsStore.lockAll(tx, [...roundIds])
    return new Map(locked.map((round) => [round.id, { round, closed: false }]))
  }

  /** The earlier rounds whose models devices train from. */
  const basesOf = async (
    tx: Executor,
    found: readonly (Participant | null)[],
  ): Promise<ReadonlyMap<string, StoredRound>> => {
    const ids = new Set(found.flatMap((part) => part?.baseRoundId ?? []))
    const rounds = ids.size === 0 ? [] : await roundsStore.findAll(tx, [...ids])
    return new Map(rounds.map((round) => [round.id, round]))
  }

  const acceptAll = async (tx: Executor, arrivals: readonly Arrival[]): Promise<(StoredUpdate | null)[]> => {
    const tallies = await lockRounds(tx, arrivals)
    const accepted = new Map<string, Accepted>()
    const found = await participantsStore.findAll(tx, arrivals.map(keyOf))
    const bases = await basesOf(tx, found)
    const acceptances: (StoredUpdate | null)[] = []
    for (const [index, arrival] of arrivals.entries()) {
      const part = found[index]!
      const isWelcome = part?.state === 'selected' || part?.state === 'absent'
      const tally = isWelcome ? tallies.get(part.roundId) : undefined
      const key = `${part?.roundId} ${arrival.deviceId}`
      const isOpen = tally?.round.status === 'active' && dueEvent(tally.round, now()) === null && !accepted.has(key)
      if (part === null || tally === undefined || !isOpen) {
        acceptances.push(null)
        continue
      }
      const { round } = tally
      if (round.plan.secure !== undefined) await secure.acceptMasked(tx, round.id, arrival.deviceId)
      const base = part.baseRoundId === null ? round : bases.get(part.baseRoundId)!
      const update = updateOf(arrival, round, base)
      accepted.set(key, { base, update })
      tally.round = withOneMore(round, part, now())
      tally.closed = dueEvent(tally.round, now()) === 'collect'
      acceptances.push(update)
    }
    if (accepted.size > 0) await write(tx, [...accepted.values()], [...tallies.values()])
    return acceptances
  }

  const write = async (tx: Executor, accepted: readonly Accepted[], tallies: readonly Tally[]): Promise<void> => {
    const kept = accepted.map(({ update }) => update)
    const counting = new Set(kept.map(({ roundId }) => roundId))
    const counted = tallies.filter(({ round }) => counting.has(round.id))
    await updatesStore.recordAll(
      tx,
      kept,
      counted.map(({ round }) => round),
    )
    for (const one of accepted) await observe(tx, one)
    await events.publish(tx, 'updates.accepted', { rounds: counted.map(({ round }) => factsOf(round)) })
    for (const { round, closed } of counted) {
      if (closed) await endings.collect(tx, round)
      else if (round.plan.asynchronous) await freePlaces(tx, round)
    }
  }

  /** Offers the places of devices that have delivered to other devices; a review checks whether there are any. */
  const freePlaces = async (tx: Executor, round: StoredRound): Promise<void> => {
    await events.publish(tx, 'round.places_freed', { id: round.id })
    if (lacksDevices(round)) await roundsStore.update(tx, round.id, { review_at: now() })
  }

  const updateOf = (arrival: Arrival, round: StoredRound, base: StoredRound): StoredUpdate => {
    const { admitted: _, sha256, ...reported } = arrival
    return {
      ...reported,
      id: newId(),
      roundId: round.id,
      sha256,
      fileHash: sha256,
      createdAt: now(),
      baseRoundId: base.id === round.id ? null : base.id,
      staleness: round.plan.asynchronous ? (round.plan.step ?? 0) - (base.plan.step ?? 0) : null,
    }
  }

  const observe = async (tx: Executor, { base, update }: Accepted): Promise<void> => {
    // The privacy budget does not cover what experiments show about a device's model.
    if (base.privacy !== null || base.globalModelId === null || base.globalModelVersion === null) return
    await observations.observeUpdate(tx, {
      deviceId: update.deviceId,
      modelId: base.globalModelId,
      version: base.globalModelVersion,
      accuracy: update.localAccuracy,
      loss: update.localLoss,
    })
  }

  return {
    /** Returns the update as it was counted; null if no round is open for it now. */
    accept: createBatcher<Arrival, StoredUpdate | null>({
      maxBatch: MAX_BATCH,
      run: (arrivals) => database.transaction((tx) => acceptAll(tx, arrivals)),
    }),
  }
}

const keyOf = ({ admitted, deviceId }: Arrival) => ({ roundId: admitted.id, deviceId })

/** The round with one more update. */
const withOneMore = (round: StoredRound, part: Participant, now: Date): StoredRound => {
  const completedDevices = round.completedDevices + 1
  const participatedDevices = round.participatedDevices + (part.fetchedAt === null ? 1 : 0)
  // The place of an absent device may have gone to another; its update counts all the same.
  const takingPart = round.takingPart + (part.state === 'absent' ? 1 : 0)
  const counted = { ...round, completedDevices, participatedDevices, takingPart }
  // A secure round closes when its masks can be removed, not before.
  if (round.plan.secure !== undefined) return { ...counted, quorumAt: null }
  return { ...counted, quorumAt: round.quorumAt ?? (completedDevices >= round.minDevices ? now : null) }
}

export type UpdateAcceptance = ReturnType<typeof createUpdateAcceptance>
