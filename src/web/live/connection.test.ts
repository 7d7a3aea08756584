import { afterEach, expect, it, vi } from 'vitest'
import { keepConnected } from './connection.ts'
import type { Mode } from './stream-state.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

it('treats a stream that is silent for three pings as lost, and reconnects from the last event', async () => {
  vi.useFakeTimers()
  const asked: (string | null)[] = []
  let send = (_text: string): void => undefined
  vi.stubGlobal('fetch', async (_path: string, { headers, signal }: { headers: Headers; signal: AbortSignal }) => {
    asked.push(new Headers(headers).get('last-event-id'))
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        send = (text) => controller.enqueue(new TextEncoder().encode(text))
        signal.addEventListener('abort', () => controller.error(signal.reason))
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  })
  const modes: Mode[] = []
  const control = new AbortController()
  keepConnected({ onEffect: () => undefined, onState: ({ mode }) => modes.push(mode) }, control.signal)
  await vi.advanceTimersByTimeAsync(0)
  send('id: 7\nevent: round.completed\ndata: {}\n\n')
  for (let pings = 0; pings < 5; pings++) {
    await vi.advanceTimersByTimeAsync(15_000)
    send(': ping\n\n')
  }
  await vi.advanceTimersByTimeAsync(44_000)
  expect([asked, modes.at(-1)]).toEqual([[null], 'live'])
  await vi.advanceTimersByTimeAsync(2000)
  expect([asked, modes.at(-1)]).toEqual([[null, '7'], 'live'])
  expect(modes).toContain('connecting')
  control.abort()
})
