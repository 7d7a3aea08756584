import { plural } from '../../../domain/plural.ts'
import type { Engine } from '../../engines/engine.ts'
import { InferenceError } from '../../errors.ts'

/** OpenAI's clients and compatible ones ignore a Retry-After above a minute. */
const MAX_SECONDS = 60
/** The weight of the newest measurement: a change of load shows after about five requests. */
const WEIGHT = 0.2

/** Predicts when a slot will be free, from how long slots were held so far. */
const createForecast = (slots: number, now: () => number) => {
  const taken = new Set<{ readonly since: number }>()
  let average: number | null = null
  let promised: number[] = []

  /** Before any measurement, assumes the longest time that a slot has been held so far. */
  const typical = (time: number): number =>
    average ?? [...taken].reduce((longest, { since }) => Math.max(longest, time - since), 0)

  return {
    /** Records that a slot is taken. Call the result when it is released. */
    enter(): () => void {
      const slot = { since: now() }
      taken.add(slot)
      return () => {
        taken.delete(slot)
        const held = now() - slot.since
        average = average === null ? held : average + WEIGHT * (held - average)
      }
    },
    /**
     * Predicts the whole seconds, from 1 to 60, until a slot is free for a new request. Each prediction counts as a promise: the
     * next one is for the slot after it, so that clients do not all return for the same slot.
     */
    nextFree(): number {
      const time = now()
      promised = promised.filter((moment) => moment > time)
      const wait = ((promised.length + 1) * typical(time)) / slots
      const seconds = Math.min(MAX_SECONDS, Math.max(1, Math.ceil(wait / 1000)))
      promised.push(time + seconds * 1000)
      return seconds
    },
  }
}

export interface AdmissionOptions {
  /** How many choices the engine runs at the same time. */
  readonly slots: number
  /** How many requests may wait for their first slot; with 0, a request that cannot start at once is refused. */
  readonly maxQueue: number
  /** How long a request waits for its first slot before it is refused. */
  readonly timeoutMs: number
  /** What the slots are for, in the words of refusals, if not replies: ' counting tokens'. */
  readonly work?: string
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/** A slot of the engine, held until it is released; releasing twice does nothing. */
export interface Slot {
  release(): void
}

/**
 * Controls access to an engine: first come, first served. It counts the engine's slots in this process. In llama.cpp's process,
 * engines/llama/slot-manager.ts assigns them, and may let a choice wait for a prompt with the same beginning.
 */
export interface Admission {
  /**
   * Requests this many slots. They are granted one by one as they become free, all of them before any later request, so that a
   * request for many is not overtaken forever. Aborting `signal` cancels those not granted yet.
   * @throws InferenceError queue_full
   */
  enter(count: number, signal: AbortSignal): readonly Promise<Slot>[]
  /** Counts requests that have no slot yet. */
  waiting(): number
  /** Counts slots in use. */
  busy(): number
}

interface Waiter {
  readonly resolve: (slot: Slot) => void
  readonly reject: (reason: unknown) => void
}

interface Ticket {
  readonly waiters: Waiter[]
  started: boolean
  readonly end: () => void
}

const seconds = (count: number): string => plural(count, 'second')

export const createAdmission = ({ slots, maxQueue, timeoutMs, work = '', now }: AdmissionOptions): Admission => {
  const line: Ticket[] = []
  const forecast = createForecast(slots, now)
  let busy = 0

  const waiting = (): number => line.filter(({ started }) => !started).length

  const refusal = (reason: string): InferenceError => {
    const retryAfterSeconds = forecast.nextFree()
    return new InferenceError('queue_full', `${reason} Try again in ${seconds(retryAfterSeconds)}.`, {
      retryAfterSeconds,
    })
  }

  const take = (): Slot => {
    const leave = forecast.enter()
    let held = true
    busy++
    return {
      release() {
        if (!held) return
        held = false
        busy--
        leave()
        serve()
      },
    }
  }

  const serve = (): void => {
    for (let head = line[0]; head !== undefined && busy < slots; head = line[0]) {
      head.started = true
      head.waiters.shift()!.resolve(take())
      if (head.waiters.length > 0) continue
      line.shift()
      head.end()
    }
  }

  const giveUp = (ticket: Ticket, reason: unknown): void => {
    const index = line.indexOf(ticket)
    if (index >= 0) line.splice(index, 1)
    ticket.end()
    for (const waiter of ticket.waiters.splice(0)) waiter.reject(reason)
    serve()
  }

  return {
    enter(count, signal) {
      signal.throwIfAborted()
      const startsAtOnce = line.length === 0 && busy < slots
      if (!startsAtOnce && waiting() >= maxQueue) {
        throw refusal(
          maxQueue === 0
            ? `The engine is busy${work} (at most ${slots} at once), and this server has no queue.`
            : `The engine is busy${work} (at most ${slots} at once), and the queue is full (${plural(maxQueue, 'request')}).`,
        )
      }
      const tooLate = setTimeout(() => {
        if (!ticket.started)
          giveUp(
            ticket,
            refusal(`The request waited ${seconds(timeoutMs / 1000)} in the queue, the maximum on this server.`),
          )
      }, timeoutMs)
      const leave = (): void => giveUp(ticket, signal.reason)
      signal.addEventListener('abort', leave, { once: true })
      const end = (): void => {
        clearTimeout(tooLate)
        signal.removeEventListener('abort', leave)
      }
      const ticket: Ticket = { waiters: [], started: false, end }
      const given = Array.from(
        { length: count },
        () => new Promise<Slot>((resolve, reject) => ticket.waiters.push({ resolve, reject })),
      )
      line.push(ticket)
      serve()
      return given
    },
    waiting,
    busy: () => busy,
  }
}

/** Runs `work` with one slot held. @throws InferenceError queue_full */
export const withSlot = async <T>(admission: Admission, signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
  const slot = await admission.enter(1, signal)[0]!
  try {
    return await work()
  } finally {
    slot.release()
  }
}

/** The queue of each engine. */
export interface Admissions {
  of(engine: Engine): Admission
}

export const createAdmissions = (
  options: Omit<AdmissionOptions, 'slots'>,
  slotsOf = ({ slots }: Engine): number => slots,
): Admissions => {
  const known = new WeakMap<Engine, Admission>()
  return {
    of(engine) {
      const admission = known.get(engine) ?? createAdmission({ ...options, slots: slotsOf(engine) })
      known.set(engine, admission)
      return admission
    },
  }
}
