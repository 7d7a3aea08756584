import { expect, test } from 'vitest'
import { createTimeSlices } from './time-slices.ts'

const never = new AbortController().signal

test('turns are taken one at a time, first come, first served', async () => {
  const turns = createTimeSlices(60_000)
  const order: string[] = []
  const work = async (name: string): Promise<void> => {
    const turn = await turns.take(never)
    order.push(`${name} begins`)
    await new Promise((resolve) => setTimeout(resolve, 5))
    order.push(`${name} ends`)
    turn.done()
    // Calling it twice must not end the next turn.
    turn.done()
  }
  await Promise.all([work('a'), work('b'), work('c')])
  expect(order).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
})

test('a long turn ends only when others are waiting', async () => {
  const turns = createTimeSlices(1)
  const long = await turns.take(never)
  await new Promise((resolve) => setTimeout(resolve, 30))
  expect(long.over.aborted).toBe(false)
  const next = turns.take(never)
  expect(long.over.aborted).toBe(true)
  long.done()
  const turn = await next
  expect(turn.over.aborted).toBe(false)
  const waiting = turns.take(never)
  await new Promise((resolve) => turn.over.addEventListener('abort', resolve))
  turn.done()
  ;(await waiting).done()
})

test('an aborted request does not get a turn', async () => {
  const turns = createTimeSlices(60_000)
  const first = await turns.take(never)
  const stop = new AbortController()
  const given = turns.take(stop.signal)
  const last = turns.take(never)
  stop.abort(new Error('not wanted any more'))
  await expect(given).rejects.toThrow('not wanted any more')
  await expect(turns.take(stop.signal)).rejects.toThrow('not wanted any more')
  first.done()
  ;(await last).done()
})
