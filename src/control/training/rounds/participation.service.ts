import type { Caller } from '../../../domain/access.ts'
import { notFound } from '../../../domain/errors.ts'
import { requireMayInspect } from '../../../domain/private-round.ts'
import { hasFreePlace } from '../../../domain/round.ts'
import { STRATEGY_RULES } from '../../../domain/strategy-rules.ts'
import { createBatcher } from '../../../platform/db/batch.ts'
import type { ModelsService, StoredVersion } from '../../catalog/models/models.service.ts'
import type { Context } from '../../context.ts'
import type { DevicesService } from '../../fleet/devices/devices.service.ts'
import type { HeartbeatsService } from '../../fleet/heartbeats/heartbeats.service.ts'
import { singleFlight } from '../../single-flight.ts'
import { announcementsReport } from './announcements.report.ts'
import type { ParticipantScopes } from './participant-scope.service.ts'
import { type Participant, type ParticipantKey, participantsStore } from './participants.store.ts'
import { roundsReport } from './rounds.report.ts'
import type { RoundBeginning, RoundsService } from './rounds.service.ts'
import type { StoredRound } from './rounds.store.ts'

/** A device's part in a round: whether it has one, how it joins, and which files it gets. */
export const createParticipation = (
  { database, now }: Context,
  {
    rounds,
    scopes,
    models,
    devices,
    heartbeats,
  }: {
    readonly rounds: Pick<RoundsService, 'get' | 'beginning'>
    readonly scopes: Pick<ParticipantScopes, 'includes'>
    readonly models: Pick<ModelsService, 'originOf'>
    readonly devices: Pick<DevicesService, 'owner' | 'get'>
    readonly heartbeats: Pick<HeartbeatsService, 'withdraw'>
  },
) => {
  // All devices of a round request the same version at once.
  const handedOut = singleFlight<StoredVersion>(16)
  const versionOf = async ({ globalModelId: id, globalModelVersion: number }: RoundBeginning) =>
    id === null || number === null
      ? null
      : handedOut(`${id} ${number}`, async () => (await models.originOf(id, number))?.version ?? null)

  const markFetched = createBatcher<ParticipantKey, void>({
    maxBatch: 1000,
    run: async (fetched) => {
      await participantsStore.markFetched(database.sql, fetched, now())
      return fetched.map(() => undefined)
    },
  })

  const acknowledge = createBatcher<ParticipantKey, void>({
    maxBatch: 1000,
    run: async (fetched) => {
      await participantsStore.acknowledge(database.sql, fetched, now())
      return fetched.map(() => undefined)
    },
  })

  /** Moves a device that fetches the plan or model of its asynchronous job's current round to that round's model. */
  const rebase = createBatcher<ParticipantKey, void>({
    maxBatch: 1000,
    run: async (fetched) => {
      await participantsStore.rebase(database.sql, fetched)
      return fetched.map(() => undefined)
    },
  })
  const begins = async ({ id: roundId, plan }: RoundBeginning, deviceId: string): Promise<void> => {
    if (plan.asynchronous) await rebase({ roundId, deviceId })
  }

  /** The round's control variate, which retention deletes with the updates; null if there is none. */
  const controlOf = async (caller: Caller, { id, plan }: RoundBeginning) => {
    const sha256 = STRATEGY_RULES[plan.strategy].controlVariates ? (await rounds.get(caller, id)).controlSha256 : null
    return sha256 === null ? null : { sha256, size: await roundsReport.sizeOf(database.sql, sha256) }
  }

  return {
    /** Stops heartbeats from looking at jobs and rounds that are over. */
    withdrawAnnouncements: (): Promise<void> =>
      database.transaction(async (tx) => heartbeats.withdraw(tx, await announcementsReport.over(tx, now()))),

    /** The round's training plan: strategy, hyperparameters, and the model to start from. */
    async plan(caller: Caller, id: string) {
      const round = await rounds.beginning(caller, id)
      if (caller.deviceId !== null) {
        await acknowledge({ roundId: round.id, deviceId: caller.deviceId })
        await begins(round, caller.deviceId)
      }
      return { round, version: await versionOf(round), control: await controlOf(caller, round) }
    },

    /** The round's global control variate (SCAFFOLD); not_found in a job's first round, where it is zero. */
    async controlFile(caller: Caller, id: string): Promise<{ sha256: string; size: number }> {
      const { control } = await this.plan(caller, id)
      if (control === null) throw notFound('Control variate of round', id)
      return control
    },

    /** The file of the round's global model. With `fetches`, records that the caller's device has fetched it. */
    async modelFile(caller: Caller, id: string, fetches: boolean): Promise<StoredVersion> {
      const round = await rounds.beginning(caller, id)
      const version = await versionOf(round)
      if (version === null) throw notFound('Global model of round', id)
      const deviceId = caller.deviceId
      if (fetches && deviceId !== null) {
        await markFetched({ roundId: round.id, deviceId })
        await begins(round, deviceId)
      }
      return version
    },

    /** Whether a device takes part in the round, and why. */
    async selection(
      caller: Caller,
      id: string,
      { deviceId, orgId }: { readonly deviceId: string | undefined; readonly orgId: string | undefined },
    ) {
      const round = await rounds.get(caller, id)
      requireMayInspect(caller, round)
      const device = await (deviceId === undefined
        ? devices.owner(caller)
        : devices.get(caller, deviceId, { orgId, near: round.orgId }))
      const part = await participantsStore.find(database.sql, round.id, device.id)
      const isIncluded = await scopes.includes(round, device.id)
      const cameLate = part === null && round.endedAt !== null && device.createdAt > round.endedAt
      const reason = cameLate && isIncluded ? CAME_LATE : explainSelection(round, part, isIncluded)
      return { round, device, part, reason }
    },
  }
}

const CAME_LATE = 'Not selected: it was registered after the round had ended.'

const CHOSEN: Readonly<Record<Participant['chosen'], string>> = {
  starter: 'Selected: its key started the round.',
  drawn: 'Selected: drawn at random among the active devices when the round started.',
  joined: 'Selected: it sent a heartbeat while the round had free places.',
}

/** Why a device takes part or not. `isIncluded`: it could, judging only by the device. */
export const explainSelection = (round: StoredRound, part: Participant | null, isIncluded: boolean): string => {
  if (part?.state === 'failed') return part.failureReason ?? 'The device reported a failure.'
  if (part?.state === 'absent')
    return `${part.failureReason} Its place is open to others; its update is still accepted.`
  if (part === null && !isIncluded) return excluded(round)
  if (round.privacy !== null) {
    return `${part === null ? 'Not selected' : 'Selected'}: each eligible device was drawn independently at random when the round started.`
  }
  if (part !== null) return CHOSEN[part.chosen]
  if (!hasFreePlace(round))
    return `Not selected: all ${round.targetDevices} places were drawn at random and went to other devices.`
  return round.status === 'active'
    ? 'Not selected yet: the round has free places. It joins with its next heartbeat, unless other devices fill them first.'
    : 'Not selected: it was not drawn when the round started, and sent no heartbeat while the round had a free place.'
}

/** The reason for a device that cannot join, however long it waits. */
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

export type Participation = ReturnType<typeof createParticipation>
