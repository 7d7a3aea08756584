import { keepConnected } from './connection.ts'
import type { Effect, Mode } from './stream-state.ts'

/** What the tab with the stream tells the others. */
type Message =
  | { readonly kind: 'mode'; readonly mode: Mode }
  | { readonly kind: 'effect'; readonly effect: Exclude<Effect, { kind: 'connect' }> }
  /** A tab has just been opened and asks how things stand. */
  | { readonly kind: 'hello' }

const CHANNEL = 'tributary-live'

/**
 * One stream for all tabs of this browser, because it keeps a connection of the six that it has for a host. The tab that gets the
 * lock has the stream; when it is closed, the lock and with it the stream go to another one.
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
  // Browsers have locks only where they trust the connection; on plain http each tab has a stream of its own.
  if (!('locks' in navigator)) {
    void lead()
    return
  }
  navigator.locks.request(CHANNEL, { signal }, lead).catch(() => undefined)
}
