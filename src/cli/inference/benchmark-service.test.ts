import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { startWorld } from '../../../test/world.ts'
import { runInProcess } from '../in-process.fixture.ts'

it('the service stores every field that benchmark shares', async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const key = world.service.firstAdminKey!
  const env = { SERVICE_HOME: await emptyFolder(), SERVICE_API_KEY: key, SERVICE_API_BASE: world.baseUrl }
  const argv = ['benchmark', 'starter', '--iterations', '2', '--max-tokens', '4', '--threads', '1', '--json']
  const { stdout, stderr } = await runInProcess(argv, { env })
  expect(JSON.parse(stdout)).toMatchObject({ shared: true })
  const printed = [...stderr.matchAll(/^ {2}(\w+): (.*)$/gm)].map(([, name, value]) => [name, JSON.parse(value!)])
  const { body } = await world.request('GET', '/api/v1/benchmarks', { key })
  const { benchmarks } = body as { benchmarks: [{ id: string }] }
  expect(benchmarks).toEqual([{ id: benchmarks[0].id, ...Object.fromEntries(printed), reported_on: '2026-01-01' }])
})
