import { createChangeNotifier } from '../../../platform/events/change-notifier.ts'
import type { Context } from '../../context.ts'
import { outboxStore, type Position, type StoredEvent } from './outbox.store.ts'

/** A follower's position in what this process has read. */
export interface Place {
  /** Index of the next event, counted since the process began to read. */
  readonly next: number
  /** Position of the event before it; null if there is none. */
  readonly position: Position | null
}

const READ_AT_ONCE = 500
/** How many events stay in memory for slower followers. */
const KEPT = 2000
/** Reads again after this time, because hints may be lost. */
const LOOK_AGAIN_MS = 2000
/** An open transaction holds events back, and its end sends no notification. */
const HELD_BACK_MS = 100

const NEVER = new AbortController().signal

/** Reads the outbox once for all followers in this process, and only while there are any. */
export const createEventTail = ({
  database,
  log,
}: Pick<Context, 'database'> & { readonly log: { error(fields: object, message: string): void } }) => {
  const hints = createChangeNotifier<'hint'>()
  const news = createChangeNotifier<'event' | 'revocation'>()
  let position: Position | null = null
  let recent: StoredEvent[] = []
  let next = 0
  let followers = 0
  let started: Promise<void> | null = null
  let running: Promise<void> = Promise.resolve()

  const take = (events: readonly StoredEvent[]): void => {
    if (events.length === 0) return
    const { tx, id } = events.at(-1)!
    position = { tx, id }
    next += events.length
    recent = [...recent, ...events].slice(-KEPT)
    news.notify('event')
  }

  /** Reads new events; returns true if an open transaction holds more of them back. */
  const readOn = async (): Promise<boolean> => {
    for (;;) {
      const found = await outboxStore.after(database.sql, position, READ_AT_ONCE)
      const heldBack = found.findIndex(({ isSettled }) => !isSettled)
      take(heldBack === -1 ? found : found.slice(0, heldBack))
      if (heldBack !== -1) return true
      if (found.length < READ_AT_ONCE) return false
    }
  }

  const run = async (): Promise<void> => {
    const stop = database.hints.listen('events', () => hints.notify('hint'))
    while (followers > 0 && !hints.isClosed()) {
      const seen = hints.version()
      const isHeldBack = await readOn().catch((error: unknown) => {
        log.error({ err: error }, 'events could not be read; they will be read again')
        return false
      })
      await hints.changedSince(seen, isHeldBack ? HELD_BACK_MS : LOOK_AGAIN_MS, NEVER)
    }
    stop()
    started = null
  }

  const start = async (): Promise<void> => {
    position = await outboxStore.head(database.sql)
    recent = []
    running = run()
  }

  return {
    /** Starts to follow at the newest event; each follower must call `leave` once. */
    async follow(): Promise<Place> {
      followers++
      try {
        started ??= start()
        await started
      } catch (error) {
        followers--
        started = null
        throw error
      }
      return { next, position }
    },

    leave(): void {
      followers--
    },

    /** Returns the events read since then, or null if there are more than are kept. */
    since(place: number): { readonly events: readonly StoredEvent[]; readonly next: number } | null {
      const behind = next - place
      if (behind > recent.length) return null
      return { events: behind === 0 ? [] : recent.slice(-behind), next }
    },

    news,

    async close(): Promise<void> {
      hints.close()
      news.close()
      await running
    },
  }
}

export type EventTail = ReturnType<typeof createEventTail>
