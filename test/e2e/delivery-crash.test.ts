import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startProxy } from '../../src/agent/delivery/proxy.fixture.ts'
import { emptyFolder, freshDataDir } from '../databases.ts'
import { startWorld } from '../world.ts'
import { hookProgram, NOTE_CONTENT, runAgentProcess, startAgents } from './agents.ts'
import { operatorOf, type Rollout, registered } from './operator.ts'
import { runService, until } from './service-process.ts'

/** The size of the unfinished download in an agent's folder. */
const partSize = async (folder: string): Promise<number> => {
  const names = await readdir(folder, { recursive: true })
  const part = names.find((name) => name.endsWith('.part'))
  return part === undefined ? 0 : (await stat(join(folder, part))).size
}

it('an agent that is killed during a download, and again during its hook, resumes where it was', async () => {
  const service = await startWorld({ isRealTime: true })
  const proxy = await startProxy(service.baseUrl)
  const operator = await operatorOf(() => service.baseUrl)
  const size = 2_000_000
  await operator.upload(Buffer.alloc(size, 'old '))
  await operator.upload(Buffer.alloc(size, 'new '))
  const folder = await emptyFolder()
  // The first activation of the second version hangs.
  const hook = hookProgram(`
    note "$MODEL_VERSION $(head -c 3 "$MODEL_PATH")"
    if [ "$MODEL_VERSION" = 2.0.0 ] && [ ! -e go ]; then touch go; sleep 30; fi`)
  const argv = ['--device-id', 'edge-1', '--on-model', hook]
  const first = await runAgentProcess(proxy.baseUrl, argv, folder)
  await operator.ask('POST', '/models/m/rollouts', { version: '1.0.0', rollout_percentage: 100 })
  await first.line('Model m: version 1.0.0 is active.')

  // Half of the second version arrives, then nothing more.
  let held = (): void => undefined
  const isHeld = new Promise<void>((resolve) => {
    held = resolve
  })
  proxy.onBody = (chunk, at) => {
    if (at < size / 2) return chunk
    held()
    return new Promise(() => undefined)
  }
  const everywhere = { version: '2.0.0', rollout_percentage: 100 }
  const rollout = await operator.ask<Rollout>('POST', '/models/m/rollouts', everywhere)
  await isHeld
  // Data in the agent's memory is lost; the next agent resumes from what was written.
  await until(
    () => partSize(folder),
    (bytes) => bytes > 0,
  )
  await first.kill()
  proxy.onBody = null

  const second = await runAgentProcess(proxy.baseUrl, argv, folder)
  await second.line('downloading version 2.0.0, 2.0 MB, resuming at ')
  await until(second.notes, (notes) => notes.length === 2)
  await second.kill()

  const third = await runAgentProcess(proxy.baseUrl, argv, folder)
  await third.line('Model m: version 2.0.0 is active.')
  expect(await third.notes()).toEqual(['1.0.0 old', '2.0.0 new', '2.0.0 new'])
  const froms = proxy.downloads().map(({ from }) => from)
  expect(froms).toEqual([0, 0, expect.any(Number)])
  expect(froms[2]).toBeGreaterThan(0)
  const path = `/models/m/rollouts/${rollout.rollout_id}/devices`
  await until(
    () => operator.ask<{ devices: { device_id: string; state: string }[] }>('GET', path),
    ({ devices }) => devices.some(({ device_id, state }) => device_id === 'edge-1' && state === 'active'),
  )
})

it('a rollout continues after the service is killed in the middle of its steps, and reaches every device', async () => {
  const dataDir = await freshDataDir()
  let service = await runService(dataDir)
  const operator = await operatorOf(() => service.baseUrl)
  await operator.upload('first')
  await operator.upload('second')
  const names = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `edge-${name}`)
  const agents = await startAgents(service.baseUrl, names, () => NOTE_CONTENT)
  await registered(operator, names)
  await operator.ask('POST', '/models/m/rollouts', { version: '1.0.0', rollout_percentage: 100 })
  await Promise.all(agents.map((agent) => agent.line('Model m: version 1.0.0 is active.')))
  const slow = { version: '2.0.0', rollout_percentage: 10, increment_step: 30, step_interval_minutes: 2 / 60 }
  const { rollout_id: id } = await operator.ask<Rollout>('POST', '/models/m/rollouts', slow)
  const look = () => operator.ask<Rollout>('GET', `/models/m/rollouts/${id}`)
  await until(look, ({ percentage }) => percentage >= 40)
  await service.kill()
  service = await runService(dataDir, { SERVICE_PORT: new URL(service.baseUrl).port })
  const done = await until(look, ({ status, reports }) => status === 'completed' && reports.active === 6)
  expect(done).toMatchObject({ status: 'completed', percentage: 100, reports: { active: 6, failed: 0 } })
  // No device went back in between or activated a version twice.
  for (const agent of agents) expect(await agent.notes()).toEqual(['1.0.0 first', '2.0.0 second'])
})
