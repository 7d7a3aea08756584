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

test('a task that keeps failing for one reason is logged rarely', async () => {
  let reason: string | null = 'down'
  const logged: (readonly [string, unknown])[] = []
  const task = {
    name: 'often',
    everyMs: 60 * MINUTE_MS,
    run: async () => {
      if (reason !== null) throw new Error(reason)
    },
  }
  const error = ({ err, failures }: { err?: Error; failures?: number }) => void logged.push([err!.message, failures])
  const schedule = startPeriodicTasks([task], { afterCommit: () => undefined }, { error })
  const run = async (times: number): Promise<void> => {
    for (let i = 0; i < times; i++) await schedule.wake('often')
  }
  await run(600)
  reason = 'starting'
  await run(3)
  reason = null
  await run(1)
  reason = 'starting'
  await run(1)
  await schedule.stop()
  expect(logged).toEqual([
    ...[1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 512, 600].map((failures) => ['down', failures]),
    ['starting', 1],
    ['starting', 2],
    ['starting', 1],
  ])
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
