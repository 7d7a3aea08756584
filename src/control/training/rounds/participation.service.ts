import type { Caller } from '../../../domain/access.ts'
import { conflict, notFound, type ServiceError } from '../../../domain/errors.ts'
import { requireMayInspect } from '../../../domain/private-round.ts'
import { dueEvent } from '../../../domain/round.ts'
import { STRATEGY_RULES } from '../../../domain/strategy-rules.ts'
import { createBatcher } from '../../../platform/db/batch.ts'
import type { Database } from '../../../platform/db/open.ts'
import type { ModelsService, StoredVersion } from '../../catalog/models/models.service.ts'
import type { ControlEventBus } from '../../events.ts'
import type { DevicesService } from '../../fleet/devices/devices.service.ts'
import type { AbsentDevicesStore } from './absent-devices.store.ts'
import type { DueRounds } from './due-rounds.service.ts'
import type { Participant, ParticipantsStore, Seat } from './participants.store.ts'
import type { RoundReach } from './round-reach.service.ts'
import type { RoundsReport } from './rounds.report.ts'
import type { RoundBeginning, RoundsService } from './rounds.service.ts'
import type { RoundsStore, StoredRound } from './rounds.store.ts'
import { singleFlight } from './single-flight.ts'
import type { UpdatesStore } from './updates.store.ts'

interface Parts {
  readonly database: Database
  readonly store: Pick<RoundsStore, 'lock' | 'update'>
  readonly report: Pick<RoundsReport, 'sizeOf'>
  readonly participants: ParticipantsStore
  readonly absent: Pick<AbsentDevicesStore, 'rejoin'>
  readonly updates: Pick<UpdatesStore, 'find'>
  readonly rounds: Pick<RoundsService, 'get' | 'beginning'>
  readonly due: Pick<DueRounds, 'tick' | 'review'>
  readonly includes: RoundReach['includes']
  readonly models: ModelsService
  readonly devices: DevicesService
  readonly events: Pick<ControlEventBus, 'publish'>
  readonly now: () => Date
}

/** Whether a round awaits a device's update, and what becomes of it where the device gives up. */
const createOpenParts = (parts: Parts) => {
  const { database, store, participants, updates, rounds, due, includes, events, now } = parts
  // All of a round's devices come at once.
  const partIn = createBatcher<Seat, Participant | null>({
    maxBatch: 1000,
    run: (requested) => participants.findAll(database.sql, requested),
  })

  /** The part that awaits an update of the device to this round; else a conflict says why there is none. */
  const requireOpen = async (
    round: StoredRound,
    deviceId: string | null,
  ): Promise<Participant & { deviceId: string }> => {
    if (deviceId === null) {
      throw conflict(
        'This key belongs to no device, so it is not a participant of the round. Use the key of a device.',
        'no_device',
      )
    }
    const part = await partIn({ roundId: round.id, deviceId })
    if (part?.state === 'delivered') throw await alreadyDelivered(round.id, deviceId)
    // An asynchronous job takes what began in an earlier round, as long as it has not let go of the device.
    const isAwaitedLater = round.plan.asynchronous === true && part?.state === 'selected'
    if (round.status !== 'active' && !isAwaitedLater) {
      const why = round.failureReason === null ? '' : ` ${round.failureReason}`
      throw conflict(`The round is ${round.status}; updates are accepted only while it is active.${why}`, 'round_over')
    }
    if (part === null) throw notParticipant(round, await includes(round, deviceId))
    if (part.state === 'failed') {
      throw conflict(
        `This device has already failed in this round: ${part.failureReason ?? 'no reason given'}.`,
        'failed_before',
      )
    }
    return { ...part, deviceId }
  }

  const alreadyDelivered = async (roundId: string, deviceId: string): Promise<ServiceError> => {
    const kept = await updates.find(database.sql, roundId, deviceId)
    return conflict(
      `This device has already submitted an update for this round (${kept?.id ?? ''}); the first one counts.`,
      'duplicate',
    )
  }

  return {
    requireOpen,

    /** A participant gives up, with a reason; the round stops waiting for it, and its place is free again. */
    async fail(caller: Caller, roundId: string, reason: string): Promise<StoredRound> {
      const admitted = await rounds.get(caller, roundId)
      const { deviceId } = await requireOpen(admitted, caller.deviceId)
      const isDue = await database.transaction(async (tx) => {
        const own = await participants.find(tx, roundId, deviceId)
        const round = await store.lock(tx, own?.roundId ?? roundId)
        const part = await participants.find(tx, roundId, deviceId)
        if (part === null || part.roundId !== round?.id) return false
        if (part.state !== 'selected' && part.state !== 'absent') return false
        if (round.status !== 'active' && !round.plan.asynchronous) return false
        await participants.report(tx, { roundId: round.id, deviceId, state: 'failed', reason }, now())
        const changed = {
          ...round,
          takingPart: round.takingPart - (part.state === 'selected' ? 1 : 0),
          failedDevices: round.failedDevices + 1,
        }
        await store.update(tx, round.id, { taking_part: changed.takingPart, failed_devices: changed.failedDevices })
        await events.publish(tx, 'round.places_freed', { id: round.id })
        if (round.status !== 'active') return false
        if (dueEvent(changed, now()) !== null) return true
        await due.review(tx, changed)
        return false
      })
      if (isDue) await due.tick()
      return rounds.get(caller, roundId)
    },
  }
}

/** A device's part in a round: whether it has one, and what it is handed. */
export const createParticipation = (parts: Parts) => {
  const { database, report, participants, absent, rounds, includes, models, devices, now } = parts

  // All devices of a round ask for the same version, at once.
  const handedOut = singleFlight<StoredVersion>(16)
  const versionOf = async ({ globalModelId: id, globalModelVersion: number }: RoundBeginning) =>
    id === null || number === null
      ? null
      : handedOut(`${id} ${number}`, async () => (await models.originOf(id, number))?.version ?? null)

  const markFetched = createBatcher<Seat, void>({
    maxBatch: 1000,
    run: async (fetched) => {
      await participants.markFetched(database.sql, fetched, now())
      return fetched.map(() => undefined)
    },
  })

  const acknowledge = createBatcher<Seat, void>({
    maxBatch: 1000,
    run: async (fetched) => {
      await participants.acknowledge(database.sql, fetched, now())
      return fetched.map(() => undefined)
    },
  })

  /** It goes with the updates, when they have been kept long enough. */
  const controlOf = async (caller: Caller, { id, plan }: RoundBeginning) => {
    const sha256 = STRATEGY_RULES[plan.strategy].controlVariates ? (await rounds.get(caller, id)).controlSha256 : null
    return sha256 === null ? null : { sha256, size: await report.sizeOf(database.sql, sha256) }
  }

  return {
    ...createOpenParts(parts),

    /** A free seat in an active round for a device that has none, or was given up; true when it now takes part. */
    join: async (roundId: string, deviceId: string): Promise<boolean> =>
      (await participants.join(database.sql, roundId, deviceId, now())) ||
      absent.rejoin(database.sql, roundId, deviceId, now()),

    /** What the round hands out: strategy, hyperparameters, and the model to start from. */
    async plan(caller: Caller, id: string) {
      const round = await rounds.beginning(caller, id)
      if (caller.deviceId !== null) await acknowledge({ roundId: round.id, deviceId: caller.deviceId })
      return { round, version: await versionOf(round), control: await controlOf(caller, round) }
    },

    /** The round's global control variate (SCAFFOLD); not_found in a job's first round, where it is zero. */
    async controlFile(caller: Caller, id: string): Promise<{ sha256: string; size: number }> {
      const { control } = await this.plan(caller, id)
      if (control === null) throw notFound('Control variate of round', id)
      return control
    },

    /** The file of the round's global model; a participant that fetches it is then counted as participating. */
    async modelFile(caller: Caller, id: string, fetches: boolean): Promise<StoredVersion> {
      const round = await rounds.beginning(caller, id)
      const version = await versionOf(round)
      if (version === null) throw notFound('Global model of round', id)
      const deviceId = caller.deviceId
      if (fetches && deviceId !== null) await markFetched({ roundId: round.id, deviceId })
      return version
    },

    /** Whether a device takes part in the round, and why or why not. */
    async selection(caller: Caller, id: string, deviceName: string | undefined) {
      const round = await rounds.get(caller, id)
      requireMayInspect(caller, round)
      const device = await (deviceName === undefined
        ? devices.owner(caller)
        : devices.get(caller, deviceName, { near: round.orgId }))
      const part = await participants.find(database.sql, round.id, device.id)
      return { round, device, part, reason: explain(round, part, await includes(round, device.id)) }
    },
  }
}

const CHOSEN: Readonly<Record<Participant['chosen'], string>> = {
  starter: 'Selected: its key started the round.',
  drawn: 'Selected: drawn at random among the active devices when the round started.',
  joined: 'Selected: it sent a heartbeat while the round had free places.',
}

/** `isIncluded`: it could take part, as far as that depends on the device. */
const explain = (round: StoredRound, part: Participant | null, isIncluded: boolean): string => {
  if (part?.state === 'failed') return part.failureReason ?? 'The device reported a failure.'
  if (part?.state === 'absent')
    return `${part.failureReason} Its place is open to others; its update is still accepted.`
  if (part === null && !isIncluded) return excluded(round)
  if (round.privacy !== null) {
    return `${part === null ? 'Not selected' : 'Selected'}: each eligible device was drawn independently at random when the round started.`
  }
  if (part !== null) return CHOSEN[part.chosen]
  if (round.status !== 'active') return `Not selected: the round is ${round.status}.`
  return round.takingPart < round.targetDevices
    ? 'Not selected yet: it was not active when the round started. It joins with its next heartbeat.'
    : `Not selected: all ${round.targetDevices} places were drawn at random and went to other devices.`
}

/** It will not join, however long it waits. */
const excluded = ({ orgId, groupId, federationId }: StoredRound): string => {
  const those =
    groupId !== null
      ? `of device group ${groupId}`
      : federationId !== null
        ? `of the active members of federation ${federationId}`
        : orgId === null
          ? 'that belong to no organization'
          : `of organization '${orgId}'`
  return `Not selected: the round is for devices ${those} that train, and this one is not among them.`
}

/** Why a device that has no part in the round has none. */
const notParticipant = (round: StoredRound, isIncluded: boolean): ServiceError =>
  conflict(`This device is not a participant of the round. ${explain(round, null, isIncluded)}`, 'not_participant')

export type Participation = ReturnType<typeof createParticipation>
