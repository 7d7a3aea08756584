import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test, vi } from 'vitest'
import { builtFile } from '../../test/e2e/built-program.ts'
import { startWorld, type TestDevice, type World } from '../../test/world.ts'
import { unwrap } from '../client/client.ts'
import { runAgent } from './agent.ts'
import { noTrainer } from './agent-trainer.ts'

const TRAINER = `echo training $$
  while ! [ -e go ]; do sleep 0.05; done
  printf 12345678 > "$SERVICE_OUTPUT_WEIGHTS"; printf '{"num_samples": 2}' > "$SERVICE_OUTPUT_METRICS"`

interface AgentProcess {
  readonly child: ChildProcess
  /** Resolves with the first line that contains the text. */
  readonly line: (text: string) => Promise<string>
}

/**
 * Starts a real agent in a separate process. Its trainer, a command, prints "training" and its process id, and ends only
 * once the file `go` exists.
 */
const startProcess = async (world: World, device: TestDevice, folder: string): Promise<AgentProcess> => {
  const program = join(folder, 'agent.mjs')
  await writeFile(
    program,
    `import { runAgent } from ${JSON.stringify(await builtFile('agent/agent.js'))}
    import { commandTrainer } from ${JSON.stringify(await builtFile('agent/command-trainer.js'))}
    const stop = new AbortController()
    process.once('SIGTERM', () => stop.abort(new Error('The agent was stopped (SIGTERM).')))
    const folder = ${JSON.stringify(folder)}
    const trainer = commandTrainer({ command: ${JSON.stringify(TRAINER)}, cwd: folder, onLine: console.log })
    await runAgent({
      baseUrl: ${JSON.stringify(world.baseUrl)}, deviceId: ${JSON.stringify(device.deviceId)}, apiKey: ${JSON.stringify(device.key)},
      stateDir: folder, intervalSeconds: 0.3, rounds: 1, trainer: () => trainer, signal: stop.signal, log: console.log,
    })
    console.log('ended')`,
  )
  const child = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const lines: string[] = []
  const output = createInterface({ input: child.stdout! })
  output.on('line', (text) => lines.push(text))
  const line = async (text: string): Promise<string> => {
    for (;;) {
      const found = lines.find((candidate) => candidate.includes(text))
      if (found !== undefined) return found
      await once(output, 'line')
    }
  }
  return { child, line }
}

const begin = async () => {
  const world = await startWorld()
  const folder = await mkdtemp(join(tmpdir(), 'agent-process-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const device = await world.register('edge-1')
  const body = { target_devices: 1, min_devices: 1 }
  const { id } = await unwrap(world.client(device.key).POST('/api/v1/training/rounds/start', { body }))
  const explain = async () =>
    (await world.request('GET', `/api/v1/training/rounds/${id}/selection`, { key: device.key })).body
  return { world, folder, device, explain }
}

test('SIGTERM ends the process with code 0 after the round was reported as failed', async () => {
  const { world, folder, device, explain } = await begin()
  const { child, line } = await startProcess(world, device, folder)
  await line('training')
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
  expect(await line('ended')).toBe('ended')
  expect(await explain()).toMatchObject({ state: 'failed', reason: 'The agent was stopped (SIGTERM).' })
})

test('a second agent refuses to start on the folder of a running one, but starts after that one was killed', async () => {
  const { world, folder, device } = await begin()
  const first = await startProcess(world, device, folder)
  await first.line('training')
  const startAnother = (options: object) => {
    const stop = new AbortController()
    const lines: string[] = []
    const log = (line: string): void => {
      lines.push(line)
      if (line.includes('is waiting for rounds')) stop.abort(new Error('seen enough'))
    }
    const identity = { deviceId: device.deviceId, apiKey: device.key }
    const base = {
      baseUrl: world.baseUrl,
      ...identity,
      stateDir: folder,
      trainer: () => noTrainer,
      signal: stop.signal,
    }
    return runAgent({ ...base, log, ...options }).then(() => lines)
  }
  const own = join(folder, 'devices', (await readdir(join(folder, 'devices')))[0]!)
  const refusal = (path: string) =>
    `The agent folder ${path} is in use by process ${first.child.pid} on ${hostname()}. Stop that process, or run this ` +
    'agent as another device (--device-id), with a models folder (--models-dir) of its own.'
  await expect(startAnother({})).rejects.toThrow(refusal(own))
  // Another device has a separate folder, and may not write to this device's models.
  const other = { deviceId: 'edge-2', apiKey: (await world.register('edge-2')).key }
  const models = join(own, 'models')
  await expect(startAnother({ ...other, modelsFolder: models })).rejects.toThrow(refusal(models))
  expect(await startAnother(other)).toContainEqual(expect.stringContaining('Device edge-2 is waiting for rounds'))
  first.child.kill('SIGKILL')
  await once(first.child, 'exit')
  expect(await startAnother({})).toContainEqual(expect.stringContaining('Device edge-1 is waiting for rounds'))
  expect((await readdir(own)).includes('agent.lock')).toBe(false)
})

test('a killed agent takes its trainer with it, and resumes its round when it is restarted', async () => {
  const { world, folder, device, explain } = await begin()
  const killed = await startProcess(world, device, folder)
  const trainer = Number((await killed.line('training')).split(' ')[1])
  killed.child.kill('SIGKILL')
  await once(killed.child, 'exit')
  expect(await explain()).toMatchObject({ state: 'selected' })
  await vi.waitFor(() => expect(() => process.kill(trainer, 0)).toThrow('ESRCH'), { timeout: 30_000 })
  await writeFile(join(folder, 'go'), '')
  const { child } = await startProcess(world, device, folder)
  expect(await once(child, 'exit')).toEqual([0, null])
  expect(await explain()).toMatchObject({ state: 'delivered' })
})
