import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { Residents } from './residents.ts'

interface Loaded {
  readonly name: string
  readonly bytes: number
}

/** Residents of plain values, with a record of loads and closes in order. */
const open = (budgetBytes: number, timeoutMs = 60_000, unloadAfterMs?: number) => {
  const events: string[] = []
  const residents = new Residents<Loaded>({
    budgetBytes,
    timeoutMs,
    ...(unloadAfterMs !== undefined && { unloadAfterMs }),
    bytesOf: ({ bytes }) => bytes,
    close: async ({ name }) => {
      await turn()
      events.push(`closed ${name}`)
    },
  })
  const acquire = (
    name: string,
    bytes = 1,
    { signal = new AbortController().signal, takes = bytes, gate = turn() as Promise<unknown> } = {},
  ) =>
    residents.acquire(
      {
        name,
        expectedBytes: bytes,
        load: async () => {
          await gate
          events.push(`loaded ${name}`)
          return { name, bytes: takes }
        },
      },
      signal,
    )
  const names = () => residents.loaded.map(({ name }) => name)
  return { residents, events, acquire, names }
}

const stopTimers = (): void => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
}

const settle = async (): Promise<void> => {
  for (let round = 0; round < 20; round++) await turn()
}

it('concurrent first requests load a value once, and it stays after they are done', async () => {
  const { acquire, events, names } = open(10)
  const all = await Promise.all(Array.from({ length: 20 }, () => acquire('a')))
  expect(new Set(all.map(({ value }) => value)).size).toBe(1)
  for (const { release } of all) release()
  expect((await acquire('a')).value).toBe(all[0]!.value)
  expect([events, names()]).toEqual([['loaded a'], ['a']])
})

it('the least recently used idle value makes room', async () => {
  const { acquire, events, names } = open(3)
  for (const name of ['a', 'b', 'c', 'a', 'd', 'b']) (await acquire(name)).release()
  expect(events).toEqual(['loaded a', 'loaded b', 'loaded c', 'closed b', 'loaded d', 'closed c', 'loaded b'])
  expect(names()).toEqual(['a', 'd', 'b'])
})

it('an idle value is closed after the idle time, one in use is not, and requests that arrive meanwhile load it again', async () => {
  const { residents, acquire, events, names } = open(10, 60_000, 1)
  const [a, b] = [await acquire('a'), await acquire('b')]
  a.release()
  await expect.poll(names).toEqual(['b'])
  expect(events).toEqual(['loaded a', 'loaded b', 'closed a'])
  const again = await acquire('a')
  b.release()
  await expect.poll(names).toEqual(['a'])
  again.release()
  // Some of these find it idle, some while it is being closed, and some gone.
  for (let n = 0; n < 200; n++) {
    const { value, release } = await acquire('a')
    expect(value.name).toBe('a')
    await sleep(n % 4)
    release()
    await sleep(n % 3)
  }
  await expect.poll(names).toEqual([])
  const [loads, closes] = ['loaded a', 'closed a'].map((event) => events.filter((one) => one === event).length)
  expect(closes).toBe(loads)
  expect(loads).toBeGreaterThan(2)
  await acquire('c').then(({ release }) => release())
  await residents.close()
  expect(names()).toEqual([])
})

it('a value that was used again while its unloading waited for a load is idle from then on', async () => {
  stopTimers()
  const { acquire, events } = open(10, 60_000, 100)
  let go = (): void => undefined
  const held = new Promise<void>((resolve) => {
    go = resolve
  })
  ;(await acquire('a')).release()
  const slow = acquire('b', 1, { gate: held })
  vi.advanceTimersByTime(100)
  ;(await acquire('a')).release()
  go()
  await slow
  await settle()
  expect(events).toEqual(['loaded a', 'loaded b'])
  vi.advanceTimersByTime(100)
  await settle()
  expect(events).toEqual(['loaded a', 'loaded b', 'closed a'])
})

it('closing leaves nothing to the idle time, so that each value is closed once', async () => {
  stopTimers()
  let go = (): void => undefined
  const gate = new Promise<void>((resolve) => {
    go = resolve
  })
  const events: string[] = []
  const residents = new Residents<string>({
    budgetBytes: 10,
    timeoutMs: 60_000,
    unloadAfterMs: 1,
    bytesOf: () => 1,
    close: (name) => {
      events.push(name)
      return gate
    },
  })
  const [a, b] = await Promise.all(
    ['a', 'b'].map((name) =>
      residents.acquire({ name, expectedBytes: 1, load: async () => name }, new AbortController().signal),
    ),
  )
  a!.release()
  const closed = residents.close()
  await settle()
  expect(events).toEqual(['a'])
  b!.release()
  vi.advanceTimersByTime(1)
  await settle()
  go()
  await closed
  expect(events).toEqual(['a', 'b'])
})

it('a load that all requests have abandoned is closed after the idle time, too', async () => {
  const { acquire, names, events } = open(10, 60_000, 1)
  const aborted = new AbortController()
  let go = (): void => undefined
  const held = new Promise<void>((resolve) => {
    go = resolve
  })
  const asked = acquire('a', 1, { signal: aborted.signal, gate: held })
  await settle()
  aborted.abort()
  await expect(asked).rejects.toThrow()
  go()
  await expect.poll(() => events).toEqual(['loaded a', 'closed a'])
  expect(names()).toEqual([])
})

it('a value in use is not closed, however long it has been in use', async () => {
  const { acquire, events, names } = open(3)
  await acquire('a')
  for (const name of ['b', 'c', 'd', 'e', 'f']) (await acquire(name)).release()
  expect(names()).toEqual(['a', 'e', 'f'])
  expect(events).not.toContain('closed a')
})

it('a load waits for room that is in use, and releasing twice frees nothing more', async () => {
  const { acquire, events } = open(2)
  const [first, second] = [await acquire('a', 2), await acquire('a', 2)]
  const waiting = acquire('b', 1)
  first.release()
  first.release()
  await settle()
  expect(events).toEqual(['loaded a'])
  second.release()
  expect((await waiting).value.name).toBe('b')
  expect(events).toEqual(['loaded a', 'closed a', 'loaded b'])
})

it('a busy value cannot block another: later requests for it queue behind the other', async () => {
  const { acquire, events } = open(1)
  const first = await acquire('a')
  const order: string[] = []
  const other = acquire('b').then((held) => {
    order.push('b')
    held.release()
  })
  await settle()
  const later = acquire('a').then(() => order.push('a'))
  await settle()
  expect(order).toEqual([])
  first.release()
  await Promise.all([other, later])
  expect(order).toEqual(['b', 'a'])
  expect(events).toEqual(['loaded a', 'closed a', 'loaded b', 'closed b', 'loaded a'])
})

it('the first value to become idle makes room, not only the oldest', async () => {
  const { acquire, names } = open(2)
  await acquire('a')
  const b = await acquire('b')
  const waiting = acquire('c')
  await settle()
  b.release()
  await waiting
  expect(names()).toEqual(['a', 'c'])
})

it('reports when a value never fits, or when nothing is released in time', async () => {
  const { acquire, names } = open(4000, 30)
  await expect(acquire('huge', 5000)).rejects.toThrow("Model 'huge' needs 5 kB of memory, and the limit is 4 kB.")
  await acquire('a', 3000)
  await expect(acquire('b', 2000)).rejects.toThrow(
    "Model 'b' needs 2 kB of memory, the limit is 4 kB, and 3 kB are in use by a.",
  )
  expect((await acquire('a', 3000)).value.name).toBe('a')
  expect(names()).toEqual(['a'])
})

it('a value larger than expected makes more room, and is closed if there is none', async () => {
  const { acquire, events, names } = open(4000)
  for (const name of ['a', 'b', 'c']) (await acquire(name, 1000)).release()
  await acquire('grown', 1000, { takes: 3000 })
  expect(names()).toEqual(['c', 'grown'])
  await expect(acquire('swollen', 1000, { takes: 5000 })).rejects.toThrow(/ 5 kB .* is 4 kB\. Choose/)
  expect(events.slice(-2)).toEqual(['loaded swollen', 'closed swollen'])
  await expect(acquire('swollen', 1000, { takes: 5000 })).rejects.toThrow(/ 5 kB /)
  expect(events.filter((event) => event === 'loaded swollen')).toHaveLength(1)
})

it('a failed load rejects all waiting requests, and the next request tries again', async () => {
  const { acquire, events, names } = open(1)
  const broken = () => acquire('a', 1, { gate: Promise.reject(new Error('the file is damaged')) })
  const all = await Promise.allSettled([broken(), acquire('a')])
  expect(all.map((one) => one.status === 'rejected' && one.reason.message)).toEqual(
    Array(2).fill('the file is damaged'),
  )
  expect([events, names()]).toEqual([[], []])
  expect((await acquire('a')).value.name).toBe('a')
})

it('an aborted request stops waiting, and a load that no request waits for does not start', async () => {
  const { acquire, events, names } = open(1)
  const first = await acquire('a')
  const gaveUp = new AbortController()
  const waiting = acquire('b', 1, { signal: gaveUp.signal })
  const settled = expect(waiting).rejects.toThrow('enough')
  await settle()
  gaveUp.abort(new Error('enough'))
  await settled
  await settle()
  const again = await acquire('a')
  first.release()
  again.release()
  await settle()
  expect([events, names()]).toEqual([['loaded a'], ['a']])
  await expect(acquire('a', 1, { signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow('before')
})

it('a load that has started finishes even if its only request is aborted, and the next request uses it', async () => {
  const { acquire, events } = open(1)
  let openGate = (): void => undefined
  const gate = new Promise<void>((resolve) => {
    openGate = resolve
  })
  const gaveUp = new AbortController()
  const waiting = expect(acquire('a', 1, { signal: gaveUp.signal, gate })).rejects.toThrow('enough')
  await settle()
  gaveUp.abort(new Error('enough'))
  await waiting
  const next = acquire('a')
  openGate()
  expect((await next).value.name).toBe('a')
  expect(events).toEqual(['loaded a'])
})

it('closing waits for values in use, and refuses later and waiting requests', async () => {
  const { residents, acquire, events } = open(2)
  const a = await acquire('a')
  ;(await acquire('b')).release()
  const waiting = expect(acquire('c', 2)).rejects.toThrow('The server is shutting down.')
  await settle()
  let isClosed = false
  const closing = residents.close().then(() => {
    isClosed = true
  })
  await waiting
  await expect(acquire('a')).rejects.toThrow('The server is shutting down.')
  await settle()
  expect([isClosed, events]).toEqual([false, ['loaded a', 'loaded b', 'closed b']])
  a.release()
  await closing
  expect([residents.loaded, events.at(-1)]).toEqual([[], 'closed a'])
})

it('random holds, releases, and aborts never exceed the budget, and leave nothing in use', async () => {
  let seed = 1
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    return Math.floor((seed / 2 ** 32) * below)
  }
  const sizes = [1, 2, 3, 4, 2]
  const { residents, acquire } = open(6)
  let worst = 0
  const one = async (): Promise<void> => {
    const name = random(sizes.length)
    const gaveUp = new AbortController()
    if (random(4) === 0) setImmediate(() => gaveUp.abort(new Error('gave up')))
    try {
      const held = await acquire(String(name), sizes[name]!, { signal: gaveUp.signal })
      worst = Math.max(
        worst,
        residents.loaded.reduce((sum, { bytes }) => sum + bytes, 0),
      )
      for (let rounds = random(5); rounds > 0; rounds--) await turn()
      expect(residents.loaded).toContain(held.value)
      held.release()
    } catch (error) {
      expect(error).toEqual(new Error('gave up'))
    }
  }
  for (let wave = 0; wave < 40; wave++) await Promise.all(Array.from({ length: 10 }, one))
  await residents.close()
  expect(worst).toBe(6)
  expect(residents.loaded).toEqual([])
})
