import { getEventListeners } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { abortWith, anySignal } from './any-signal.ts'

it('aborts with a timeout that nothing else refers to, although garbage is collected', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage: () => void = runInNewContext('gc')
  const stopping = new AbortController()
  const whole = anySignal(stopping.signal, AbortSignal.timeout(60_000))
  let reason: Error | null = null
  anySignal(whole, undefined, AbortSignal.timeout(50)).addEventListener('abort', ({ target }) => {
    reason = (target as AbortSignal).reason
  })
  while (reason === null) {
    await setImmediate()
    collectGarbage()
  }
  expect(reason).toMatchObject({ name: 'TimeoutError' })
})

it('aborts with the reason of the first that does, and is that one if there is no other', () => {
  const [one, other] = [new AbortController(), new AbortController()]
  const signal = anySignal(one.signal, undefined, other.signal)
  expect(signal.aborted).toBe(false)
  other.abort('stop')
  expect(signal.reason).toBe('stop')
  expect(anySignal(undefined, one.signal)).toBe(one.signal)
})

it('aborts controllers with a signal until they stop following it, with one listener for all', () => {
  const source = new AbortController()
  const [one, other, late] = [new AbortController(), new AbortController(), new AbortController()]
  const leave = abortWith(source.signal, one)
  abortWith(source.signal, other)
  expect(getEventListeners(source.signal, 'abort')).toHaveLength(1)
  leave()
  leave()
  source.abort('stop')
  expect([one.signal.aborted, other.signal.reason]).toEqual([false, 'stop'])
  abortWith(source.signal, late)()
  expect(late.signal.reason).toBe('stop')
})
