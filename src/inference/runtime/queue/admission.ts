import { InferenceError } from '../../errors.ts'
import { createForecast } from './forecast.ts'

export interface AdmissionOptions {
  /** How many choices the engine runs at the same time. */
  readonly slots: number
  /** How many requests may wait for their first slot; 0: who cannot start at once is refused. */
  readonly maxQueue: number
  /** How long a request waits for its first slot before it is refused after all. */
  readonly timeoutMs: number
  /** Milliseconds that only ever grow. */
  readonly now: () => number
}

/** A slot of the engine, held until it is released; releasing twice does nothing. */
export interface Place {
  release(): void
}

/** Who may use an engine, and in which order: first come, first served. */
export interface Admission {
  /**
   * Asks for this many slots. They are given one by one as they come free, all of them before anybody who asks later, so
   * that a request for many is not overtaken for ever. Those not given yet are given up when `signal` is aborted.
   * @throws InferenceError queue_full
   */
  enter(places: number, signal: AbortSignal): readonly Promise<Place>[]
  /** Requests that have no slot yet. */
  waiting(): number
  /** Slots in use. */
  busy(): number
}

interface Waiter {
  readonly resolve: (place: Place) => void
  readonly reject: (reason: unknown) => void
}

interface Ticket {
  readonly waiters: Waiter[]
  started: boolean
  readonly end: () => void
}

const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`
const seconds = (count: number): string => plural(count, 'second')

export const createAdmission = ({ slots, maxQueue, timeoutMs, now }: AdmissionOptions): Admission => {
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

  const take = (): Place => {
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
    enter(places, signal) {
      signal.throwIfAborted()
      const startsAtOnce = line.length === 0 && busy < slots
      if (!startsAtOnce && waiting() >= maxQueue) {
        throw refusal(
          maxQueue === 0
            ? `The engine is busy with all it can do at once (${slots}), and this server keeps no queue.`
            : `The engine is busy with all it can do at once (${slots}), and ${plural(maxQueue, 'more request')} in the queue.`,
        )
      }
      const tooLate = setTimeout(() => {
        if (!ticket.started)
          giveUp(
            ticket,
            refusal(
              `The request waited ${seconds(timeoutMs / 1000)} in the queue, which is as long as this server lets one wait.`,
            ),
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
        { length: places },
        () => new Promise<Place>((resolve, reject) => ticket.waiters.push({ resolve, reject })),
      )
      line.push(ticket)
      serve()
      return given
    },
    waiting,
    busy: () => busy,
  }
}
