import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { Work } from '../../domain/privacy/work.ts'
import { createTurns } from './turns.ts'

/** Each step of it takes a whole turn. */
function* lasting(steps: number, log: string[], name: string): Work<string> {
  for (let step = 0; step < steps; step++) {
    const until = performance.now() + 9
    while (performance.now() < until);
    log.push(name)
    yield
  }
  return name
}

it('computations take turns with each other, and with everything else', async () => {
  const inTurns = createTurns()
  const log: string[] = []
  const others = (async () => {
    for (let n = 0; n < 3; n++) {
      await nextTurn()
      log.push('.')
    }
  })()
  const found = await Promise.all([inTurns(lasting(3, log, 'a')), inTurns(lasting(3, log, 'b')), others])
  expect(found.slice(0, 2)).toEqual(['a', 'b'])
  expect(log.filter((entry) => entry !== '.').join('')).toBe('ababab')
  expect(log.slice(0, 4)).toContain('.')
})

it('one that fails leaves the others their turns, and later ones', async () => {
  const inTurns = createTurns()
  const failing = inTurns(
    // biome-ignore lint/correctness/useYield: it fails before it could pause
    (function* (): Work<void> {
      throw new Error('no such thing')
    })(),
  )
  const log: string[] = []
  const other = inTurns(lasting(2, log, 'a'))
  await expect(failing).rejects.toThrow('no such thing')
  expect(await other).toBe('a')
  expect(await inTurns(lasting(1, log, 'b'))).toBe('b')
})
