import { type Caller, holds, sees } from '../../../domain/access.ts'
import { type Assignment, tagOfAll } from '../../../domain/assignment.ts'
import type { DeviceStatus } from '../../../domain/device.ts'
import { forbidden, notFound } from '../../../domain/errors.ts'
import { lastDay, MAX_SLOTS, nextHeartbeatSeconds, SLOT_SECONDS, slotAt } from '../../../domain/heartbeat.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { Context } from '../../context.ts'
import type { DevicesService, NamedDevice } from '../devices/devices.service.ts'
import {
  type Announcements,
  createHeartbeatWrites,
  type HeartbeatWriteParts,
  NOTHING_ANNOUNCED,
  type OpenDemand,
} from './heartbeat-writes.service.ts'
import { type HeartbeatWrite, heartbeatsStore, type Received } from './heartbeats.store.ts'

export type { Announcements, JoinableRound, OpenDemand } from './heartbeat-writes.service.ts'

export interface Report {
  readonly status: DeviceStatus | undefined
  readonly metrics: Readonly<Record<string, unknown>> | undefined
  /** Those that it does not name stay. */
  readonly capabilities: Readonly<Record<string, unknown>> | undefined
  readonly trains: boolean | undefined
}

export interface Wait {
  /** How long the response may be held. */
  readonly ms: number
  /** Ends the wait when the device disconnects. */
  readonly gone: AbortSignal
  /** The tag of the assignments that the device knows; undefined for those at the beginning of the wait. */
  readonly known: string | undefined
}

/** A recorded heartbeat, and the device's assignments. */
export interface HeartbeatResult {
  readonly device: Received
  readonly pendingRoundId: string | null
  /** The round that asks the device to evaluate its new model. */
  readonly pendingEvaluationId: string | null
  readonly assignments: readonly Assignment[]
  /** The seconds until the device should send its next heartbeat. */
  readonly nextSeconds: number
}

/** What later modules add to the response to a heartbeat. */
export interface HeartbeatContributors {
  /** Returns the device's assignments. */
  assignmentsOf(device: Received): readonly Assignment[]
  /** Returns the announcements that concern these devices. Called only while there are announcements. */
  announcedTo(deviceIds: readonly string[]): Promise<Announcements>
  /** Gives a free place in an active round to a device that has none; true if it now takes part. */
  join(roundId: string, deviceId: string): Promise<boolean>
}

const NOTHING_TO_ADD: HeartbeatContributors = {
  assignmentsOf: () => [],
  announcedTo: async () => NOTHING_ANNOUNCED,
  join: async () => false,
}

/**
 * Heartbeats: the service's hottest path. Concurrent ones share a statement and are answered after its commit; those that
 * change nothing but their time are answered at once, and written within a second.
 */
export const createHeartbeatsService = (
  context: Context,
  { devices, regroup }: { readonly devices: DevicesService; readonly regroup: HeartbeatWriteParts['regroup'] },
) => {
  const { database, changes, random, now } = context
  const contributors = { ...NOTHING_TO_ADD }
  let held = 0

  const fleetSize = knownFleetSize(devices)
  const announcedTo = (deviceIds: readonly string[]) => contributors.announcedTo(deviceIds)
  const writes = createHeartbeatWrites(context, { announcedTo, regroup })

  const beatOnce = async (
    caller: Caller,
    { deviceId, orgId }: NamedDevice,
    report: Report,
    waitMs: number,
    heartbeats = 1,
  ): Promise<Recorded> => {
    if (orgId !== undefined && !sees(caller, orgId)) throw notFound('Device', deviceId)
    const isOwn = orgId === undefined && caller.deviceName === deviceId
    const heartbeat: HeartbeatWrite = {
      deviceId,
      status: report.status ?? null,
      metrics: report.metrics ?? null,
      capabilities: report.capabilities ?? null,
      trains: report.trains ?? null,
      at: now(),
      waitSeconds: waitMs / 1000,
      // A device's own name always stands for itself, even if other devices have the same name.
      onlyId: holds(caller, 'devices:write') && !isOwn ? null : caller.deviceId,
      onlyOrg: caller.orgId ?? orgId ?? null,
      count: heartbeats,
      isLate: false,
    }
    const known = writes.defer(heartbeat)
    if (known !== null) return { device: known, mayTrainSoon: false, pendingRoundId: null, pendingEvaluationId: null }
    const { recorded: device, announced } = await writes.record(heartbeat)
    if (device === null) {
      await devices.get(caller, deviceId, { orgId }) // not_found comes before anything else
      throw forbidden('This key may send heartbeats for its own device only; for others it lacks devices:write.')
    }
    const pending = announced.pending.get(device.id)
    const isInformed = pending?.isPrivate !== true || caller.deviceId === device.id || holds(caller, 'admin')
    const mayTrainSoon = device.trains && announced.demands.some((training) => mayJoin(training, device))
    const pendingEvaluationId = announced.evaluating.get(device.id) ?? null
    const pendingRoundId = isInformed ? (pending?.roundId ?? null) : null
    const recorded = { device, mayTrainSoon, pendingRoundId, pendingEvaluationId }
    if (pending !== undefined || device.reported !== 'active' || !device.trains) return recorded
    // The oldest comes first. A group's round may refuse the device, and the next one accept it.
    for (const round of announced.open) {
      if (!mayJoin(round, device)) continue
      if (await contributors.join(round.id, device.id)) return { ...recorded, pendingRoundId: round.id }
      if (round.groupId === null) return recorded
    }
    return recorded
  }

  return {
    /** Adds to the responses. Called by later modules when they are created. */
    contribute(added: Partial<HeartbeatContributors>): void {
      Object.assign(contributors, added)
    },

    /** Returns the device's heartbeats of the last day: when the first slot began, and the number in each. */
    async history(device: {
      readonly id: string
    }): Promise<{ readonly from: Date; readonly counts: readonly number[] }> {
      const slot = slotAt(now())
      const found = await heartbeatsStore.counts(database.sql, device.id)
      const from = new Date((slot - MAX_SLOTS + 1) * SLOT_SECONDS * 1000)
      return { from, counts: lastDay(found?.counts ?? [], found?.slot ?? slot, slot) }
    },

    /** Call it in the transaction that creates the subject; `announcedTo` then returns what it means for devices. */
    announce(tx: Executor, subjectId: string): Promise<void> {
      writes.announced()
      return heartbeatsStore.announce(tx, subjectId)
    },

    /** Writes the heartbeats that were answered before. Call it before reading devices. */
    flush: writes.flush,

    close: writes.close,

    resetTimesAhead: (): Promise<void> => heartbeatsStore.resetTimesAhead(database.sql, now()),

    /** Withdraws announcements that no longer concern any device. */
    withdraw: heartbeatsStore.withdraw,

    /**
     * Records a heartbeat; returns whether a round awaits the device, and its assignments. With `wait.ms`, holds the
     * response until a round awaits it or its assignments differ from those it knows, at most that long.
     */
    async heartbeat(caller: Caller, device: NamedDevice, report: Report, wait: Wait): Promise<HeartbeatResult> {
      const began = performance.now()
      const deadline = began + wait.ms
      const toResult = (recorded: Recorded, assignments: readonly Assignment[]): HeartbeatResult => {
        const heldSeconds = wait.ms > 0 ? (performance.now() - began) / 1000 : 0
        const urgency = isAwaited(recorded) ? 'now' : recorded.mayTrainSoon ? 'soon' : null
        const pace = { fleet: fleetSize(), urgency, heldSeconds, random } as const
        const { pendingRoundId, pendingEvaluationId } = recorded
        return {
          device: recorded.device,
          pendingRoundId,
          pendingEvaluationId,
          assignments,
          nextSeconds: nextHeartbeatSeconds(pace),
        }
      }
      let seen = changes.version()
      let seenRounds = changes.versionOf('rounds')
      let recorded = await beatOnce(caller, device, report, wait.ms)
      let assignments = contributors.assignmentsOf(recorded.device)
      if (wait.ms <= 0 || held >= MAX_HELD) return toResult(recorded, assignments)
      const known = wait.known ?? tagOfAll(assignments)
      for (;;) {
        const left = deadline - performance.now()
        const isNews = isAwaited(recorded) || tagOfAll(assignments) !== known
        if (isNews || left <= 0 || wait.gone.aborted || changes.isClosed()) return toResult(recorded, assignments)
        held++
        await changes.changedSince(seen, left, wait.gone).finally(() => held--)
        seen = changes.version()
        const roundsVersion = changes.versionOf('rounds')
        // Plans are in memory, and the end of a round concerns no waiting device: only a new round requires another write.
        if (roundsVersion !== seenRounds || performance.now() >= deadline)
          recorded = await beatOnce(caller, device, NOTHING_NEW, wait.ms, 0)
        seenRounds = roundsVersion
        assignments = contributors.assignmentsOf(recorded.device)
      }
    },
  }
}

type Recorded = Pick<HeartbeatResult, 'device' | 'pendingRoundId' | 'pendingEvaluationId'> & {
  readonly mayTrainSoon: boolean
}

/** What a held heartbeat reported is recorded once: the device may have reported that it is inactive since, and disconnected. */
const NOTHING_NEW: Report = { status: undefined, metrics: undefined, capabilities: undefined, trains: undefined }

const isAwaited = ({ pendingRoundId, pendingEvaluationId }: Recorded): boolean =>
  pendingRoundId !== null || pendingEvaluationId !== null

/** At most this many responses are held at the same time: each keeps a connection open, and a process has 10,000. */
const MAX_HELD = 7000

/** How often the size of the fleet is counted, which reads all devices. */
const FLEET_KNOWN_MS = 30_000

/**
 * Returns the last known number of active devices of all organizations. Counts again in the background, so that no heartbeat
 * waits for it.
 */
const knownFleetSize = (devices: Pick<DevicesService, 'census'>): (() => number) => {
  let fleet = { size: 0, lookAgainAt: 0 }
  return () => {
    if (performance.now() >= fleet.lookAgainAt) {
      fleet = { size: fleet.size, lookAgainAt: performance.now() + FLEET_KNOWN_MS }
      devices.census({ orgId: null }).then(
        ({ active }) => {
          fleet = { ...fleet, size: active }
        },
        // Requests that need the database report that it is unavailable.
        () => undefined,
      )
    }
    return fleet.size
  }
}

const mayJoin = (round: OpenDemand, device: Received): boolean => {
  if (round.memberOrgs !== null) return device.orgId !== null && round.memberOrgs.includes(device.orgId)
  // A group's members may also be devices without an organization.
  return round.orgId === device.orgId || (round.groupId !== null && device.orgId === null)
}

export type HeartbeatsService = ReturnType<typeof createHeartbeatsService>
