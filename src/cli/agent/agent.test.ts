import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { formOf, startWorld, type World } from '../../../test/world.ts'
import { composeKey } from '../../domain/api-key.ts'
import { runInProcess } from '../in-process.fixture.ts'
import { Interrupted } from '../io.ts'

const CSV = `x,y2,label\n${Array.from({ length: 40 }, (_, row) => `${row % 2 ? 1 + row / 40 : -1 - row / 40},${row % 5},${row % 2 ? 'right' : 'left'}`).join('\n')}\n`

/** Starts an agent in its own home; the service requires a key to register. `ready` resolves once it waits. */
const startAgent = async (world: World, argv: readonly string[], signal?: AbortSignal) => {
  const home = await emptyFolder()
  await writeFile(join(home, 'data.csv'), CSV)
  let isReady = (): void => undefined
  const ready = new Promise<void>((resolve) => {
    isReady = resolve
  })
  const env = { SERVICE_HOME: home, SERVICE_API_BASE: world.baseUrl, SERVICE_API_KEY: world.service.firstAdminKey! }
  const ran = runInProcess(['agent', '--interval', '1', ...argv], {
    env,
    cwd: home,
    now: world.now,
    onOutput: (text) => / is waiting for (rounds|versions) /.test(text) && isReady(),
    ...(signal && { signal }),
  })
  await Promise.race([ready, ran])
  return { ran }
}

it('trains on a CSV file in one round and exits', async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const key = world.service.firstAdminKey!
  const argv = [
    '--data',
    'data.csv',
    '--classes',
    'left,right',
    '--device-id',
    'edge-1',
    '--platform',
    'python',
    '--once',
  ]
  const { ran } = await startAgent(world, argv)
  const { body: device } = await world.request('GET', '/api/v1/devices/edge-1', { key })
  expect(device).toMatchObject({
    platform: 'python',
    capabilities: { cpu: expect.any(String), memory_gb: expect.any(Number) },
  })
  const body = {
    target_devices: 1,
    min_devices: 1,
    hyperparameters: { classes: ['left', 'right'], learning_rate: 0.1 },
  }
  expect((await world.request('POST', '/api/v1/training/rounds/start', { key, body })).status).toBe(201)
  const { exitCode, stdout, stderr } = await ran
  expect({ exitCode, stderr, lines: stdout.trimEnd().split('\n').length }).toEqual({
    exitCode: 0,
    stderr: '',
    lines: 4,
  })
  expect(stdout).toMatch(/^Round 1: submitted an update from 36 samples in .+ s, loss .+, accuracy 100\.0%\.$/m)
})

it('exits with 1 and the reason on stderr when its only round fails', async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const key = world.service.firstAdminKey!
  const trainer = `"${process.execPath}" -e 'process.exitCode = 3'`
  const { ran } = await startAgent(world, ['--trainer', trainer, '--device-id', 'edge-1', '--once'])
  const body = { target_devices: 1, min_devices: 1 }
  const { body: round } = await world.request('POST', '/api/v1/training/rounds/start', { key, body })
  const { exitCode, stderr } = await ran
  expect({ exitCode, stderr }).toEqual({
    exitCode: 1,
    stderr: `svc: Round ${(round as { id: string }).id} failed: The trainer ended with exit code 3.\n`,
  })
})

it('runs a custom trainer, and on Ctrl-C marks the device inactive and exits with 130', async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const key = world.service.firstAdminKey!
  const stop = new AbortController()
  const program = 'console.log("no data here"); process.exitCode = 3'
  const argv = ['--trainer', `"${process.execPath}" -e '${program}'`, '--device-id', 'edge-1']
  const { ran } = await startAgent(world, argv, stop.signal)
  const body = { target_devices: 1, min_devices: 1 }
  const { body: round } = await world.request('POST', '/api/v1/training/rounds/start', { key, body })
  const selection = `/api/v1/training/rounds/${(round as { id: string }).id}/selection?device_id=edge-1`
  const failure = async () => (await world.request('GET', selection, { key })).body as { state: string; reason: string }
  await vi.waitUntil(async () => (await failure()).state === 'failed', { timeout: 120_000, interval: 100 })
  expect((await failure()).reason).toBe('The trainer ended with exit code 3. Its output:\nno data here')
  stop.abort(new Interrupted('SIGINT'))
  const { exitCode, stderr } = await ran
  expect({ exitCode, stderr }).toEqual({ exitCode: 130, stderr: 'trainer: no data here\n' })
  const { body: device } = await world.request('GET', '/api/v1/devices/edge-1', { key })
  expect(device).toMatchObject({ status: 'inactive' })
})

it('runs the hook for a delivered model in the given folder, without taking part in rounds', async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const key = world.service.firstAdminKey!
  const post = async (path: string, body: unknown) =>
    (await world.request('POST', `/api/v1${path}`, { key, body })).status
  expect(await post('/models', { name: 'scorer' })).toBe(201)
  expect(await post('/models/scorer/versions/upload', formOf('weights'))).toBe(201)
  const stop = new AbortController()
  const folder = await emptyFolder()
  const program = 'console.log(process.env.MODEL_PATH); console.log(JSON.stringify({ loss: 0.25 }))'
  const hook = `"${process.execPath}" -e '${program}'`
  const argv = ['--on-model', hook, '--models-dir', folder, '--device-id', 'edge-1']
  const site = ['--capability', 'site=bonn', '--capability', 'memory_gb=2']
  const { ran } = await startAgent(world, [...argv, ...site], stop.signal)
  const { body: device } = await world.request('GET', '/api/v1/devices/edge-1', { key })
  expect(device).toMatchObject({ capabilities: { cpu: expect.any(String), memory_gb: 2, site: 'bonn' } })
  expect(await post('/models/scorer/rollouts', { version: '1', rollout_percentage: 100 })).toBe(201)
  const path = '/api/v1/models/scorer/rollouts'
  const reports = async () => {
    const { rollouts } = (await world.request('GET', path, { key })).body as { rollouts: { rollout_id: string }[] }
    const { body } = await world.request('GET', `${path}/${rollouts[0]!.rollout_id}`, { key })
    return (body as { reports: { active: number } }).reports.active
  }
  await vi.waitUntil(async () => (await reports()) === 1, { timeout: 120_000, interval: 100 })
  stop.abort(new Interrupted('SIGINT'))
  const { stdout, stderr } = await ran
  expect(stdout.split('\n')).toEqual(
    expect.arrayContaining([
      'Model scorer: downloading version 1.0.0, 1 kB.',
      'Model scorer: version 1.0.0 is active (loss 0.25).',
    ]),
  )
  expect(stderr.split('\n')[0]!.startsWith(`on-model: ${folder}`)).toBe(true)
})

it('exits with 1 if the device id is taken, and asks for the device key if the given key is invalid', async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const argv = ['--data', 'data.csv', '--device-id', 'edge-1']
  const registered = await world.request('POST', '/api/v1/devices/register', {
    key: world.service.firstAdminKey!,
    body: { device_id: 'edge-1' },
  })
  expect(registered.status).toBe(201)
  const { ran } = await startAgent(world, argv)
  expect(await ran).toEqual({
    exitCode: 1,
    stdout: '',
    stderr:
      `svc: Device 'edge-1' is already registered with ${world.baseUrl}, and its key is not on this machine. ` +
      'Choose another device id, or give the key that this device was registered with.\n',
  })

  const unknown = composeKey((count) => new Uint8Array(count).fill(7))
  const refused = await startAgent(world, [...argv, '--device-key', unknown])
  const { exitCode, stderr } = await refused.ran
  expect({ exitCode, stderr }).toEqual({
    exitCode: 1,
    stderr:
      'svc: This API key is not valid: it is unknown, expired, or revoked. Check it, or create a new key.\n' +
      'Pass the key that the device received when it was registered: --device-key <key>\n',
  })
})

it('reports missing or invalid options before it registers anything', async () => {
  const home = await emptyFolder()
  const svc = (...argv: string[]) => runInProcess(['agent', ...argv], { env: { SERVICE_HOME: home }, cwd: home })
  const advice = 'Usage: svc agent --help\n'
  expect([
    await svc(),
    await svc('--data', 'a.csv', '--trainer', 'true'),
    await svc('--data', 'missing.csv'),
    await svc('--trainer', 'true', '--interval', '0'),
    await svc('--trainer', 'true', '--measure-interval', '0'),
    await svc('--on-model', ' '),
    await svc('--trainer', ''),
    await svc('--data', 'a.csv', '--classes', 'cat'),
    await svc('--trainer', 'true', '--device-key', 'k'),
  ]).toEqual([
    {
      exitCode: 2,
      stdout: '',
      stderr:
        'svc: No work was configured for this device.\n' +
        'Give --data <file.csv> for the built-in trainer, --trainer "<command>" for your own, or --on-model "<command>" ' +
        'to run delivered models only.\n',
    },
    {
      exitCode: 2,
      stdout: '',
      stderr: `svc: option '--trainer <command>' cannot be used with option '--data <file.csv>'\n${advice}`,
    },
    { exitCode: 1, stdout: '', stderr: `svc: ${join(home, 'missing.csv')} does not exist.\n` },
    {
      exitCode: 2,
      stdout: '',
      stderr: `svc: option '--interval <seconds>' argument '0' is invalid. It must be a number of seconds from 1 to 3600.\n${advice}`,
    },
    {
      exitCode: 2,
      stdout: '',
      stderr: `svc: option '--measure-interval <seconds>' argument '0' is invalid. It must be a number of seconds from 1 to 86400.\n${advice}`,
    },
    {
      exitCode: 2,
      stdout: '',
      stderr: `svc: option '--on-model <command>' argument ' ' is invalid. It must be a command, such as ./reload.sh.\n${advice}`,
    },
    {
      exitCode: 2,
      stdout: '',
      stderr: `svc: option '--trainer <command>' argument '' is invalid. It must be a command, such as ./reload.sh.\n${advice}`,
    },
    {
      exitCode: 2,
      stdout: '',
      stderr: `svc: option '--classes <names>' argument 'cat' is invalid. It must name at least two different classes, such as cat,dog.\n${advice}`,
    },
    {
      exitCode: 2,
      stdout: '',
      stderr: 'svc: A device key belongs to one device.\nAlso give --device-id <id>.\n',
    },
  ])
})
