import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ApiError } from '../../client/client.ts'
import { NetworkError } from '../../sdk/api-error.ts'
import type { DeliveryReport } from '../../sdk/assignment.ts'
import { emptyFolder } from './delivery.fixture.ts'
import { openOutbox } from './report-outbox.ts'

/** An outbox whose service answers with `onReport`. It sends until the test ends. */
const start = async (path: string, onReport: (report: DeliveryReport) => void = () => undefined) => {
  const sent: string[] = []
  const lines: string[] = []
  const stop = new AbortController()
  const outbox = await openOutbox({
    path,
    send: async (planId, report) => {
      onReport(report)
      sent.push(`${planId} ${report.state} ${report.version} ${JSON.stringify(report.metrics ?? null)}`)
    },
    log: (message) => lines.push(message),
  })
  const running = outbox.run(stop.signal)
  const end = async (): Promise<void> => {
    stop.abort(new Error('over'))
    await running
  }
  onTestFinished(end)
  return { outbox, sent, lines, end }
}

const away = (): never => {
  throw new NetworkError('nobody there')
}

test('reports are sent in the order in which they were made', async () => {
  const path = join(await emptyFolder(), 'reports.json')
  const { outbox, sent } = await start(path)
  await outbox.add('p', { state: 'downloading', version: '2' })
  await outbox.add('p', { state: 'verifying', version: '2' })
  await outbox.add('p', { state: 'active', version: '2', metrics: { loss: 0.5 } })
  await expect.poll(() => sent).toEqual(['p downloading 2 null', 'p verifying 2 null', 'p active 2 {"loss":0.5}'])
  await expect.poll(() => readFile(path, 'utf8')).toBe('[]')
})

test('unsent reports are sent after a restart: the newest of each plan, with its metrics', async () => {
  const path = join(await emptyFolder(), 'reports.json')
  const first = await start(path, away)
  await first.outbox.add('p', { state: 'downloading', version: '2' })
  await first.outbox.add('p', { state: 'active', version: '2', metrics: { loss: 0.5 } })
  await first.outbox.add('q', { state: 'failed', version: '7', reason: 'no' })
  await first.outbox.add('p', { state: 'active', version: '2' })
  await first.end()
  const second = await start(path)
  await expect.poll(() => second.sent).toEqual(['q failed 7 null', 'p active 2 {"loss":0.5}'])
})

test('a report that the service will never accept is logged and dropped; a refused key is waited out', async () => {
  const path = join(await emptyFolder(), 'reports.json')
  const gone = { error: 'not_found', message: "Plan 'p' does not exist.", status_code: 404 }
  const { outbox, sent, lines } = await start(path, ({ version }) => {
    if (version === '1') throw new ApiError(404, gone)
  })
  await outbox.add('p', { state: 'active', version: '1' })
  await outbox.add('q', { state: 'active', version: '2' })
  await expect.poll(() => sent).toEqual(['q active 2 null'])
  expect(lines).toEqual([
    "The service rejected the report that version 1 is active: ApiError: Plan 'p' does not exist.",
  ])
  const refused = await start(join(await emptyFolder(), 'reports.json'), () => {
    throw new ApiError(401, null)
  })
  await refused.outbox.add('p', { state: 'active', version: '1' })
  await refused.end()
  expect(refused.lines).toEqual([])
})

test('a report with metrics that the service does not accept is sent without them', async () => {
  const path = join(await emptyFolder(), 'reports.json')
  const wrong = { error: 'bad_request', message: 'The JSON body must not contain the key __proto__.', status_code: 400 }
  const { outbox, sent, lines } = await start(path, ({ metrics }) => {
    if (metrics !== undefined) throw new ApiError(400, wrong)
  })
  await outbox.add('p', { state: 'active', version: '1', metrics: { loss: 0.5 } })
  await expect.poll(() => sent).toEqual(['p active 1 null'])
  await expect.poll(() => readFile(path, 'utf8')).toBe('[]')
  expect(lines).toEqual([
    'The service rejected the metrics of version 1: The JSON body must not contain the key __proto__. Reporting without them.',
  ])
})

test('a damaged file is treated like a missing one', async () => {
  const path = join(await emptyFolder(), 'reports.json')
  await writeFile(path, '{"half')
  const { outbox, sent } = await start(path)
  await outbox.add('p', { state: 'ready', version: '1' })
  await expect.poll(() => sent).toEqual(['p ready 1 null'])
})

test('what is not a report is skipped, and the others are sent', async () => {
  const path = join(await emptyFolder(), 'reports.json')
  const report = { planId: 'p', report: { state: 'active', version: '2' } }
  await writeFile(
    path,
    JSON.stringify([null, {}, 1, { planId: 'x' }, { ...report, report: { state: 'active' } }, report]),
  )
  const { sent } = await start(path)
  await expect.poll(() => sent).toEqual(['p active 2 null'])
})
