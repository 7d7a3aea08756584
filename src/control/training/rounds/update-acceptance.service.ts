import { dueEvent } from '../../../domain/round.ts'
import { createBatcher } from '../../../platform/db/batch.ts'
import type { Database, Executor } from '../../../platform/db/open.ts'
import type { ObservationsService } from '../../delivery/experiments/observations.service.ts'
import type { ControlEventBus } from '../../events.ts'
import type { SecureSteps } from '../secure-rounds/secure-steps.service.ts'
import type { Participant, ParticipantsStore } from './participants.store.ts'
import { factsOf, type RoundEndings } from './round-endings.service.ts'
import type { RoundsStore, StoredRound } from './rounds.store.ts'
import type { StoredUpdate, UpdatesStore } from './updates.store.ts'

/** What a device reports of its training, with its update. */
export type UpdateReport = Pick<
  StoredUpdate,
  'numSamples' | 'localLoss' | 'localAccuracy' | 'trainingTimeSeconds' | 'metrics' | 'evaluation'
>

/** An update whose files are checked and kept. */
interface Arrival extends UpdateReport {
  /** The round whose model it was trained from. */
  readonly admitted: StoredRound
  readonly deviceId: string
  readonly sha256: string
  readonly size: number
  readonly rawVector: boolean
  readonly controlSha256: string | null
}

/** A locked round as it is while updates are counted for it. */
interface Tally {
  round: StoredRound
  closed: boolean
}

const MAX_BATCH = 500

/**
 * Counts updates for the rounds that are open for them. A round's devices come all at once: those that arrive while others
 * are being counted wait, and then share one transaction, as if each had come alone and in turn.
 */
export const createUpdateAcceptance = (parts: {
  readonly database: Database
  readonly store: RoundsStore
  readonly participants: ParticipantsStore
  readonly updates: UpdatesStore
  readonly endings: RoundEndings
  readonly secure: Pick<SecureSteps, 'acceptMasked'>
  readonly observations: Pick<ObservationsService, 'observeUpdate'>
  readonly events: Pick<ControlEventBus, 'publish'>
  readonly now: () => Date
  readonly newId: () => string
}) => {
  const { database, store, participants, updates, endings, secure, observations, events, now, newId } = parts

  /** The rounds that the updates count for, locked: of an asynchronous job perhaps a later one than they began from. */
  const lockRounds = async (tx: Executor, arrivals: readonly Arrival[]): Promise<Map<string, Tally>> => {
    const moving = arrivals.filter(({ admitted }) => admitted.plan.asynchronous)
    const taken = await participants.findAll(tx, moving.map(keyOf))
    const roundIds = new Set(taken.flatMap((part) => (part === null ? [] : [part.roundId])))
    for (const { admitted } of arrivals) if (!admitted.plan.asynchronous) roundIds.add(admitted.id)
    const locked = await store.lockAll(tx, [...roundIds])
    return new Map(locked.map((round) => [round.id, { round, closed: false }]))
  }

  const acceptAll = async (tx: Executor, arrivals: readonly Arrival[]): Promise<(StoredUpdate | null)[]> => {
    const tallies = await lockRounds(tx, arrivals)
    const accepted = new Map<string, { arrival: Arrival; update: StoredUpdate }>()
    const found = await participants.findAll(tx, arrivals.map(keyOf))
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
      const update = updateOf(arrival, round, part.baseRoundId)
      accepted.set(key, { arrival, update })
      tally.round = withOneMore(round, part, now())
      tally.closed = dueEvent(tally.round, now()) === 'collect'
      acceptances.push(update)
    }
    if (accepted.size > 0) await write(tx, [...accepted.values()], [...tallies.values()])
    return acceptances
  }

  const write = async (
    tx: Executor,
    accepted: readonly { readonly arrival: Arrival; readonly update: StoredUpdate }[],
    tallies: readonly Tally[],
  ): Promise<void> => {
    const kept = accepted.map(({ update }) => update)
    const counting = new Set(kept.map(({ roundId }) => roundId))
    const counted = tallies.filter(({ round }) => counting.has(round.id))
    await updates.insertAll(
      tx,
      kept,
      counted.map(({ round }) => round),
    )
    for (const { arrival, update } of accepted) await observe(tx, arrival, update)
    await events.publish(tx, 'updates.accepted', { rounds: counted.map(({ round }) => factsOf(round)) })
    for (const { round, closed } of counted) if (closed) await endings.collect(tx, round)
  }

  const updateOf = (arrival: Arrival, round: StoredRound, baseRoundId: string | null): StoredUpdate => {
    const { admitted, sha256, ...reported } = arrival
    return {
      ...reported,
      id: newId(),
      roundId: round.id,
      sha256,
      fileHash: sha256,
      createdAt: now(),
      baseRoundId,
      staleness: round.plan.asynchronous ? (round.plan.step ?? 0) - (admitted.plan.step ?? 0) : null,
    }
  }

  const observe = async (tx: Executor, { admitted }: Arrival, update: StoredUpdate): Promise<void> => {
    // What experiments show of a device's model is covered by no budget.
    if (admitted.privacy !== null || admitted.globalModelId === null || admitted.globalModelVersion === null) return
    await observations.observeUpdate(tx, {
      deviceId: update.deviceId,
      modelId: admitted.globalModelId,
      version: admitted.globalModelVersion,
      accuracy: update.localAccuracy,
      loss: update.localLoss,
    })
  }

  return {
    /** The update as it was counted; null: no round is open for it now. */
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
  // The place of a device that was given up may have gone to another; its update counts all the same.
  const takingPart = round.takingPart + (part.state === 'absent' ? 1 : 0)
  const counted = { ...round, completedDevices, participatedDevices, takingPart }
  // A secure round closes when its masks can be taken away, not before.
  if (round.plan.secure !== undefined) return { ...counted, quorumAt: null }
  return { ...counted, quorumAt: round.quorumAt ?? (completedDevices >= round.minDevices ? now : null) }
}

export type UpdateAcceptance = ReturnType<typeof createUpdateAcceptance>
