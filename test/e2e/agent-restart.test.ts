import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { runAgent } from '../../src/agent/agent.ts'
import { openAgentState } from '../../src/agent/agent-state.ts'
import type { AgentTrainer } from '../../src/agent/agent-trainer.ts'
import { createClient, unwrap } from '../../src/client/client.ts'
import { emptyFolder } from '../databases.ts'
import { onServer, runService, until } from './service-process.ts'

it('an agent completes its round although the service is killed while it trains', async () => {
  const [dataDir, folder, server] = await Promise.all([emptyFolder(), emptyFolder(), onServer()])
  const first = await runService(dataDir, server)
  const settings = { ...server, SERVICE_PORT: new URL(first.baseUrl).port }
  const go = join(folder, 'go')
  let trainings = 0
  const trainer: AgentTrainer = {
    train: async ({ folder: own, signal }) => {
      trainings++
      while (!existsSync(go)) {
        signal.throwIfAborted()
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      const weights = join(own, 'update.bin')
      await writeFile(weights, new Float32Array([1, 2]))
      return { weights, report: { numSamples: 2 }, globalModel: null }
    },
  }
  const stop = new AbortController()
  const output: string[] = []
  const agent = runAgent({
    baseUrl: first.baseUrl,
    stateDir: folder,
    deviceId: 'edge-1',
    trainer: () => trainer,
    intervalSeconds: 0.3,
    rounds: 1,
    signal: stop.signal,
    log: (message) => output.push(message),
  })
  onTestFinished(async () => {
    stop.abort(new Error('the test is over'))
    await agent.catch(() => undefined)
  })

  const state = await openAgentState(folder, first.baseUrl, 'edge-1')
  const identity = await until(state.load, (known) => known !== null)
  const device = createClient({ baseUrl: first.baseUrl, apiKey: identity?.apiKey })
  const body = { target_devices: 1, min_devices: 1 }
  const { id } = await unwrap(device.POST('/api/v1/training/rounds/start', { body }))
  await until(
    async () => trainings,
    (count) => count === 1,
  )

  await first.kill()
  // Training ends while the service is down.
  await writeFile(go, '')
  await until(
    async () => output,
    (lines) => lines.some((line) => line.includes('Trying again')),
  )
  await runService(dataDir, settings)
  await agent
  expect(trainings).toBe(1)
  const params = { path: { round_id: id } }
  const round = await until(
    () => unwrap(device.GET('/api/v1/training/rounds/{round_id}/status', { params })),
    ({ status }) => status === 'completed' || status === 'failed',
  )
  expect(round).toMatchObject({ status: 'completed', completed_devices: 1, failed_devices: 0 })
})
