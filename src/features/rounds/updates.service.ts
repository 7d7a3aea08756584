import { LRUCache } from 'lru-cache'
import type { AggregationWorkers } from '../../aggregation/worker-pool.ts'
import type { BlobStore, StagedBlob } from '../../blobs/blob-store.ts'
import type { Database } from '../../db/open.ts'
import type { Caller } from '../../domain/access.ts'
import { badRequest, conflict, notFound, ServiceError } from '../../domain/errors.ts'
import { dueEvent, nextStatus } from '../../domain/round.ts'
import type { Layout } from '../../tensors/layout.ts'
import type { ObservationsService } from '../experiments/observations.service.ts'
import type { FilesService } from '../files/files.service.ts'
import type { ParticipantsStore, StoredUpdate } from './participants.store.ts'

export type { StoredUpdate } from './participants.store.ts'

import { type RoundsService, requireParticipant, type StoredRound } from './rounds.service.ts'
import type { RoundsStore } from './rounds.store.ts'

export interface UpdateReport {
  readonly numSamples: number
  readonly localLoss: number | undefined
  readonly localAccuracy: number | undefined
  readonly trainingTimeSeconds: number | undefined
}

/** What devices bring back to a round: their updates, or the reason why there is none. */
export const createUpdatesService = (parts: {
  readonly database: Database
  readonly store: RoundsStore
  readonly participants: ParticipantsStore
  readonly rounds: RoundsService
  readonly files: FilesService
  readonly blobs: BlobStore
  readonly workers: Pick<AggregationWorkers, 'inspect'>
  readonly observations: Pick<ObservationsService, 'observeUpdate'>
  /** Called when a round has closed its doors, so that its aggregation need not wait for a timer. */
  readonly collected: () => void
  readonly now: () => Date
  readonly newId: () => string
}) => {
  const { database, store, participants, rounds, files, blobs, workers, observations, collected, now, newId } = parts
  const layouts = new LRUCache<string, { layout: Layout | null }>({ max: 16 })

  /** The tensors an update must have: those of the distributed model, where we can read it; null takes any bytes. */
  const expectedLayout = async (round: StoredRound): Promise<Layout | null> => {
    if (round.globalSha256 === null) return null
    const known = layouts.get(round.globalSha256)
    if (known !== undefined) return known.layout
    const path = await blobs.localPath(round.globalSha256)
    const layout = await workers.inspect(path, { expected: null }).then(
      (seen) => seen.layout,
      (error: unknown) => {
        if (error instanceof ServiceError && error.code === 'bad_request') return null
        throw error
      },
    )
    layouts.set(round.globalSha256, { layout })
    return layout
  }

  const requireOpen = async (round: StoredRound, deviceId: string | null): Promise<string> => {
    if (deviceId === null) {
      throw conflict('This key belongs to no device, so it is not a participant of the round. Use the key of a device.')
    }
    const part = await participants.find(database.sql, round.id, deviceId)
    if (part?.state === 'delivered') throw await alreadyDelivered(round.id, deviceId)
    if (round.status !== 'active') {
      throw conflict(`The round is ${round.status}; updates are accepted only while it is active.`)
    }
    if (requireParticipant(part, round).state === 'failed') {
      throw conflict(`This device has failed in this round already: ${part?.failureReason ?? 'no reason given'}.`)
    }
    return deviceId
  }

  const alreadyDelivered = async (roundId: string, deviceId: string): Promise<ServiceError> => {
    const kept = await participants.findUpdate(database.sql, roundId, deviceId)
    return conflict(`This device has submitted already; its update ${kept?.id ?? ''} was kept. Nothing is lost.`)
  }

  return {
    /** Refuses early, before a file is read: the round must exist, be active, and await this device. */
    async admit(caller: Caller, roundId: string): Promise<StoredRound> {
      const round = await rounds.get(caller, roundId)
      await requireOpen(round, caller.deviceId)
      return round
    },

    /** Checks a staged file against the round's layout, keeps it and counts it; the last one closes the doors. */
    async submit(
      caller: Caller,
      admitted: StoredRound,
      staged: StagedBlob,
      report: UpdateReport,
    ): Promise<StoredUpdate> {
      if (staged.size === 0) throw badRequest('file is empty: an update needs weights.')
      await workers.inspect(staged.path, { expected: await expectedLayout(admitted) })
      await files.keep(staged)
      const { update, closed } = await database.transaction(async (tx) => {
        const round = await store.lock(tx, admitted.id)
        if (round === null) throw notFound('Round', admitted.id)
        const part = caller.deviceId === null ? null : await participants.find(tx, round.id, caller.deviceId)
        if (part?.state !== 'selected' || round.status !== 'active' || dueEvent(round, now()) !== null) return refused()
        const accepted: StoredUpdate = {
          id: newId(),
          roundId: round.id,
          deviceId: caller.deviceId!,
          sha256: staged.sha256,
          fileHash: staged.sha256,
          size: staged.size,
          numSamples: report.numSamples,
          localLoss: report.localLoss ?? null,
          localAccuracy: report.localAccuracy ?? null,
          trainingTimeSeconds: report.trainingTimeSeconds ?? null,
          createdAt: now(),
        }
        await participants.insertUpdate(tx, accepted)
        await participants.report(
          tx,
          { roundId: round.id, deviceId: accepted.deviceId, state: 'delivered', reason: null },
          now(),
        )
        if (round.globalModelId !== null && round.globalModelVersion !== null) {
          await observations.observeUpdate(tx, {
            deviceId: accepted.deviceId,
            modelId: round.globalModelId,
            version: round.globalModelVersion,
            accuracy: accepted.localAccuracy,
            loss: accepted.localLoss,
          })
        }
        return { update: accepted, closed: await count(tx, round, part.fetchedAt === null) }
      })
      if (update === null) {
        await rounds.tick()
        await requireOpen(await rounds.get(caller, admitted.id), caller.deviceId)
        throw conflict('The round changed while the update arrived. Look at its status before trying again.')
      }
      if (closed) collected()
      return update
    },

    /** A participant gives up, with a reason; the round stops waiting for it, and its place is free again. */
    async fail(caller: Caller, roundId: string, reason: string): Promise<StoredRound> {
      const admitted = await rounds.get(caller, roundId)
      const deviceId = await requireOpen(admitted, caller.deviceId)
      const closed = await database.transaction(async (tx) => {
        const round = await store.lock(tx, roundId)
        const part = await participants.find(tx, roundId, deviceId)
        if (round?.status !== 'active' || part?.state !== 'selected') return false
        await participants.report(tx, { roundId, deviceId, state: 'failed', reason }, now())
        const changed = {
          ...round,
          takingPart: round.takingPart - 1,
          failedDevices: round.failedDevices + 1,
        }
        await store.update(tx, roundId, { taking_part: changed.takingPart, failed_devices: changed.failedDevices })
        return dueEvent(changed, now()) === 'collect'
      })
      if (closed) {
        await rounds.tick()
        collected()
      }
      rounds.changes.fire()
      return rounds.get(caller, roundId)
    },
  }

  /** Counts an accepted update; true when it was the last one the round waited for. */
  async function count(tx: Database['sql'], round: StoredRound, newcomer: boolean): Promise<boolean> {
    const completedDevices = round.completedDevices + 1
    const quorumAt = round.quorumAt ?? (completedDevices >= round.minDevices ? now() : null)
    const closes = dueEvent({ ...round, completedDevices, quorumAt }, now()) === 'collect'
    await store.update(tx, round.id, {
      completed_devices: completedDevices,
      participated_devices: round.participatedDevices + (newcomer ? 1 : 0),
      ...(quorumAt === null ? {} : { quorum_at: quorumAt }),
      ...(closes ? { status: nextStatus(round.status, 'collect') } : {}),
    })
    return closes
  }
}

const refused = () => ({ update: null, closed: false }) as const

export type UpdatesService = ReturnType<typeof createUpdatesService>
