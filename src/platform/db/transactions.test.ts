import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { currentObserver, insideTransaction, observed, onCommit, refuseInsideTransaction } from './transactions.ts'

const witness = () => ({ begun: () => undefined, ending: async () => undefined, committed: () => undefined })
const ask = () => refuseInsideTransaction('A query')

it('is detected inside a transaction until it ends, whatever others begin and end meanwhile', async () => {
  const afterwards: (() => Promise<void>)[] = []
  let end = (): void => undefined
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const long = insideTransaction(async () => {
    await ended
    expect(ask).toThrow('A query inside a transaction would wait for itself')
    await sleep(1)
    expect(ask).toThrow()
    onCommit(async () => undefined)
  }, afterwards)
  for (let other = 0; other < 3; other++) await insideTransaction(() => sleep(1), [])
  expect(ask).not.toThrow()
  end()
  await long
  expect(afterwards).toHaveLength(1)
  expect(ask).not.toThrow()
})

it('finds the witness in everything its work awaits, even if the work starts in work that was already running', async () => {
  const [one, two] = [witness(), witness()]
  const under = sleep(5)
  const seen = async (): Promise<unknown> => {
    await under
    await insideTransaction(() => sleep(1), [])
    return currentObserver()
  }
  const [first, second] = [observed(one, seen), observed(two, seen)]
  expect(await observed(one, () => observed(null, async () => currentObserver()))).toBeNull()
  expect(await first).toBe(one)
  expect(await second).toBe(two)
  expect(currentObserver()).toBeNull()
  await under
  expect(await observed(one, seen)).toBe(one)
})

it('is reset after work that fails', async () => {
  const refused = async () => Promise.reject(new Error('refused'))
  await expect(observed(witness(), () => insideTransaction(refused, []))).rejects.toThrow('refused')
  expect(currentObserver()).toBeNull()
  expect(ask).not.toThrow()
})
