import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { JobThread } from './job-thread.ts'

const ECHO = `const { parentPort } = require('node:worker_threads')
parentPort.on('message', (request) => request === 'die' ? process.exit(1) : parentPort.postMessage(request))`

const echo = (start: () => Worker = () => new Worker(ECHO, { eval: true })): JobThread<string, string> => {
  const thread = new JobThread<string, string>(start)
  onTestFinished(() => thread.close(new Error('The test is over.')))
  return thread
}

test('answers one job after another, and fails only the job during which the thread dies', async () => {
  const thread = echo()
  const [first, second, third] = await Promise.allSettled(['a', 'die', 'c'].map((request) => thread.run(request)))
  expect([first, third]).toEqual(['a', 'c'].map((value) => ({ status: 'fulfilled', value })))
  expect(second).toMatchObject({ reason: new Error('The worker thread ended before its job was done: exit code 1.') })
})

test('a thread that cannot be started fails that job, and the next job tries again', async () => {
  let refusals = 1
  const thread = echo(() => {
    if (refusals-- > 0) throw new Error('no more threads')
    return new Worker(ECHO, { eval: true })
  })
  const [first, second] = await Promise.allSettled([thread.run('a'), thread.run('b')])
  expect([first, second]).toEqual([
    { status: 'rejected', reason: new Error('no more threads') },
    { status: 'fulfilled', value: 'b' },
  ])
})
