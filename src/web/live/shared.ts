import { keepConnected } from './connection.ts'
import type { Effect, Mode } from './stream-state.ts'

/** A message between tabs. */
type Message =
  | { readonly kind: 'mode'; readonly mode: Mode }
  | { readonly kind: 'effect'; readonly effect: Exclude<Effect, { kind: 'connect' }> }
  /** A new tab asks for the current mode. */
  | { readonly kind: 'hello' }

const CHANNEL = 'tributary-live'

/**
 * Shares one stream between all tabs, because it occupies one of the browser's six connections per host. The tab that gets the
 * lock has the stream. When that tab is closed, another one gets the lock.
 */
export const shareStream = (
  onMode: (mode: Mode) => void,
  onEffect: (effect: Exclude<Effect, { kind: 'connect' }>) => void,
  signal: AbortSignal,
): void => {
  const channel = new BroadcastChannel(CHANNEL)
  const tell = (reported: Message): void => channel.postMessage(reported)
  let mode: Mode = 'connecting'
  let leads = false

  channel.addEventListener('message', ({ data }: MessageEvent<Message>) => {
    if (data.kind === 'hello') {
      if (leads) tell({ kind: 'mode', mode })
    } else if (data.kind === 'mode') onMode(data.mode)
    else onEffect(data.effect)
  })
  signal.addEventListener('abort', () => channel.close())

  const lead = (): Promise<void> => {
    leads = true
    keepConnected(
      {
        onState(state) {
          if (state.mode === mode) return
          mode = state.mode
          onMode(mode)
          tell({ kind: 'mode', mode })
        },
        onEffect(effect) {
          onEffect(effect)
          tell({ kind: 'effect', effect })
        },
      },
      signal,
    )
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve()))
  }

  tell({ kind: 'hello' })
  // Locks are available in secure contexts only; over plain HTTP, each tab has its own stream.
  if (!('locks' in navigator)) {
    void lead()
    return
  }
  navigator.locks.request(CHANNEL, { signal }, lead).catch(() => undefined)
}
