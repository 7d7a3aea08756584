import { expect, it } from 'vitest'
import { startProxy } from '../../src/agent/delivery/proxy.fixture.ts'
import { emptyFolder } from '../databases.ts'
import { startWorld } from '../world.ts'
import { hookProgram, NOTE_CONTENT, runAgentProcess, startAgents } from './agents.ts'
import { operatorOf, type Rollout, registered } from './operator.ts'
import { until } from './service-process.ts'

interface Affected {
  readonly devices: readonly { readonly device_id: string; readonly state: string; readonly reason: string | null }[]
}

it('an agent that receives corrupted bytes reports it, keeps the running version, and recovers when the fault is gone', async () => {
  const service = await startWorld({ isRealTime: true })
  const proxy = await startProxy(service.baseUrl)
  const operator = await operatorOf(() => service.baseUrl)
  await operator.upload('first')
  await operator.upload('second')
  const folder = await emptyFolder()
  const argv = ['--device-id', 'edge-1', '--on-model', NOTE_CONTENT]
  const agent = await runAgentProcess(proxy.baseUrl, argv, folder)
  await operator.ask('POST', '/models/m/rollouts', { version: '1.0.0', rollout_percentage: 100 })
  await agent.line('Model m: version 1.0.0 is active.')

  proxy.onBody = (chunk) => Buffer.from(chunk.toString().replace('second', 'sEcOnD'))
  const wanted = { version: '2.0.0', rollout_percentage: 100 }
  const { rollout_id: id } = await operator.ask<Rollout>('POST', '/models/m/rollouts', wanted)
  await agent.line('Attempt 3, the last one, failed. Version 1.0.0 keeps running.')
  const affected = () => operator.ask<Affected>('GET', `/models/m/rollouts/${id}/devices`)
  const edge = async () => (await affected()).devices.find(({ device_id }) => device_id === 'edge-1')
  await until(edge, (seen) => seen?.state === 'failed')
  expect((await edge())?.reason).toMatch(/^The file arrived with sha256 \w{64} instead of \w{64}\./)
  expect(await agent.notes()).toEqual(['1.0.0 first'])
  await agent.kill()

  proxy.onBody = null
  const again = await runAgentProcess(proxy.baseUrl, argv, folder)
  await again.line('Model m: version 2.0.0 is active.')
  await until(edge, (seen) => seen?.state === 'active')
  expect(await again.notes()).toEqual(['1.0.0 first', '2.0.0 second'])
})

it('reports made while the service was down arrive when it is back, even after a restart of the agent', async () => {
  const service = await startWorld({ isRealTime: true })
  const proxy = await startProxy(service.baseUrl)
  const operator = await operatorOf(() => service.baseUrl)
  await operator.upload('first')
  const folder = await emptyFolder()
  // The service goes down just before the version starts to run.
  const argv = ['--device-id', 'edge-1', '--on-model', hookProgram('note "$MODEL_VERSION"; sleep 1.5')]
  const agent = await runAgentProcess(proxy.baseUrl, argv, folder)
  const wanted = { version: '1.0.0', rollout_percentage: 100 }
  const { rollout_id: id } = await operator.ask<Rollout>('POST', '/models/m/rollouts', wanted)
  await until(agent.notes, (notes) => notes.length === 1)
  proxy.isAway = true
  await agent.line('Model m: version 1.0.0 is active.')
  await agent.kill()
  const reports = async () => (await operator.ask<Rollout>('GET', `/models/m/rollouts/${id}`)).reports
  expect(await reports()).toMatchObject({ active: 0 })

  const again = await runAgentProcess(proxy.baseUrl, argv, folder)
  await again.line('Trying again')
  expect(await reports()).toMatchObject({ active: 0 })
  proxy.isAway = false
  await until(reports, ({ active }) => active === 1)
  // It was already running; nothing was done twice.
  expect(await again.notes()).toEqual(['1.0.0'])
})

it('a clock that jumps back and forth by days changes nothing', async () => {
  const service = await startWorld({ isRealTime: true })
  const operator = await operatorOf(() => service.baseUrl)
  const proxy = await startProxy(service.baseUrl)
  let reads = 0
  const day = 86_400_000
  const now = () => Date.now() + [0, 3 * day, -400 * day, day, -day][reads++ % 5]!
  const [agent] = await startAgents(proxy.baseUrl, ['edge-1'], () => NOTE_CONTENT, { now })
  await registered(operator, ['edge-1'])
  let cuts = 2
  proxy.onBody = (chunk) => (cuts-- > 0 ? null : chunk)
  for (const [n, content] of ['first', 'second', 'third'].entries()) {
    await operator.upload(content)
    const wanted = { version: String(n + 1), rollout_percentage: 100 }
    const { rollout_id: id } = await operator.ask<Rollout>('POST', '/models/m/rollouts', wanted)
    await until(
      () => operator.ask<Rollout>('GET', `/models/m/rollouts/${id}`),
      ({ reports }) => reports.active === 1,
    )
  }
  expect(await agent!.notes()).toEqual(['1.0.0 first', '2.0.0 second', '3.0.0 third'])
  expect(reads).toBeGreaterThan(5)
})
