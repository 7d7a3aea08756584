import { mkdir, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { emptyFolder } from '../../test/databases.ts'
import { startWorld, type World } from '../../test/world.ts'
import { runAgent } from './agent.ts'
import { openAgentState } from './agent-state.ts'
import { noTrainer } from './agent-trainer.ts'
import { eventually } from './delivery/delivery.fixture.ts'
import { startProxy } from './delivery/proxy.fixture.ts'

/** Starts an agent and waits until it has registered through a proxy. It is stopped when the test ends. */
const startAgent = async (world: World, deviceId?: string) => {
  const proxy = await startProxy(world.baseUrl)
  const stateDir = await emptyFolder()
  const output: string[] = []
  const stop = new AbortController()
  let failure: unknown = null
  const ended = runAgent({
    baseUrl: proxy.baseUrl,
    stateDir,
    ...(deviceId !== undefined && { deviceId }),
    trainer: () => noTrainer,
    intervalSeconds: 0.1,
    signal: stop.signal,
    now: () => world.now().getTime(),
    log: (message) => output.push(message),
  }).catch((error: unknown) => {
    failure = error
  })
  onTestFinished(async () => {
    stop.abort(new Error('the test is over'))
    await ended
  })
  const state = await openAgentState(stateDir, proxy.baseUrl, deviceId ?? null)
  const line = (text: string) => eventually(() => output.find((one) => one.includes(text)) ?? null)
  await line(' is waiting for rounds at ')
  const identity = await state.load()
  if (identity === null) throw new Error('the agent has registered and has no key')
  const registrations = () => proxy.seen.filter(({ path }) => path.endsWith('/devices/register')).length
  const heartbeats = () => proxy.seen.filter(({ path }) => path.includes('/heartbeat')).length
  /** Resolves after this many more requests of this kind. */
  const more = (count: () => number, times: number) => {
    const before = count()
    return eventually(() => (failure !== null || count() >= before + times ? true : null))
  }
  return { proxy, state, identity, output, line, registrations, heartbeats, more, failure: () => failure }
}

const devicesOf = async (world: World, key: string): Promise<unknown> =>
  (await world.request('GET', '/api/v1/status', { key })).body

test.each([
  ['edge-1', 'open'],
  [undefined, 'open'],
  ['edge-1', 'token'],
] as const)(
  'an agent keeps its key while another database stands in for its service (%s, %s)',
  async (name, enrollment) => {
    const world = await startWorld()
    const other = await startWorld({ config: { enrollment } })
    const agent = await startAgent(world, name)
    const { identity, proxy } = agent
    if (enrollment === 'open') await other.register(identity.deviceId)
    proxy.target = other.baseUrl
    await agent.line(`does not let ${identity.deviceId} register again: `)
    await agent.more(agent.registrations, 2)
    expect(agent.failure()).toBeNull()
    expect(await agent.state.load()).toEqual(identity)

    proxy.target = world.baseUrl
    await agent.more(agent.heartbeats, 3)
    expect(agent.failure()).toBeNull()
    const device = await world.request('GET', `/api/v1/devices/${identity.deviceId}`, { key: identity.apiKey })
    expect(device.body).toMatchObject({ status: 'active' })
    expect(await devicesOf(world, identity.apiKey)).toMatchObject({ total_devices: 1 })
    expect(agent.output.filter((one) => one.includes('does not let'))).toHaveLength(1)
    expect(agent.output.filter((one) => one.includes('Registering again.'))).toHaveLength(1)
  },
)

test('a 401 that is not from the service is an outage: the agent keeps its key and does not register again', async () => {
  const world = await startWorld()
  const agent = await startAgent(world, 'edge-1')
  const registrations = agent.registrations()
  agent.proxy.intercept = () => [401, '{"error": "invalid_token", "message": "Sign in to this network."}']
  await agent.more(agent.heartbeats, 2)
  expect(await agent.state.load()).toEqual(agent.identity)
  agent.proxy.intercept = () => null
  await agent.more(agent.heartbeats, 2)
  expect(agent.failure()).toBeNull()
  expect(agent.registrations()).toBe(registrations)
  expect(agent.output).toContainEqual(expect.stringContaining('Sign in to this network. Trying again'))
})

test('a device that is erased while its heartbeat is held is treated like one whose key is refused', async () => {
  const world = await startWorld()
  const admin = await world.register('admin')
  const agent = await startAgent(world, 'edge-1')
  const { intercept } = agent.proxy
  const message = "Device 'edge-1' does not exist, or this key has no access to it."
  agent.proxy.intercept = (path) =>
    path.includes('/heartbeat') ? [404, JSON.stringify({ error: 'not_found', message, status_code: 404 })] : null
  await agent.line('does not let edge-1 register again: ')
  agent.proxy.intercept = intercept
  await agent.more(agent.heartbeats, 2)
  expect(agent.failure()).toBeNull()
  expect(await devicesOf(world, admin.key)).toMatchObject({ total_devices: 2 })
})

test('a new key that cannot be stored, for example on a full disk, is stored as soon as possible', async () => {
  const agent = await startAgent(await startWorld(), 'edge-1')
  const path = join(agent.state.folder, 'identity.json')
  await rm(path)
  await mkdir(path)
  agent.proxy.target = (await startWorld()).baseUrl
  await agent.line('The key of edge-1 could not be stored: The disk reported ')
  await rmdir(path)
  await expect.poll(async () => (await agent.state.load())?.apiKey).toMatch(/^sk_live_/)
  await agent.more(agent.heartbeats, 2)
  expect(agent.failure()).toBeNull()
})
