import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { startWorld } from '../../../test/world.ts'
import { startReceiver } from '../../control/operations/integrations/receiver.fixture.ts'
import { runInProcess } from '../in-process.fixture.ts'

it.each([
  ['', ''],
  ['/', ''],
  ['/otlp', '/otlp'],
  ['/otlp/v1/logs', '/otlp'],
])('metrics and logs get their own paths below the endpoint, which ends with %j', async (path, base) => {
  const world = await startWorld()
  const { key } = await world.register('d')
  const receiver = await startReceiver()
  const argv = ['integrations', 'connect-otlp', '--endpoint', `${receiver.url}${path}`]
  const env = { SERVICE_API_BASE: world.baseUrl, SERVICE_API_KEY: key }
  expect(await runInProcess(argv, { env, cwd: await emptyFolder() })).toMatchObject({ exitCode: 0, stderr: '' })
  const paths = new Set(receiver.received.map((request) => request.path))
  expect([...paths].sort()).toEqual([`${base}/v1/logs`, `${base}/v1/metrics`])
})
