import { LRUCache } from 'lru-cache'
import { slotAt } from '../../../domain/heartbeat-counts.ts'
import { createBatcher } from '../../../platform/db/batch.ts'
import type { Database } from '../../../platform/db/open.ts'
import type { Changes } from '../../events.ts'
import type { Beat, HeartbeatsStore, Received } from './heartbeats.store.ts'

/** Whose devices training waits for, or is about to. */
export interface Wanting {
  readonly orgId: string | null
  /** Only members of the group may join; which devices those are is looked at then. */
  readonly groupId: string | null
  /** The organizations of its federation; null where it has none. */
  readonly memberOrgs: readonly string[] | null
}

export interface OpenRound extends Wanting {
  readonly id: string
}

/** What is to be announced to devices: the round that awaits each, by internal ids, and what they may join. */
export interface Announced {
  readonly pending: ReadonlyMap<string, { readonly roundId: string; readonly isPrivate: boolean }>
  /** The rounds whose new models devices are asked to evaluate, by device. */
  readonly evaluating: ReadonlyMap<string, string>
  readonly open: readonly OpenRound[]
  readonly wanting: readonly Wanting[]
}

export const NOTHING_ANNOUNCED: Announced = { pending: new Map(), evaluating: new Map(), open: [], wanting: [] }

/** Heartbeats that were answered before they were written are lost in a crash: those of so long. */
const FLUSH_MS = 1000
/** What another process wrote of a device is seen after this long, or at the next write. */
const KNOWN_MS = 300_000
const KNOWN_BYTES = 64 * 1024 * 1024
const BYTES_OF_ONE = 500

interface Known {
  readonly device: Received
  readonly metrics: string | null
}

/** A heartbeat as it was written, and what was to be announced then. */
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

/** None of the three holds a NUL. */
const rightsOf = ({ onlyId, onlyOrg, deviceId }: Beat): string => `${onlyId ?? ''}\0${onlyOrg ?? ''}\0${deviceId}`

/** Both as one: what a later beat leaves out, an earlier one may still say. */
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
 * Answers heartbeats that change nothing but their time from memory, and writes them together each second. All others, and
 * all while there is something to announce, or the database does not take what it is given, are answered after their commit.
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
  /** The rounds of which a write has said that there is nothing to announce; null: unknown. */
  let quietRounds: number | null = null
  let announcedAt = 0

  const metricsOf = ({ metrics }: Beat): string | null => (metrics === null ? null : JSON.stringify(metrics))

  const writeNow = async (rights: string, beat: Beat): Promise<Written> => {
    const rounds = changes.versionOf('rounds')
    const answer = await write(beat)
    if (answer.recorded === null) known.delete(rights)
    else {
      const metrics = metricsOf(beat) ?? known.peek(rights)?.metrics ?? null
      known.set(rights, { device: answer.recorded, metrics })
    }
    quietRounds = answer.isAnnounced || Date.now() - announcedAt < FLUSH_MS ? null : rounds
    return answer
  }

  const writeLate = async (): Promise<void> => {
    const beats = [...late]
    late = new Map()
    const failed = await Promise.all(
      beats.map(([rights, beat]) =>
        writeNow(rights, beat).then(
          () => null,
          () => [rights, beat] as const,
        ),
      ),
    )
    for (const each of failed) {
      if (each === null) continue
      const [rights, beat] = each
      const later = late.get(rights)
      late.set(rights, later === undefined ? beat : mergeBeats(beat, later))
      quietRounds = null
      startTimer()
    }
  }

  /** Resolves when all that was answered before this call is written, or the database has refused it, and is tried again later. */
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

  const defer = (rights: string, beat: Beat): Received | null => {
    if (beat.waitSeconds > 0 || quietRounds !== changes.versionOf('rounds')) return null
    const found = known.get(rights)
    if (found === undefined) return null
    const { device, metrics } = found
    const isNews =
      (beat.status ?? device.reported) !== device.reported ||
      (beat.trains ?? device.trains) !== device.trains ||
      (metricsOf(beat) ?? metrics) !== metrics ||
      slotAt(beat.at) !== slotAt(device.lastHeartbeat)
    if (isNews) return null
    // What it says again another key may contradict before it is written. Metrics go with it: another process may have changed them.
    late.set(rights, mergeBeats(late.get(rights), { ...beat, status: null, trains: null }))
    startTimer()
    return beat.at > device.lastHeartbeat ? { ...device, lastHeartbeat: beat.at } : device
  }

  return {
    flush,

    /** Something is being announced: what a write says meanwhile may be older. */
    announced(): void {
      announcedAt = Date.now()
      quietRounds = null
    },

    /** The device of a heartbeat that is written later; null: it cannot be. */
    defer: (beat: Beat): Received | null => defer(rightsOf(beat), beat),

    async record(beat: Beat): Promise<Written> {
      const rights = rightsOf(beat)
      // In the order in which they came, and each in its quarter of an hour.
      if (late.has(rights)) await flush()
      return writeNow(rights, beat)
    },

    async close(): Promise<void> {
      await flush()
      if (timer !== null) clearTimeout(timer)
    },
  }
}

/** Writes concurrent heartbeats together, and asks once for all of them what there is to announce. */
const createBatch = ({ database, store, announcedTo }: Omit<Parts, 'changes'>) =>
  createBatcher<Beat, Written>({
    maxBatch: 1000,
    run: async (beats) => {
      const merged = [...mergeByDevice(beats)].sort(([, a], [, b]) => (a.deviceId < b.deviceId ? -1 : 1))
      const at = new Map(merged.map(([rights], index) => [rights, index]))
      const { received: recorded, isAnnounced } = await store.beat(
        database.sql,
        merged.map(([, beat]) => beat),
      )
      const announced = isAnnounced
        ? await announcedTo([...new Set(recorded.flatMap((one) => one?.id ?? []))])
        : NOTHING_ANNOUNCED
      return beats.map((beat) => ({ recorded: recorded[at.get(rightsOf(beat))!] ?? null, announced, isAnnounced }))
    },
  })

/** One row per device. */
const mergeByDevice = (beats: readonly Beat[]): Map<string, Beat> => {
  const merged = new Map<string, Beat>()
  for (const beat of beats) {
    const rights = rightsOf(beat)
    merged.set(rights, mergeBeats(merged.get(rights), beat))
  }
  return merged
}
