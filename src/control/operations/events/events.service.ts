import type { Caller } from '../../../domain/access.ts'
import { type EventTopic, topicsFor } from '../../../domain/event-topics.ts'
import { isOutage } from '../../../platform/db/transactions.ts'
import type { Context } from '../../context.ts'
import type { Place } from './event-tail.service.ts'
import { type EventFilter, isLater, outboxStore, type Position, type StoredEvent } from './outbox.store.ts'
import { createStreamAccess, type StreamAccess, type StreamAccessParts } from './stream-access.service.ts'

/** What a stream sends: that it starts, that it has missed events, an event, or a keep-alive. */
export type Frame =
  | { readonly kind: 'ready' | 'resync'; readonly id: number | null }
  | { readonly kind: 'event'; readonly event: StoredEvent }
  | { readonly kind: 'ping' }

interface Client {
  /** The id of the last event that it received; undefined to start now. */
  readonly lastEventId: string | undefined
  readonly gone: AbortSignal
}

const MAX_PER_KEY = 8
const MAX_PER_PROCESS = 1000
const PING_MS = 15_000
/** Clients reconnect after this time, which spreads streams over the processes. */
const LIFETIME_MS = 15 * 60_000
const REPLAYED_AT_ONCE = 500

/** A slow client takes long to receive events, and its access may end meanwhile. */
async function* permitted(events: readonly StoredEvent[], access: StreamAccess): AsyncGenerator<Frame> {
  for (const event of events) {
    if (access.untilNextCheckMs() === 0 && (await access.filter()) === null) return
    yield { kind: 'event', event }
  }
}

/** Event streams, each for one caller. */
export const createEvents = (context: Context, parts: StreamAccessParts) => {
  const { database } = context
  const { tail } = parts
  const streamsOf = new Map<string, number>()
  let streams = 0
  const watch = createStreamAccess(context, parts)

  /** Counts a new stream. False if the key or the process has as many as it may, or the service stops. */
  const enter = (key: string): boolean => {
    const count = streamsOf.get(key) ?? 0
    if (count >= MAX_PER_KEY || streams >= MAX_PER_PROCESS || tail.news.isClosed()) return false
    streamsOf.set(key, count + 1)
    streams++
    return true
  }

  const exit = (key: string): void => {
    streams--
    const left = streamsOf.get(key)! - 1
    if (left === 0) streamsOf.delete(key)
    else streamsOf.set(key, left)
  }

  /** Returns the position of the last event that the client received, or null if it was deleted or never existed. */
  const positionOf = async (lastEventId: string): Promise<Position | null> => {
    const id = /^\d{1,15}$/.test(lastEventId) ? Number(lastEventId) : null
    return id === null ? null : outboxStore.find(database.sql, id)
  }

  /** Yields the missed events, up to where the live stream continues. */
  async function* replay(from: Position, to: Position, access: StreamAccess): AsyncGenerator<Frame> {
    for (let at = from; ; ) {
      const filter = await access.filter()
      if (filter === null) return
      const range = { from: at, to }
      const events = await access.throughOutage(() =>
        outboxStore.between(database.sql, range, filter, REPLAYED_AT_ONCE),
      )
      yield* permitted(events, access)
      if (events.length < REPLAYED_AT_ONCE) return
      at = events.at(-1)!
    }
  }

  /** Yields live events until the stream's time is over; a client that reads too slowly reconnects with its last id. */
  async function* live(
    from: number,
    access: StreamAccess,
    { seen: last, gone }: { readonly seen: Position | null; readonly gone: AbortSignal },
  ): AsyncGenerator<Frame> {
    const endsAt = performance.now() + LIFETIME_MS
    let place = from
    let quietSince = performance.now()
    while (!gone.aborted && !tail.news.isClosed() && performance.now() < endsAt) {
      const seen = tail.news.version()
      const found = tail.since(place)
      // After reading, so that the check sees all revocations before these events.
      const filter = await access.filter()
      if (found === null || filter === null) return
      place = found.next
      // A process that reads later than another gets events again that the client has received from there.
      const events = found.events.filter((event) => isFor(event, filter) && (last === null || isLater(event, last)))
      yield* permitted(events, access)
      if (events.length > 0) quietSince = performance.now()
      const left = quietSince + PING_MS - performance.now()
      if (left > 0) {
        await tail.news.changedSince(seen, Math.min(left, access.untilNextCheckMs()), gone)
        continue
      }
      yield { kind: 'ping' }
      quietSince = performance.now()
    }
  }

  async function* follow(
    place: Place,
    access: StreamAccess,
    { lastEventId, gone, leave }: Client & { readonly leave: () => void },
  ): AsyncGenerator<Frame> {
    try {
      const from = lastEventId === undefined ? null : await access.throughOutage(() => positionOf(lastEventId))
      if (from !== null && place.position !== null) yield* replay(from, place.position, access)
      else yield { kind: lastEventId === undefined ? 'ready' : 'resync', id: place.position?.id ?? null }
      yield* live(place.next, access, { seen: from, gone })
    } catch (error) {
      if (!isOutage(error)) throw error
    } finally {
      leave()
    }
  }

  return {
    /**
     * Streams the events of the caller's organization from now on, or since the event with the id `lastEventId`, until
     * `gone` aborts, its time is over, or the service stops. Null if there are too many streams.
     * @throws forbidden for a topic that the caller may not read
     */
    async open(
      caller: Caller,
      requested: readonly EventTopic[] | null,
      client: Client,
    ): Promise<AsyncGenerator<Frame> | null> {
      const topics = topicsFor(caller, requested)
      const key = caller.rateKeyId ?? caller.keyId
      if (!enter(key)) return null
      try {
        const place = await tail.follow()
        let isFollowing = true
        const leave = (): void => {
          if (!isFollowing) return
          isFollowing = false
          tail.leave()
          exit(key)
        }
        // If a client disconnects before it was sent anything, the stream is never read to its end.
        client.gone.addEventListener('abort', leave)
        if (client.gone.aborted) leave()
        return follow(place, watch(caller, topics, client.gone), { ...client, leave })
      } catch (error) {
        exit(key)
        throw error
      }
    },
  }
}

const isFor = (event: StoredEvent, { orgId, federationIds, topics }: EventFilter): boolean =>
  (orgId === null ||
    event.orgId === orgId ||
    (event.federationId !== null && federationIds.includes(event.federationId))) &&
  topics.includes(event.subject.kind)

export type Events = ReturnType<typeof createEvents>
