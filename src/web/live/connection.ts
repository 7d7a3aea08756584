import { anySignal } from '../../domain/any-signal.ts'
import { backgroundHeaders } from '../api/user-input.ts'
import { newParser, parseChunk } from './sse-parser.ts'
import { BEGINNING, type Effect, type Input, type StreamState, step } from './stream-state.ts'

export interface Listener {
  /** Called for every effect except `connect`. */
  onEffect(effect: Exclude<Effect, { kind: 'connect' }>): void
  onState(state: StreamState): void
}

/** Three ping intervals: the service pings every 15 s. */
const SILENCE_MS = 45_000

/** Returns a signal that aborts with `signal`, or if `alive` is not called for SILENCE_MS. */
const watch = (signal: AbortSignal): { readonly signal: AbortSignal; alive(): void; end(): void } => {
  const silence = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const end = (): void => clearTimeout(timer)
  const alive = (): void => {
    end()
    timer = setTimeout(() => silence.abort(), SILENCE_MS)
  }
  alive()
  return { signal: anySignal(signal, silence.signal), alive, end }
}

const read = async (
  { signal, alive }: ReturnType<typeof watch>,
  lastId: string | null,
  take: (input: Input) => void,
): Promise<void> => {
  const response = await fetch('/api/v1/events', {
    headers: {
      accept: 'text/event-stream',
      ...(lastId !== null && { 'last-event-id': lastId }),
      ...backgroundHeaders(),
    },
    signal,
  })
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  if (response.status !== 200 || !isStream || response.body === null) {
    await response.body?.cancel()
    return take({ kind: 'refused', status: response.status })
  }
  take({ kind: 'opened' })
  let parser = newParser(lastId ?? '')
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    alive()
    const { done, value } = await reader.read()
    if (done) return take({ kind: 'closed' })
    const parsed = parseChunk(parser, value)
    parser = parsed.parser
    for (const event of parsed.events) take({ kind: 'event', event })
  }
}

/** Keeps one event stream open until `signal` is aborted. The logic is in `stream-state.ts`. */
export const keepConnected = (listener: Listener, signal: AbortSignal): void => {
  let state = BEGINNING
  let timer: ReturnType<typeof setTimeout> | undefined

  const take = (input: Input): void => {
    const next = step(state, input, Math.random)
    state = next.state
    listener.onState(state)
    for (const effect of next.effects) {
      if (effect.kind === 'connect') timer = setTimeout(connect, effect.afterMs)
      else listener.onEffect(effect)
    }
  }

  const connect = (): void => {
    if (signal.aborted) return
    const watched = watch(signal)
    read(watched, state.lastId, take)
      .catch(() => {
        if (!signal.aborted) take({ kind: 'closed' })
      })
      .finally(watched.end)
  }

  signal.addEventListener('abort', () => clearTimeout(timer))
  connect()
}
