import type { Database } from '../../db/open.ts'
import { type Caller, sees } from '../../domain/access.ts'
import { activeSince } from '../../domain/device.ts'
import { badRequest, conflict, forbidden, notFound, ServiceError } from '../../domain/errors.ts'
import { isUuid } from '../../domain/model.ts'
import { dueEvent, nextStatus, requireSizes, stragglerGraceSeconds, TIMEOUT_SECONDS } from '../../domain/round.ts'
import type { Random } from '../../domain/sampling.ts'
import type { DevicesService } from '../devices/devices.service.ts'
import type { ModelsService, StoredVersion } from '../models/models.service.ts'
import type { Participant, ParticipantsStore } from './participants.store.ts'
import type { RoundSignal } from './round-signal.ts'
import { alreadyInProgress, type RoundsStore, type StoredRound } from './rounds.store.ts'

export type { StoredRound } from './rounds.store.ts'

export interface StartRound {
  readonly targetDevices: number
  readonly minDevices: number
  readonly timeoutSeconds: number | undefined
  readonly globalModel: string | undefined
  readonly orgId: string | undefined
  readonly hyperparameters: Readonly<Record<string, unknown>>
}

/** Starting rounds, looking at them, and moving them on when they are due. */
export const createRoundsService = (parts: {
  readonly database: Database
  readonly store: RoundsStore
  readonly participants: ParticipantsStore
  readonly models: ModelsService
  readonly devices: DevicesService
  readonly changes: RoundSignal
  readonly random: Random
  /** Overrides the grace that follows from a round's timeout. */
  readonly graceSeconds: number | null
  readonly now: () => Date
  readonly newId: () => string
}) => {
  const { database, store, participants, models, devices, changes, random, graceSeconds, now, newId } = parts

  /** Moves every due round on. Called by a timer and before reads, so that what is read never lags the clock. */
  const tick = async (): Promise<void> => {
    const moved = await database.transaction(async (tx) => {
      const due = await store.lockDue(tx, now())
      for (const round of due) {
        const event = dueEvent(round, now())
        if (event === 'collect') await collect(tx, round)
        if (event === 'time_out') await timeOut(tx, round)
      }
      return due.length
    })
    if (moved > 0) changes.fire()
  }

  const collect = async (tx: Database['sql'], round: StoredRound): Promise<void> => {
    const reason = 'Had not delivered when the round closed.'
    const failed = await participants.failTheRest(tx, round.id, reason, now())
    await store.update(tx, round.id, { status: nextStatus(round.status, 'collect'), failed_devices: failed })
  }

  const timeOut = async (tx: Database['sql'], round: StoredRound): Promise<void> => {
    const reason = 'Had not delivered when the round timed out.'
    const failed = await participants.failTheRest(tx, round.id, reason, now())
    await store.update(tx, round.id, {
      status: nextStatus(round.status, 'time_out'),
      failed_devices: failed,
      ended_at: now(),
      failure_reason:
        `Timed out after ${round.timeoutSeconds} s: ${round.completedDevices} of at least ` +
        `${round.minDevices} updates had arrived.`,
    })
  }

  const isDue = (round: StoredRound): boolean => round.status === 'active' && dueEvent(round, now()) !== null

  /** The round, brought up to the clock; not_found when the caller may not see it. */
  const get = async (caller: Caller, id: string): Promise<StoredRound> => {
    const find = () => (isUuid(id) ? store.find(database.sql, id) : Promise.resolve(null))
    let round = await find()
    if (round !== null && isDue(round)) {
      await tick()
      round = await find()
    }
    if (round === null || !sees(caller, round.orgId)) throw notFound('Round', id)
    return round
  }

  const globalModelOf = async (
    caller: Caller,
    wanted: StartRound,
    orgId: string | null,
  ): Promise<StoredVersion | null> => {
    if (wanted.globalModel === undefined) return models.latestAggregated(orgId)
    try {
      return (await models.findVersion(caller, wanted.globalModel, 'latest')).version
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'not_found') throw error
      throw badRequest(`global_model_id: ${error.message} Name a model of the catalog that has an uploaded version.`)
    }
  }

  let lastSeen: string | null = null

  return {
    tick,
    get,
    changes,

    /** Notices rounds that another process has started, for the devices that wait for one at this process. */
    async watch(): Promise<void> {
      if (!changes.isAwaited()) return
      const newest = (await store.latest(database.sql, null))?.id ?? null
      if (newest !== lastSeen) changes.fire()
      lastSeen = newest
    },

    async start(caller: Caller, wanted: StartRound): Promise<StoredRound> {
      requireSizes(wanted)
      if (wanted.orgId !== undefined && !sees(caller, wanted.orgId)) {
        throw forbidden(`This key is bound to another organisation than '${wanted.orgId}'.`)
      }
      await tick()
      const orgId = wanted.orgId ?? caller.orgId
      if ((await store.inProgress(database.sql, orgId)) !== null) throw alreadyInProgress()
      const version = await globalModelOf(caller, wanted, orgId)
      const startedAt = now()
      const timeoutSeconds = wanted.timeoutSeconds ?? TIMEOUT_SECONDS.default
      const starter = caller.deviceId
      const round = await database.transaction(async (tx) => {
        const drawn = await store.drawActive(tx, {
          orgId,
          count: wanted.targetDevices - (starter === null ? 0 : 1),
          activeSince: activeSince(startedAt),
          except: starter,
          random,
        })
        const inserted = await store.insert(
          tx,
          {
            id: newId(),
            orgId,
            targetDevices: wanted.targetDevices,
            minDevices: wanted.minDevices,
            timeoutSeconds,
            graceSeconds: graceSeconds ?? stragglerGraceSeconds(timeoutSeconds),
            plan: { strategy: 'fedavg', hyperparameters: wanted.hyperparameters },
            globalModelId: version?.modelId ?? null,
            globalModelVersion: version?.version ?? null,
            globalSha256: version?.sha256 ?? null,
            startedAt,
            timeoutAt: new Date(startedAt.getTime() + timeoutSeconds * 1000),
          },
          drawn.length + (starter === null ? 0 : 1),
        )
        await participants.insertAll(tx, inserted.id, { starter, drawn }, startedAt)
        return inserted
      })
      changes.fire()
      return round
    },

    async current(caller: Caller): Promise<StoredRound> {
      const round = await store.latest(database.sql, caller.orgId)
      if (round === null) throw notFound('Round', 'current')
      return isDue(round) ? get(caller, round.id) : round
    },

    /** The latest round, or null before the first. */
    async latest(caller: Caller): Promise<StoredRound | null> {
      const round = await store.latest(database.sql, caller.orgId)
      return round !== null && isDue(round) ? get(caller, round.id) : round
    },

    async list(caller: Caller, page: { limit: number; offset: number }) {
      await tick()
      return store.list(database.sql, caller.orgId, page)
    },

    /** A free seat in an active round for a device that has none; true when it now takes part. */
    join: (roundId: string, deviceId: string): Promise<boolean> =>
      participants.join(database.sql, roundId, deviceId, now()),

    /** What the round hands out: strategy, hyperparameters, and the model to start from. */
    async plan(caller: Caller, id: string) {
      const round = await get(caller, id)
      return { round, origin: await originOf(round) }
    },

    /** The file of the round's global model; a participant that fetches it is then counted as participating. */
    async modelFile(caller: Caller, id: string, fetches: boolean) {
      const round = await get(caller, id)
      const origin = await originOf(round)
      if (origin === null) throw notFound('A global model of round', id)
      const deviceId = caller.deviceId
      if (fetches && deviceId !== null && round.status === 'active') {
        await database.transaction(async (tx) => {
          const locked = await store.lock(tx, round.id)
          if (!(await participants.markFetched(tx, round.id, deviceId, now()))) return
          await store.update(tx, round.id, { participated_devices: locked!.participatedDevices + 1 })
        })
      }
      return origin
    },

    /** Whether a device takes part in the round, and why or why not. */
    async selection(caller: Caller, id: string, deviceName: string | undefined) {
      const round = await get(caller, id)
      const device = await (deviceName === undefined ? devices.owner(caller) : devices.get(caller, deviceName))
      const part = await participants.find(database.sql, round.id, device.id)
      return { round, device, part, reason: explain(round, part) }
    },
  }

  async function originOf(round: StoredRound) {
    if (round.globalModelId === null || round.globalModelVersion === null) return null
    return models.originOf(round.globalModelId, round.globalModelVersion)
  }
}

const explain = (round: StoredRound, part: Participant | null): string => {
  if (part?.state === 'failed') return part.failureReason ?? 'The device reported a failure.'
  switch (part?.chosen) {
    case 'starter':
      return 'Selected: its key started the round.'
    case 'drawn':
      return 'Selected: drawn at random among the active devices when the round started.'
    case 'joined':
      return 'Selected: it sent a heartbeat while the round had free places.'
  }
  if (round.status !== 'active') return `Not selected: the round is ${round.status}.`
  return round.takingPart < round.targetDevices
    ? 'Not selected yet: it was not active when the round started. It joins with its next heartbeat.'
    : `Not selected: all ${round.targetDevices} places were drawn at random and went to other devices.`
}

/** The caller is a device taking part in the round, or a conflict says why it is not. */
export const requireParticipant = (part: Participant | null, round: StoredRound): Participant => {
  if (part === null) throw conflict(`This device is not a participant of the round. ${explain(round, null)}`)
  return part
}

export type RoundsService = ReturnType<typeof createRoundsService>
