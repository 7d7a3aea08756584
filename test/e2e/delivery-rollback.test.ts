import { expect, it } from 'vitest'
import { startProxy } from '../../src/agent/delivery/proxy.fixture.ts'
import { startWorld } from '../world.ts'
import { type Agent, hookProgram, startAgents } from './agents.ts'
import { type Operator, operatorOf, type Rollout, registered } from './operator.ts'
import { until } from './service-process.ts'

interface Fleet {
  readonly operator: Operator
  readonly agents: readonly Agent[]
  readonly names: readonly string[]
  readonly downloads: () => number
}

/** Starts agents that run the first of two versions. Their hooks refuse the content `bad`. */
const startFleet = async (second: string, size: number): Promise<Fleet> => {
  const service = await startWorld({ isRealTime: true })
  const proxy = await startProxy(service.baseUrl)
  const operator = await operatorOf(() => service.baseUrl)
  await operator.upload('good')
  await operator.upload(second)
  const names = Array.from({ length: size }, (_, n) => `edge-${n}`)
  const hook = hookProgram(`
    note "$MODEL_VERSION $(content)"
    [ "$(content)" != bad ] || { echo 'the weights are not finite' >&2; exit 1; }`)
  const agents = await startAgents(proxy.baseUrl, names, () => hook)
  await registered(operator, names)
  await operator.ask('POST', '/models/m/rollouts', { version: '1', rollout_percentage: 100 })
  await Promise.all(agents.map((agent) => agent.line('Model m: version 1.0.0 is active.')))
  return { operator, agents, names, downloads: () => proxy.downloads().length }
}

it.each([
  [false, 'paused'],
  [true, 'rolled_back'],
])('stops a rollout if its canary cannot load the version (auto_rollback %s: %s)', async (auto_rollback, status) => {
  const { operator, agents, names } = await startFleet('bad', 5)
  const { id: group } = await operator.ask<{ id: string }>('POST', '/device-groups', { org_id: 'acme', name: 'canary' })
  await operator.ask('POST', `/device-groups/${group}/devices`, { device_ids: names.slice(0, 3) })
  const wanted = { version: '2', rollout_percentage: 100, group: 'canary', auto_rollback }
  const { rollout_id: id } = await operator.ask<Rollout>('POST', '/models/m/rollouts', wanted)
  const ended = await until(
    () => operator.ask<Rollout>('GET', `/models/m/rollouts/${id}`),
    (rollout) => rollout.status === status,
  )
  expect(ended.reason).toBe(
    '3 of 3 reporting devices failed (100.0%; the limit is 5%). Most often: the weights are not finite',
  )
  for (const [n, agent] of agents.entries()) {
    expect(await agent.notes()).toEqual(n < 3 ? ['1.0.0 good', '2.0.0 bad', '1.0.0 good'] : ['1.0.0 good'])
  }
})

it('a rollback is instant: every device runs the previous version without a download', async () => {
  const { operator, agents, names, downloads } = await startFleet('worse', 4)
  const aim = { model_name: 'm', model_version: '2', devices: names, strategy: 'immediate' }
  const { deployment_id: id } = await operator.ask<{ deployment_id: string }>('POST', '/deploy/execute', aim)
  await Promise.all(agents.map((agent) => agent.line('Model m: version 2.0.0 is active.')))
  expect(downloads()).toBe(8)
  const before = agents.map(({ lines: output }) => output.length)
  await operator.ask('POST', `/deployments/${id}/rollback`, {})
  await Promise.all(agents.map((agent, n) => agent.line('Model m: version 1.0.0 is active.', before[n])))
  expect(downloads()).toBe(8)
  for (const agent of agents) expect(await agent.notes()).toEqual(['1.0.0 good', '2.0.0 worse', '1.0.0 good'])
})

it('a blue_green deployment is on all devices before any of them runs it', async () => {
  const { operator, agents, names } = await startFleet('green', 4)
  const aim = { model_name: 'm', model_version: '2', devices: names, strategy: 'blue_green' }
  const { deployment_id: id } = await operator.ask<{ deployment_id: string }>('POST', '/deploy/execute', aim)
  await Promise.all(agents.map((agent) => agent.line('Model m: version 2.0.0 is active.')))
  for (const { lines: output } of agents) {
    const own = output.filter((line) => line.startsWith('Model m: version 2.0.0'))
    expect(own).toEqual([
      'Model m: version 2.0.0 is ready and waiting for activation.',
      'Model m: version 2.0.0 is active.',
    ])
  }
  const deployment = await until(
    () => operator.ask<{ status: string; devices: object }>('GET', `/deployments/${id}`),
    ({ status }) => status === 'completed',
  )
  expect(deployment.devices).toMatchObject({ active: 4 })
})
