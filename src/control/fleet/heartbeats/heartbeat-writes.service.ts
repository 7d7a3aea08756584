import { LRUCache } from 'lru-cache'
import { slotAt } from '../../../domain/heartbeat.ts'
import { createBatcher } from '../../../platform/db/batch.ts'
import type { Database } from '../../../platform/db/open.ts'
import type { Changes } from '../../events.ts'
import type { Beat, HeartbeatsStore, Received } from './heartbeats.store.ts'

/** The devices that a round or job needs now or soon. */
export interface Wanting {
  readonly orgId: string | null
  /** Only members of the group may join; membership is checked when a device joins. */
  readonly groupId: string | null
  /** The organizations of its federation; null if it has none. */
  readonly memberOrgs: readonly string[] | null
}

/** A round with free places. */
export interface JoinableRound extends Wanting {
  readonly id: string
}

/** What to announce to devices: the round that awaits each (by internal ids), and what they may join. */
export interface Announced {
  readonly pending: ReadonlyMap<string, { readonly roundId: string; readonly isPrivate: boolean }>
  /** By device, the round that asks it to evaluate its new model. */
  readonly evaluating: ReadonlyMap<string, string>
  readonly open: readonly JoinableRound[]
  readonly wanting: readonly Wanting[]
}

export const NOTHING_ANNOUNCED: Announced = { pending: new Map(), evaluating: new Map(), open: [], wanting: [] }

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
  readonly announced: Announced
}

interface Parts {
  readonly database: Database
  readonly store: Pick<HeartbeatsStore, 'beat'>
  readonly announcedTo: (deviceIds: readonly string[]) => Promise<Announced>
  readonly changes: Changes
}

/** Identifies the device and the limits of the beat; none of the three parts contains a NUL. */
const beatKey = ({ onlyId, onlyOrg, deviceId }: Beat): string => `${onlyId ?? ''}\0${onlyOrg ?? ''}\0${deviceId}`

/** Merges two beats: fields that the later one leaves out keep the earlier one's values. */
const mergeBeats = (earlier: Beat | undefined, beat: Beat): Beat =>
  earlier === undefined
    ? beat
    : {
        ...beat,
        status: beat.status ?? earlier.status,
        metrics: beat.metrics ?? earlier.metrics,
        trains: beat.trains ?? earlier.trains,
        waitSeconds: Math.max(beat.waitSeconds, earlier.waitSeconds),
        beats: beat.beats + earlier.beats,
      }

/**
 * Answers heartbeats that change nothing but their time from memory, and writes them together each second. Others are
 * answered after their commit, as are all while there is something to announce or writes fail.
 */
export const createHeartbeatWrites = (parts: Parts) => {
  const { changes } = parts
  const write = createBatch(parts)
  const known = new LRUCache<string, Known>({
    maxSize: KNOWN_BYTES,
    sizeCalculation: ({ metrics }) => BYTES_OF_ONE + (metrics?.length ?? 0),
    ttl: KNOWN_MS,
  })
  let late = new Map<string, Beat>()
  let timer: NodeJS.Timeout | null = null
  let writing: Promise<unknown> = Promise.resolve()
  /** The version of the topic `rounds` at which a write found nothing to announce; null if unknown. */
  let quietVersion: number | null = null
  let announcedAt = 0

  const metricsOf = ({ metrics }: Beat): string | null => (metrics === null ? null : JSON.stringify(metrics))

  const writeNow = async (key: string, beat: Beat): Promise<Written> => {
    const rounds = changes.versionOf('rounds')
    const response = await write(beat)
    if (response.recorded === null) known.delete(key)
    else {
      const metrics = metricsOf(beat) ?? known.peek(key)?.metrics ?? null
      known.set(key, { device: response.recorded, metrics })
    }
    quietVersion = response.isAnnounced || Date.now() - announcedAt < FLUSH_MS ? null : rounds
    return response
  }

  const writeLate = async (): Promise<void> => {
    const beats = [...late]
    late = new Map()
    const failed = await Promise.all(
      beats.map(([key, beat]) =>
        writeNow(key, beat).then(
          () => null,
          () => [key, beat] as const,
        ),
      ),
    )
    for (const each of failed) {
      if (each === null) continue
      const [key, beat] = each
      const later = late.get(key)
      late.set(key, later === undefined ? beat : mergeBeats(beat, later))
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

  const defer = (key: string, beat: Beat): Received | null => {
    if (beat.waitSeconds > 0 || quietVersion !== changes.versionOf('rounds')) return null
    const found = known.get(key)
    if (found === undefined) return null
    const { device, metrics } = found
    const isNews =
      (beat.status ?? device.reported) !== device.reported ||
      (beat.trains ?? device.trains) !== device.trains ||
      (metricsOf(beat) ?? metrics) !== metrics ||
      slotAt(beat.at) !== slotAt(device.lastHeartbeat)
    if (isNews) return null
    // Omits status and trains, which are unchanged: another key may change them before this is written. Writes metrics again,
    // because another process may have changed them.
    late.set(key, mergeBeats(late.get(key), { ...beat, status: null, trains: null }))
    startTimer()
    return beat.at > device.lastHeartbeat ? { ...device, lastHeartbeat: beat.at } : device
  }

  return {
    flush,

    /** Called when an announcement is being written, which concurrent heartbeats may not see yet. */
    announced(): void {
      announcedAt = Date.now()
      quietVersion = null
    },

    /** Returns the device if the heartbeat can be written later, or null if it must be written now. */
    defer: (beat: Beat): Received | null => defer(beatKey(beat), beat),

    async record(beat: Beat): Promise<Written> {
      const key = beatKey(beat)
      // Keeps heartbeats in order, and counts each in its quarter of an hour.
      if (late.has(key)) await flush()
      return writeNow(key, beat)
    },

    async close(): Promise<void> {
      await flush()
      if (timer !== null) clearTimeout(timer)
    },
  }
}

/** Writes concurrent heartbeats together, and looks up once for all of them what to announce. */
const createBatch = ({ database, store, announcedTo }: Omit<Parts, 'changes'>) =>
  createBatcher<Beat, Written>({
    maxBatch: 1000,
    run: async (beats) => {
      const merged = [...mergeByDevice(beats)].sort(([, a], [, b]) => (a.deviceId < b.deviceId ? -1 : 1))
      const at = new Map(merged.map(([key], index) => [key, index]))
      const { received: recorded, isAnnounced } = await store.beat(
        database.sql,
        merged.map(([, beat]) => beat),
      )
      const announced = isAnnounced
        ? await announcedTo([...new Set(recorded.flatMap((one) => one?.id ?? []))])
        : NOTHING_ANNOUNCED
      return beats.map((beat) => ({ recorded: recorded[at.get(beatKey(beat))!] ?? null, announced, isAnnounced }))
    },
  })

/** Merges heartbeats to one per device. */
const mergeByDevice = (beats: readonly Beat[]): Map<string, Beat> => {
  const merged = new Map<string, Beat>()
  for (const beat of beats) {
    const key = beatKey(beat)
    merged.set(key, mergeBeats(merged.get(key), beat))
  }
  return merged
}
