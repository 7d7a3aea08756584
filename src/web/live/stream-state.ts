import type { StreamEvent } from './sse-parser.ts'

/** What the page knows of the world: `live` by the stream, `polling` where the service has none to give, else `offline`. */
export type Mode = 'connecting' | 'live' | 'polling' | 'offline'

export interface StreamState {
  readonly mode: Mode
  /** Of the last event seen; what the next connection asks to go on from. */
  readonly lastId: string | null
  /** Attempts in a row that brought nothing. */
  readonly failures: number
}

export const BEGINNING: StreamState = { mode: 'connecting', lastId: null, failures: 0 }

export type Input =
  | { readonly kind: 'opened' }
  | { readonly kind: 'event'; readonly event: StreamEvent }
  /** The answer was no stream, with this status. */
  | { readonly kind: 'refused'; readonly status: number }
  /** The stream ended, or the connection broke or was never made. */
  | { readonly kind: 'closed' }

export type Effect =
  | { readonly kind: 'connect'; readonly afterMs: number }
  | { readonly kind: 'poll'; readonly everyMs: number }
  | { readonly kind: 'announce'; readonly event: StreamEvent }
  /** Events were missed: everything in view is asked for again. */
  | { readonly kind: 'refetch' }
  | { readonly kind: 'check-session' }

export interface Step {
  readonly state: StreamState
  readonly effects: readonly Effect[]
}

const FIRST_DELAY_MS = 500
const MAX_DELAY_MS = 15_000
const POLL_MS = 5000
/** Somebody may have closed another stream in the meantime. */
const TRY_AGAIN_MS = 60_000

/** Doubling, with up to half of it taken off by chance, so that pages do not come back together after a restart. */
export const delayAfter = (failures: number, random: () => number): number =>
  Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(failures, 10)) * (1 - random() / 2)

const reconnect = (state: StreamState, mode: Mode, random: () => number): Step => ({
  state: { ...state, mode, failures: state.failures + 1 },
  effects: [{ kind: 'connect', afterMs: delayAfter(state.failures, random) }],
})

/** What a stream that did something does to the page. The one place where it is decided; all else carries it out. */
export const step = (state: StreamState, input: Input, random: () => number): Step => {
  switch (input.kind) {
    case 'opened':
      return {
        state: { ...state, mode: 'live', failures: 0 },
        // Nobody knows what happened before the first event that a stream without a last id sends.
        effects: state.lastId === null ? [{ kind: 'refetch' }] : [],
      }
    case 'event': {
      const { event } = input
      const next = { ...state, lastId: event.id === '' ? state.lastId : event.id }
      if (event.type === 'resync') return { state: next, effects: [{ kind: 'refetch' }] }
      return { state: next, effects: [{ kind: 'announce', event }] }
    }
    case 'refused':
      // No stream left for this person (204), a service without one (404), or one behind something that has none.
      if (input.status === 204 || input.status === 404 || input.status === 200) {
        return {
          state: { ...state, mode: 'polling', failures: 0, lastId: null },
          effects: [
            { kind: 'poll', everyMs: POLL_MS },
            { kind: 'connect', afterMs: TRY_AGAIN_MS },
          ],
        }
      }
      if (input.status === 401 || input.status === 403) {
        return { state: { ...state, mode: 'offline' }, effects: [{ kind: 'check-session' }] }
      }
      return reconnect(state, 'offline', random)
    case 'closed':
      // A stream that lived ends by the service's rule; the first new attempt is at once and nobody need know.
      return state.mode === 'live'
        ? { state: { ...state, mode: 'connecting' }, effects: [{ kind: 'connect', afterMs: 50 + random() * 200 }] }
        : reconnect(state, 'offline', random)
  }
}
