import { LRUCache } from 'lru-cache'
import { slotAt } from '../../../domain/heartbeat.ts'
import { createBatcher } from '../../../platform/db/batch.ts'
import type { Context } from '../../context.ts'
import { type HeartbeatWrite, heartbeatsStore, type Received } from './heartbeats.store.ts'

/** The devices that a round or job needs now or soon. */
export interface OpenDemand {
  readonly orgId: string | null
  /** Only members of the group may join; membership is checked when a device joins. */
  readonly groupId: string | null
  /** The organizations of its federation; null if it has none. */
  readonly memberOrgs: readonly string[] | null
}

/** A round with free places. */
export interface JoinableRound extends OpenDemand {
  readonly id: string
}

/** What to announce to devices: the round that awaits each (by internal ids), and what they may join. */
export interface Announcements {
  readonly pending: ReadonlyMap<string, { readonly roundId: string; readonly isPrivate: boolean }>
  /** By device, the round that asks it to evaluate its new model. */
  readonly evaluating: ReadonlyMap<string, string>
  readonly open: readonly JoinableRound[]
  readonly demands: readonly OpenDemand[]
}

export const NOTHING_ANNOUNCED: Announcements = { pending: new Map(), evaluating: new Map(), open: [], demands: [] }

/** A crash loses the heartbeats that were answered but not yet written: at most those of this period. */
const FLUSH_MS = 1000
/** What another process wrote about a device is seen at most this much later, or at the next write. */
const KNOWN_MS = 300_000
const KNOWN_BYTES = 64 * 1024 * 1024
const BYTES_OF_ONE = 500

interface Known {
  readonly device: Received
  readonly metrics: string | null
}

/** A heartbeat that was written, and the announcements at that time. */
interface Written {
  readonly recorded: Received | null
  readonly isAnnounced: boolean
  readonly announced: Announcements
}

export interface HeartbeatWriteParts {
  readonly announcedTo: (deviceIds: readonly string[]) => Promise<Announcements>
  /** Updates the dynamic groups of devices whose attributes changed. */
  readonly regroup: (devices: readonly Received[]) => Promise<void>
}

/** Identifies the device and the limits of the heartbeat; none of the three parts contains a NUL. */
const heartbeatKey = ({ onlyId, onlyOrg, deviceId }: HeartbeatWrite): string =>
  `${onlyId ?? ''}\0${onlyOrg ?? ''}\0${deviceId}`

/** Merges two heartbeats: fields that the later one leaves out keep the earlier one's values. */
const mergeHeartbeats = (earlier: HeartbeatWrite | undefined, heartbeat: HeartbeatWrite): HeartbeatWrite =>
  earlier === undefined
    ? heartbeat
    : {
        ...heartbeat,
        status: heartbeat.status ?? earlier.status,
        metrics: heartbeat.metrics ?? earlier.metrics,
        capabilities: heartbeat.capabilities ?? earlier.capabilities,
        trains: heartbeat.trains ?? earlier.trains,
        waitSeconds: Math.max(heartbeat.waitSeconds, earlier.waitSeconds),
        count: heartbeat.count + earlier.count,
      }

/**
 * Answers heartbeats that change nothing but their time from memory, and writes them together each second. Others are
 * answered after their commit, as are all while there is something to announce or writes fail.
 */
export const createHeartbeatWrites = (context: Context, parts: HeartbeatWriteParts) => {
  const { changes } = context
  const write = createBatch(context, parts)
  const known = new LRUCache<string, Known>({
    maxSize: KNOWN_BYTES,
    sizeCalculation: ({ metrics }) => BYTES_OF_ONE + (metrics?.length ?? 0),
    ttl: KNOWN_MS,
  })
  let late = new Map<string, HeartbeatWrite>()
  let timer: NodeJS.Timeout | null = null
  let writing: Promise<unknown> = Promise.resolve()
  /** The version of the topic `rounds` at which a write found nothing to announce; null if unknown. */
  let quietVersion: number | null = null
  let announcedAt = Number.NEGATIVE_INFINITY

  const metricsOf = ({ metrics }: HeartbeatWrite): string | null => (metrics === null ? null : JSON.stringify(metrics))

  const writeNow = async (key: string, heartbeat: HeartbeatWrite): Promise<Written> => {
    const rounds = changes.versionOf('rounds')
    const response = await write(heartbeat)
    if (response.recorded === null) known.delete(key)
    else {
      const metrics = metricsOf(heartbeat) ?? known.peek(key)?.metrics ?? null
      known.set(key, { device: response.recorded, metrics })
    }
    quietVersion = response.isAnnounced || performance.now() - announcedAt < FLUSH_MS ? null : rounds
    return response
  }

  const writeLate = async (): Promise<void> => {
    const heartbeats = [...late]
    late = new Map()
    const failed = await Promise.all(
      heartbeats.map(([key, heartbeat]) =>
        writeNow(key, heartbeat).then(
          () => null,
          () => [key, heartbeat] as const,
        ),
      ),
    )
    for (const each of failed) {
      if (each === null) continue
      const [key, heartbeat] = each
      const later = late.get(key)
      late.set(key, later === undefined ? heartbeat : mergeHeartbeats(heartbeat, later))
      quietVersion = null
      startTimer()
    }
  }

  /** Resolves when everything answered before this call is written, or has been refused by the database and will be retried. */
  const flush = async (): Promise<void> => {
    if (late.size > 0) writing = writing.then(writeLate)
    await writing
  }

  const startTimer = (): void => {
    timer ??= setTimeout(() => {
      timer = null
      void flush()
    }, FLUSH_MS).unref()
  }

  const defer = (key: string, heartbeat: HeartbeatWrite): Received | null => {
    if (heartbeat.waitSeconds > 0 || heartbeat.capabilities !== null || quietVersion !== changes.versionOf('rounds'))
      return null
    const found = known.get(key)
    if (found === undefined) return null
    const { device, metrics } = found
    const isNews =
      (heartbeat.status ?? device.reported) !== device.reported ||
      (heartbeat.trains ?? device.trains) !== device.trains ||
      (metricsOf(heartbeat) ?? metrics) !== metrics ||
      slotAt(heartbeat.at) !== slotAt(device.lastHeartbeat)
    if (isNews) return null
    // Writes again what is unchanged, because another process or key may have changed it.
    late.set(key, mergeHeartbeats(late.get(key), { ...heartbeat, isLate: true }))
    startTimer()
    return heartbeat.at > device.lastHeartbeat ? { ...device, lastHeartbeat: heartbeat.at } : device
  }

  return {
    flush,

    /** Called when an announcement is being written, which concurrent heartbeats may not see yet. */
    announced(): void {
      announcedAt = performance.now()
      quietVersion = null
    },

    /** Returns the device if the heartbeat can be written later, or null if it must be written now. */
    defer: (heartbeat: HeartbeatWrite): Received | null => defer(heartbeatKey(heartbeat), heartbeat),

    async record(heartbeat: HeartbeatWrite): Promise<Written> {
      const key = heartbeatKey(heartbeat)
      // Keeps heartbeats in order, and counts each in its quarter of an hour.
      if (late.has(key)) await flush()
      return writeNow(key, heartbeat)
    },

    async close(): Promise<void> {
      await flush()
      if (timer !== null) clearTimeout(timer)
    },
  }
}

/** Writes concurrent heartbeats together, and looks up once for all of them what to announce. */
const createBatch = ({ database }: Context, { announcedTo, regroup }: HeartbeatWriteParts) =>
  createBatcher<HeartbeatWrite, Written>({
    maxBatch: 1000,
    run: async (heartbeats) => {
      const merged = [...mergeByDevice(heartbeats)].sort(([, a], [, b]) => (a.deviceId < b.deviceId ? -1 : 1))
      const at = new Map(merged.map(([key], index) => [key, index]))
      const {
        received: recorded,
        isAnnounced,
        regrouped,
      } = await heartbeatsStore.record(
        database.sql,
        merged.map(([, heartbeat]) => heartbeat),
      )
      if (regrouped.length > 0) await regroup(regrouped)
      const announced = isAnnounced
        ? await announcedTo([...new Set(recorded.flatMap((one) => one?.id ?? []))])
        : NOTHING_ANNOUNCED
      return heartbeats.map((heartbeat) => ({
        recorded: recorded[at.get(heartbeatKey(heartbeat))!] ?? null,
        announced,
        isAnnounced,
      }))
    },
  })

/** Merges heartbeats to one per device. */
const mergeByDevice = (heartbeats: readonly HeartbeatWrite[]): Map<string, HeartbeatWrite> => {
  const merged = new Map<string, HeartbeatWrite>()
  for (const heartbeat of heartbeats) {
    const key = heartbeatKey(heartbeat)
    merged.set(key, mergeHeartbeats(merged.get(key), heartbeat))
  }
  return merged
}
