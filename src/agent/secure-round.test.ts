import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type Member, plainResult, secureFleet, tensorsOf } from '../../test/secure-fleet.ts'
import type { World } from '../../test/world.ts'
import { createDevice } from '../sdk/device-client.ts'
import { secureSettings } from '../secure-aggregation/settings.ts'
import { runAgent } from './agent.ts'
import { openAgentState } from './agent-state.ts'
import type { AgentTrainer } from './agent-trainer.ts'
import { type RoundResult, workOnRound } from './round-work.ts'

const startRound = async (world: World, by: Member): Promise<string> => {
  const body = { target_devices: 3, min_devices: 3, global_model_id: 'small', secure_aggregation: {} }
  const response = await world.request('POST', '/api/v1/training/rounds/start', { key: by.key, body })
  return (response.body as { id: string }).id
}

const trainerOf = (member: Member): AgentTrainer => ({
  train: async ({ folder }) => {
    const weights = join(folder, 'update.safetensors')
    await writeFile(weights, member.update)
    return {
      weights,
      report: { numSamples: 1, localLoss: member.loss, localAccuracy: 1 - member.loss / 10 },
      globalModel: { count: 1, loss: member.loss, accuracy: 0.5 },
    }
  },
})

const work = (world: World, member: Member, roundId: string, roundsFolder: string, network: typeof fetch = fetch) =>
  workOnRound(roundId, {
    device: createDevice({
      baseUrl: world.baseUrl,
      deviceId: member.name,
      apiKey: member.key,
      fetch: network,
      now: () => world.now().getTime(),
      sleep: async () => undefined,
    }),
    trainer: trainerOf(member),
    roundsFolder,
    signal: new AbortController().signal,
    now: () => world.now().getTime(),
    log: () => undefined,
  })

/** Takes part, but dies before its shares arrive. */
const dieBeforeUnmasking = async (world: World, member: Member, roundId: string, roundsFolder: string) => {
  const cut: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    if (request.url.endsWith('/secure/unmask')) throw new Error('the line is dead')
    return fetch(request)
  }
  await expect(work(world, member, roundId, roundsFolder, cut)).rejects.toThrow('the line is dead')
}

test('an agent that was killed after its masked update sends its shares, and no figures of its own', async () => {
  const { world, members } = await secureFleet(3)
  const [first] = members
  const roundId = await startRound(world, first!)
  const stateDir = await mkdtemp(join(tmpdir(), 'secure-'))
  onTestFinished(() => rm(stateDir, { recursive: true }))
  const { roundsFolder } = await openAgentState(stateDir, world.baseUrl, first!.name)
  const folders = await Promise.all([1, 2].map(() => mkdtemp(join(stateDir, 'other-'))))
  const others = folders.map((folder, i) => work(world, members[i + 1]!, roundId, folder))
  await dieBeforeUnmasking(world, first!, roundId, roundsFolder)
  const stop = new AbortController()
  const results: RoundResult[] = []
  const ended = runAgent({
    baseUrl: world.baseUrl,
    deviceId: first!.name,
    stateDir,
    apiKey: first!.key,
    trainer: () => trainerOf(first!),
    intervalSeconds: 0.2,
    signal: stop.signal,
    now: () => world.now().getTime(),
    log: () => undefined,
    onRound: (result) => results.push(result),
  })
  await Promise.all(others)
  await expect.poll(() => results).toMatchObject([{ roundNumber: 1, globalModel: null }])
  const path = `/api/v1/devices/${first!.name}`
  const metrics = async () =>
    ((await world.request('GET', path, { key: first!.key })).body as { metrics: object }).metrics
  await expect
    .poll(async () => Object.keys((await metrics()) ?? {}))
    .toEqual(['cpu_usage_percent', 'memory_usage_percent'])
  stop.abort(new Error('the test is over'))
  await ended
})

test('agents take part in a secure round, and one that loses its connection resumes from its folder', async () => {
  const { world, members } = await secureFleet(3)
  const roundId = await startRound(world, members[0]!)
  const folders = await Promise.all(members.map(() => mkdtemp(join(tmpdir(), 'secure-'))))
  onTestFinished(async () => {
    for (const folder of folders) await rm(folder, { recursive: true })
  })
  const others = [1, 2].map((i) => work(world, members[i]!, roundId, folders[i]!))
  await dieBeforeUnmasking(world, members[0]!, roundId, folders[0]!)
  const secret = join(folders[0]!, roundId, 'secure.json')
  expect(JSON.parse(await readFile(secret, 'utf8'))).toMatchObject({ step: 'unmasked' })
  if (process.platform !== 'win32') expect((await stat(secret)).mode & 0o777).toBe(0o600)
  await Promise.all([work(world, members[0]!, roundId, folders[0]!), ...others])
  // No secrets are left behind.
  expect(await readdir(folders[0]!)).toEqual([])

  await world.service.runDueTasks()
  const { key } = members[0]!
  const { body } = await world.request('GET', `/api/v1/training/rounds/${roundId}/status`, { key })
  const { aggregated_model_id: id } = body as { aggregated_model_id: string }
  const headers = { authorization: `Bearer ${key}` }
  const file = await fetch(`${world.baseUrl}/api/v1/models/${id}/versions/1/download`, { headers })
  const plain = plainResult(members, secureSettings({ devices: 3, threshold: 3 }))
  expect(tensorsOf(new Uint8Array(await file.arrayBuffer()))).toEqual(plain.tensors)
})
