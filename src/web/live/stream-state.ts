import type { StreamEvent } from './sse-parser.ts'

/** How the page receives changes: `live` from the stream, `polling` if the service offers no stream, otherwise `offline`. */
export type Mode = 'connecting' | 'live' | 'polling' | 'offline'

export interface StreamState {
  readonly mode: Mode
  /** Id of the last event, from which the next connection resumes. */
  readonly lastId: string | null
  /** Consecutive failed attempts. */
  readonly failures: number
  /** There was a stream before: since then, another user may have signed in. */
  readonly hasOpened: boolean
}

export const BEGINNING: StreamState = { mode: 'connecting', lastId: null, failures: 0, hasOpened: false }

export type Input =
  | { readonly kind: 'opened' }
  | { readonly kind: 'event'; readonly event: StreamEvent }
  /** The response was not a stream, but had this status. */
  | { readonly kind: 'refused'; readonly status: number }
  /** The stream ended, the connection broke, or it could not be made. */
  | { readonly kind: 'closed' }

export type Effect =
  | { readonly kind: 'connect'; readonly afterMs: number }
  | { readonly kind: 'poll'; readonly everyMs: number }
  | { readonly kind: 'announce'; readonly event: StreamEvent }
  /** Events were missed: refetch everything in view. */
  | { readonly kind: 'refetch' }
  | { readonly kind: 'check-session' }

export interface Step {
  readonly state: StreamState
  readonly effects: readonly Effect[]
}

const FIRST_DELAY_MS = 500
const MAX_DELAY_MS = 15_000
const POLL_MS = 5000
/** Another stream may have been closed in the meantime. */
const TRY_AGAIN_MS = 60_000

/** Exponential backoff, reduced randomly by up to half, so that pages do not reconnect simultaneously after a restart. */
export const delayAfter = (failures: number, random: () => number): number =>
  Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(failures, 10)) * (1 - random() / 2)

const reconnect = (state: StreamState, mode: Mode, random: () => number): Step => ({
  state: { ...state, mode, failures: state.failures + 1 },
  effects: [{ kind: 'connect', afterMs: delayAfter(state.failures, random) }],
})

/** Returns the next state and its effects. All decisions are made here; other code only carries them out. */
export const step = (state: StreamState, input: Input, random: () => number): Step => {
  switch (input.kind) {
    case 'opened':
      return {
        state: { ...state, mode: 'live', failures: 0, hasOpened: true },
        // Without a last id, events before the first one may have been missed.
        effects: [
          ...(state.hasOpened ? [{ kind: 'check-session' } as const] : []),
          ...(state.lastId === null ? [{ kind: 'refetch' } as const] : []),
        ],
      }
    case 'event': {
      const { event } = input
      const next = { ...state, lastId: event.id === '' ? state.lastId : event.id }
      if (event.type === 'resync') return { state: next, effects: [{ kind: 'refetch' }] }
      return { state: next, effects: [{ kind: 'announce', event }] }
    }
    case 'refused':
      // Too many streams are open (204), the service has none (404), or something in front of it does not pass it on.
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
        // A session that has ended stops the stream; one that turns out to be valid needs it again. The service can be reached.
        const { state: next, effects } = reconnect(state, 'connecting', random)
        return { state: next, effects: [{ kind: 'check-session' }, ...effects] }
      }
      return reconnect(state, 'offline', random)
    case 'closed':
      // The service ends every stream after a while: reconnects almost at once, without showing `offline`.
      return state.mode === 'live'
        ? { state: { ...state, mode: 'connecting' }, effects: [{ kind: 'connect', afterMs: 50 + random() * 200 }] }
        : reconnect(state, 'offline', random)
  }
}
