import { expect, test } from 'vitest'
import { InferenceError } from '../../errors.ts'
import { type AdmissionOptions, createAdmission, type Slot } from './admission.ts'

const never = new AbortController().signal

const withClock = (options: Partial<AdmissionOptions>) => {
  const clock = { now: 0 }
  const admission = createAdmission({ slots: 2, maxQueue: 8, timeoutMs: 60_000, now: () => clock.now, ...options })
  return { admission, clock }
}

/** Records under the name when each requested slot is granted. */
const asking = (given: string[], slots: Map<string, Slot[]>) => (name: string, promises: readonly Promise<Slot>[]) =>
  promises.forEach((promise) => {
    void promise.then(
      (slot) => {
        given.push(name)
        slots.set(name, [...(slots.get(name) ?? []), slot])
      },
      (error: unknown) => given.push(`${name}: ${(error as Error).message}`),
    )
  })

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Takes slots, and ignores their promises. */
const occupy = (promises: readonly Promise<Slot>[]): void => {
  for (const promise of promises) promise.catch(() => undefined)
}

const refusal = (act: () => unknown): unknown => {
  try {
    act()
  } catch (error) {
    return error instanceof InferenceError
      ? { code: error.code, message: error.message, after: error.retryAfterSeconds }
      : error
  }
  return 'admitted'
}

test('slots are granted in the order of requests, and a request for many is not overtaken', async () => {
  const { admission } = withClock({})
  const given: string[] = []
  const slots = new Map<string, Slot[]>()
  const ask = asking(given, slots)
  ask('a', admission.enter(1, never))
  ask('many', admission.enter(3, never))
  ask('late', admission.enter(1, never))
  await settled()
  expect(given).toEqual(['a', 'many'])
  expect([admission.busy(), admission.waiting()]).toEqual([2, 1])

  slots.get('a')![0]!.release()
  await settled()
  slots.get('many')![0]!.release()
  await settled()
  expect(given).toEqual(['a', 'many', 'many', 'many'])
  slots.get('many')![1]!.release()
  await settled()
  expect(given.at(-1)).toBe('late')
  for (const held of slots.values()) for (const slot of held) slot.release()
  expect([admission.busy(), admission.waiting()]).toEqual([0, 0])
})

test('releasing a slot twice frees one slot', async () => {
  const { admission } = withClock({ slots: 1 })
  const [first] = await Promise.all(admission.enter(1, never))
  first!.release()
  const [second] = await Promise.all(admission.enter(1, never))
  first!.release()
  expect(admission.busy()).toBe(1)
  second!.release()
})

test('an aborted request leaves the queue, and one with part of its slots gives up the rest', async () => {
  const { admission } = withClock({ slots: 1 })
  const given: string[] = []
  const slots = new Map<string, Slot[]>()
  const ask = asking(given, slots)
  const [gone, half] = [new AbortController(), new AbortController()]
  ask('half', admission.enter(2, half.signal))
  ask('gone', admission.enter(1, gone.signal))
  ask('stays', admission.enter(1, never))
  gone.abort(new Error('gone'))
  half.abort(new Error('half'))
  await settled()
  expect(given.slice(1).sort()).toEqual(['gone: gone', 'half: half'])
  expect([admission.busy(), admission.waiting()]).toEqual([1, 1])
  slots.get('half')![0]!.release()
  await settled()
  expect(given.at(-1)).toBe('stays')
  expect(() => admission.enter(1, gone.signal)).toThrow('gone')
})

test('without a queue, a request that cannot start at once is refused, but one for more slots than exist is not', async () => {
  const { admission } = withClock({ maxQueue: 0 })
  const slots = admission.enter(3, never)
  await Promise.all(slots.slice(0, 2))
  expect(refusal(() => admission.enter(1, never))).toEqual({
    code: 'queue_full',
    message: 'The engine is busy (at most 2 at once), and this server has no queue. Try again in 1 second.',
    after: 1,
  })
  for (const slot of slots) (await slot).release()
  expect(refusal(() => admission.enter(1, never))).toBe('admitted')
})

test('a full queue refuses with the time at which slots have become free so far, one slot per refusal', async () => {
  const { admission, clock } = withClock({ slots: 2, maxQueue: 1 })
  const slots = await Promise.all(admission.enter(2, never))
  clock.now = 10_000
  for (const slot of slots) slot.release()
  occupy(admission.enter(2, never))
  occupy(admission.enter(1, never))
  const message = (after: number) =>
    `The engine is busy (at most 2 at once), and the queue is full (1 request). Try again in ${after} seconds.`
  for (const after of [5, 10, 15]) {
    expect(refusal(() => admission.enter(1, never))).toEqual({ code: 'queue_full', message: message(after), after })
  }
  // A promise for an earlier time no longer counts.
  clock.now = 20_000
  expect(refusal(() => admission.enter(1, never))).toEqual({ code: 'queue_full', message: message(10), after: 10 })
  for (let i = 0; i < 20; i++) refusal(() => admission.enter(1, never))
  expect(refusal(() => admission.enter(1, never))).toMatchObject({ after: 60 })
})

test('before any measurement, a slot is expected to be held as long as it has been so far', async () => {
  const { admission, clock } = withClock({ slots: 1, maxQueue: 0 })
  occupy(admission.enter(1, never))
  clock.now = 7500
  expect(refusal(() => admission.enter(1, never))).toMatchObject({ after: 8 })
})

test('a request that waits too long for its first slot is refused; one that has a slot is not', async () => {
  const { admission } = withClock({ slots: 1, timeoutMs: 20 })
  const [first, second] = admission.enter(2, never)
  const late = admission.enter(1, never)[0]!
  await expect(late).rejects.toMatchObject({
    code: 'queue_full',
    message: 'The request waited 0.02 seconds in the queue, the maximum on this server. Try again in 1 second.',
    retryAfterSeconds: 1,
  })
  const slot = await first!
  slot.release()
  const next = await second!
  next.release()
  expect([admission.busy(), admission.waiting()]).toEqual([0, 0])
})
