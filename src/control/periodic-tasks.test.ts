import { afterEach, expect, test, vi } from 'vitest'
import { runEach, startPeriodicTasks } from './periodic-tasks.ts'

afterEach(() => vi.useRealTimers())

const MINUTE_MS = 60_000

test('an hourly task runs ten minutes after the start, and then every hour', async () => {
  vi.useFakeTimers()
  let elapsed = 0
  const runs: (readonly [string, number])[] = []
  const task = (name: string, everyMs: number) => ({ name, everyMs, run: async () => void runs.push([name, elapsed]) })
  const tasks = [task('hourly', 60 * MINUTE_MS), task('often', 4 * MINUTE_MS)]
  const schedule = startPeriodicTasks(tasks, { afterCommit: () => undefined }, { error: () => undefined })
  const until = async (minutes: number): Promise<void> => {
    for (; elapsed < minutes; await vi.advanceTimersByTimeAsync(MINUTE_MS)) elapsed++
  }
  await until(13)
  expect(runs).toEqual([
    ['often', 4],
    ['often', 8],
    ['hourly', 10],
    ['often', 12],
  ])
  await until(125)
  expect(runs.flatMap(([name, at]) => (name === 'hourly' ? at : []))).toEqual([10, 60, 120])
  await schedule.stop()
  await until(300)
  expect(runs.at(-1)).toEqual(['often', 124])
})

test('a service that stops within ten minutes starts no hourly task afterwards', async () => {
  vi.useFakeTimers()
  let runs = 0
  const tasks = [{ name: 'hourly', everyMs: 60 * MINUTE_MS, run: async () => void runs++ }]
  const schedule = startPeriodicTasks(tasks, { afterCommit: () => undefined }, { error: () => undefined })
  await schedule.stop()
  await vi.advanceTimersByTimeAsync(120 * MINUTE_MS)
  expect([runs, vi.getTimerCount()]).toEqual([0, 0])
})

test('a failing step does not keep the others from running, and the first failure is thrown at the end', async () => {
  const ran: string[] = []
  const step =
    (name: string, fails = false) =>
    async () => {
      ran.push(name)
      if (fails) throw new Error(name)
    }
  await expect(runEach(step('a'), step('b', true), step('c', true), step('d'))).rejects.toThrow('b')
  expect(ran).toEqual(['a', 'b', 'c', 'd'])
  await expect(runEach(step('e'))).resolves.toBeUndefined()
})
