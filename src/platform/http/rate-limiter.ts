import { LRUCache } from 'lru-cache'

const MINUTE_MS = 60_000
/** Requests of the current second and the 60 before it count, so that no 60 seconds have more than the limit. */
const COUNTED_SECONDS = 61
/** A key's counts are exchanged with other processes once they reach this share of the limit. */
const HOT = 0.25
/** About 35 MB. An evicted key's count restarts, which only a flood of other valid keys can cause. */
const MAX_KEYS = 100_000

/**
 * Lets several processes share one limit without a lookup per request. Called once a second with this process's counts since
 * the last call, for busy keys only; adds them up and returns the totals over all processes. The names are opaque,
 * `<key>@<minute>`, and may be forgotten after two minutes.
 */
export interface RateLimitSync {
  exchange(deltas: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, number>>
}

interface Count {
  /** Pairs of a second and its requests, oldest first: our own and, after an exchange, those of the other processes. */
  readonly seconds: number[]
  /** The sum over `seconds`. */
  requests: number
  minute: number
  /** The requests of this minute that have been exchanged, over all processes. */
  exchanged: number
  /** The first second of this minute whose requests to other processes are unknown. */
  unknownFrom: number
  unreported: number
}

export interface Verdict {
  readonly allowed: boolean
  readonly limit: number
  readonly remaining: number
  /** Until the oldest request no longer counts. */
  readonly resetSeconds: number
  /** Until one more request is allowed; 0 if this one was. */
  readonly retryAfterSeconds: number
}

export interface RateLimiter {
  /** Counts one request; refused requests do not count. */
  take(key: string): Verdict
  /** Returns what `take` would return now, without counting. */
  look(key: string): Verdict
  exchange(): Promise<void>
}

const add = (count: Count, second: number, requests: number): void => {
  const { seconds } = count
  count.requests += requests
  if (seconds.at(-2) === second) seconds[seconds.length - 1]! += requests
  else seconds.push(second, requests)
}

/** Adds requests whose seconds are unknown, evenly over those from `first` to `last`. Needs `forget` for `last` first. */
const addEvenly = (count: Count, first: number, last: number, requests: number): void => {
  const { seconds } = count
  let at = seconds.length
  while (at > 0 && seconds[at - 2]! >= first) at -= 2
  const own = seconds.splice(at)
  const share = requests / (last - first + 1)
  for (let second = first, added = 0; second <= last; second++) {
    const due = second === last ? requests : Math.floor(share * (second - first + 1))
    const counted = due - added + (own[0] === second ? own.splice(0, 2)[1]! : 0)
    if (counted > 0) seconds.push(second, counted)
    added = due
  }
  count.requests += requests
}

/** Forgets what no longer counts, and everything if the clock was set back. */
const forget = (count: Count, second: number): void => {
  const { seconds } = count
  let past = 0
  while (past < seconds.length && (seconds[past]! <= second - COUNTED_SECONDS || seconds.at(-2)! > second)) {
    count.requests -= seconds[past + 1]!
    past += 2
  }
  if (past > 0) seconds.splice(0, past)
}

/** Whole seconds until at most `left` of the requests still count. */
const secondsUntil = ({ seconds, requests }: Count, left: number, time: number): number => {
  let counted = requests
  let at = 0
  while (counted > left && at < seconds.length) {
    counted -= seconds[at + 1]!
    at += 2
  }
  return at === 0 ? 0 : Math.ceil(seconds[at - 2]! + COUNTED_SECONDS - time / 1000)
}

/** Counts requests by the second in which they arrive. */
export const createRateLimiter = (options: {
  readonly perMinute: number
  readonly now: () => number
  readonly sync?: RateLimitSync | null
  readonly maxKeys?: number
}): RateLimiter => {
  const { perMinute: limit, now, sync = null } = options
  // Not `max`, which allocates space for all entries at once, 1.2 MB per 100,000.
  const counts = new LRUCache<string, Count>({ maxSize: options.maxKeys ?? MAX_KEYS, sizeCalculation: () => 1 })
  const hot = new Set<string>()

  const countOf = (key: string, time: number): Count => {
    const minute = Math.floor(time / MINUTE_MS)
    let count = counts.get(key)
    if (count === undefined) {
      count = { seconds: [], requests: 0, minute, exchanged: 0, unknownFrom: minute * 60, unreported: 0 }
      counts.set(key, count)
    } else if (count.minute !== minute) {
      count.minute = minute
      count.exchanged = 0
      count.unknownFrom = minute * 60
      count.unreported = 0
    }
    return count
  }

  const judge = (key: string, counted: boolean): Verdict => {
    const time = now()
    const second = Math.floor(time / 1000)
    const count = countOf(key, time)
    forget(count, second)
    const left = limit - count.requests
    const allowed = left > 0
    if (allowed && counted) {
      // Others would count the earlier requests of a rarely used key from now on, long after they no longer count here.
      const isNewSecond = count.seconds.at(-2) !== second
      add(count, second, 1)
      const isHot = count.requests >= limit * HOT
      count.unreported = isHot || !isNewSecond ? count.unreported + 1 : 1
      if (sync !== null && isHot) hot.add(key)
    }
    return {
      allowed,
      limit,
      remaining: Math.max(0, left - 1),
      resetSeconds: secondsUntil(count, count.requests - 1, time),
      retryAfterSeconds: allowed ? 0 : secondsUntil(count, limit - 1, time),
    }
  }

  return {
    take: (key) => judge(key, true),
    look: (key) => judge(key, false),

    async exchange() {
      if (sync === null || hot.size === 0) return
      const sent = [...hot].flatMap((key) => {
        const count = counts.peek(key)
        if (count === undefined || count.unreported === 0) return []
        const { minute, unreported: delta } = count
        return [{ key, count, name: `${key}@${minute}`, minute, delta }]
      })
      hot.clear()
      if (sent.length === 0) return
      for (const { count } of sent) count.unreported = 0
      try {
        const totals = await sync.exchange(new Map(sent.map(({ name, delta }) => [name, delta])))
        const second = Math.floor(now() / 1000)
        for (const { count, name, minute, delta } of sent) {
          const total = totals.get(name)
          if (total === undefined || count.minute !== minute) continue
          const others = total - count.exchanged - delta
          forget(count, second)
          if (others > 0) addEvenly(count, Math.min(count.unknownFrom, second), second, others)
          count.exchanged = total
          count.unknownFrom = second + 1
        }
      } catch (error) {
        for (const { key, count, minute, delta } of sent) {
          if (count.minute === minute) count.unreported += delta
          hot.add(key)
        }
        throw error
      }
    },
  }
}
