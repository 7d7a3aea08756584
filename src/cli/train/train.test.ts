import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { boundOrganizations } from '../../../test/organizations.ts'
import { formOf, type TestDevice, type World } from '../../../test/world.ts'
import { connect } from '../connection.ts'
import { startFaultyProxy } from '../faulty-proxy.fixture.ts'
import { runInProcess } from '../in-process.fixture.ts'
import { run } from '../program.ts'
import { type JobDetail, placesOf, resultOf } from './job.ts'

const update = (value: number) => new Uint8Array(Float32Array.of(value, 1, 2).buffer)

const openOrganization = boundOrganizations()

const opened = async () => {
  const { world, key } = await openOrganization()
  const devices = [await world.register('a'), await world.register('b')]
  const created = await world.request('POST', '/api/v1/models', { key, body: { name: 'm', framework: 'pytorch' } })
  const { id } = created.body as { id: string }
  await world.request('POST', `/api/v1/models/${id}/versions/upload`, {
    key,
    body: formOf(update(0), {}, 'weights.f32'),
  })
  const svc = async (...argv: string[]) =>
    runInProcess(argv, {
      env: { SERVICE_HOME: await emptyFolder(), SERVICE_API_KEY: key, SERVICE_API_BASE: world.baseUrl },
    })
  return { world, devices, key, svc, modelId: id }
}

/** Both devices submit updates to their pending round. */
const deliver = async (world: World, devices: readonly TestDevice[], fields: Record<string, number | string> = {}) => {
  for (const [index, { key, deviceId }] of devices.entries()) {
    const id = await vi.waitFor(async () => {
      const { body } = await world.request('PUT', `/api/v1/devices/${deviceId}/heartbeat`, { key })
      const { pending_round_id } = body as { pending_round_id: string }
      expect(pending_round_id).toEqual(expect.any(String))
      return pending_round_id
    }, 20_000)
    const body = formOf(update(index), { num_samples: 1, ...fields })
    expect((await world.request('POST', `/api/v1/training/rounds/${id}/updates`, { key, body })).status).toBe(201)
  }
  await world.service.runDueTasks()
}

it('starts a job, shows its rounds, and stops it', async () => {
  const { world, devices, svc } = await opened()
  const started = await svc(
    'train',
    'start',
    'm',
    '--rounds',
    '3',
    '--hyperparameter',
    'learning_rate=0.5',
    '--name',
    'x',
  )
  expect(started).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/^Started job [0-9a-f-]{36}: 3 rounds of fedavg on m\.\n$/),
    stderr: `Watch it with: svc train status ${/[0-9a-f-]{36}/.exec(started.stdout)?.[0]} --follow\n`,
  })
  await deliver(world, devices, { local_loss: 0.5, local_accuracy: 0.75 })
  const status = await svc('train', 'status', 'm')
  expect(status.stdout).toMatch(/Name: +x\nStatus: +running\nStrategy: +fedavg\nRounds: +1 of 3\n/)
  expect(status.stdout).toMatch(/1 of 3 +1 +completed +0\.5000 +75\.0% +2/)
  const job = JSON.parse((await svc('train', 'status', 'm', '--json')).stdout)
  expect(job).toMatchObject({
    status: 'running',
    hyperparameters: { learning_rate: 0.5 },
    history: [{ loss: 0.5 }, {}],
  })
  expect((await svc('train', 'status', job.id)).stdout).toBe((await svc('train', 'status', 'm')).stdout)
  expect(await svc('train', 'stop', 'm')).toEqual({
    exitCode: 0,
    stdout: `Stopped job ${job.id} after 1 of 3 rounds.\n`,
    stderr: '',
  })
  expect(await svc('train', 'stop', 'm')).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: 'svc: A training job that is stopped cannot be stopped.\n',
  })
})

it('stops the newest job of a model that has not ended, regardless of jobs that were stopped since', async () => {
  const { svc } = await opened()
  const start = async () =>
    (JSON.parse((await svc('train', 'start', 'm', '--name', 'x', '--json')).stdout) as { id: string }).id
  const [first, second, third] = [await start(), await start(), await start()]
  await svc('train', 'stop', third)
  expect((await svc('train', 'stop', 'm')).stdout).toContain(`Stopped job ${second} `)
  expect((await svc('train', 'stop', 'x')).stdout).toContain(`Stopped job ${first} `)
  expect(await svc('train', 'stop', 'm')).toMatchObject({
    exitCode: 1,
    stderr: 'svc: A training job that is stopped cannot be stopped.\n',
  })
})

it('counts rounds in their job, also after those that its history leaves out', () => {
  const history = ['completed', 'failed', 'completed', 'active'].map(
    (status) => ({ status }) as JobDetail['history'][number],
  )
  expect(placesOf({ history, rounds_completed: 150 })).toEqual([149, 150, 150, 151])
  // The first round ended after the job was read, and before its history.
  expect(placesOf({ history: history.slice(0, 1), rounds_completed: 0 })).toEqual([1])
})

it('help states the defaults of start', async () => {
  const { stdout } = await runInProcess(['train', 'start', '--help'])
  const help = stdout.replace(/\s+/g, ' ')
  expect(help).toContain('maximum duration of a round, 60 to 3600 (default: 300)')
  expect(help).toContain('how long to wait for enough active devices (default: 3600)')
})

it('cancels a round, and says that its job continues', async () => {
  const { world, key, svc } = await opened()
  const job = JSON.parse((await svc('train', 'start', 'm', '--json')).stdout) as { id: string }
  await world.service.runDueTasks()
  const { body } = await world.request('GET', '/api/v1/training/rounds/current', { key })
  const { id } = body as { id: string }
  expect(await svc('train', 'cancel', id, '--reason', 'too slow')).toEqual({
    exitCode: 0,
    stdout: `Canceled round 1 (${id}).\n`,
    stderr: `Its job continues with another round. To stop the job: svc train stop ${job.id}\n`,
  })
  const { body: round } = await world.request('GET', `/api/v1/training/rounds/${id}/status`, { key })
  expect(round).toMatchObject({ status: 'failed', failure_reason: 'The round was canceled: too slow' })
  expect(await svc('train', 'cancel', id)).toMatchObject({
    exitCode: 1,
    stderr: 'svc: The round is failed: only a round in progress can be canceled.\n',
  })
})

it('follows a job to its end, with a line for each round, and pulls the result by name', async () => {
  const { world, devices, key, svc } = await opened()
  const following = svc('train', 'start', 'm', '--rounds', '2', '--follow')
  await vi.waitFor(async () => {
    const { body } = await world.request('GET', '/api/v1/training/jobs', { key })
    expect((body as { total: number }).total).toBe(1)
  }, 20_000)
  await deliver(world, devices, { local_loss: 0.5 })
  await deliver(world, devices, { local_loss: 0.25 })
  const { exitCode, stdout, stderr } = await following
  expect({ exitCode, stdout }).toEqual({
    exitCode: 0,
    stdout: expect.stringMatching(
      /^Round 1 of 2: loss 0\.5000, 2 updates\nRound 2 of 2: loss 0\.2500, 2 updates\nCompleted: All 2 requested rounds are completed\. The result is version 1\.1\.0 of m\. Fetch it with: svc pull m\n$/,
    ),
  })
  expect(stderr).toMatch(/^Job [0-9a-f-]{36}: 2 rounds of fedavg on m\.\n$/)
  // Pulling by name returns the trained model: the mean of both updates.
  const path = join(await emptyFolder(), 'trained.f32')
  expect(await svc('pull', 'm', '--output', path)).toMatchObject({ exitCode: 0, stderr: '' })
  const bytes = await readFile(path)
  expect([...new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)]).toEqual([0.5, 1, 2])
})

it('prints only the ended job to stdout when it follows with --json, also of a stopped job', async () => {
  const { world, devices, svc } = await opened()
  const following = svc('train', 'start', 'm', '--rounds', '1', '--follow', '--json')
  await deliver(world, devices, { local_loss: 0.5 })
  const { exitCode, stdout, stderr } = await following
  const { id, ended_by } = JSON.parse(stdout)
  expect({ exitCode, ended_by }).toEqual({ exitCode: 0, ended_by: 'rounds_done' })
  expect(stderr).toContain('Round 1 of 1: loss 0.5000, 2 updates\n')
  const again = await svc('train', 'status', id, '--follow', '--json')
  expect(JSON.parse(again.stdout)).toEqual(JSON.parse(stdout))

  const job = JSON.parse((await svc('train', 'start', 'm', '--json')).stdout)
  await svc('train', 'stop', job.id)
  const stopped = await svc('train', 'status', job.id, '--follow', '--json')
  expect(stopped).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('svc: The job was stopped: ') })
  expect(JSON.parse(stopped.stdout)).toMatchObject({ id: job.id, status: 'stopped', ended_by: 'stopped' })
})

it.each([true, false])('says what a followed job waits for (on a terminal: %s)', async (isTTY) => {
  const { world, devices, key } = await opened()
  const env = { SERVICE_HOME: await emptyFolder(), SERVICE_API_KEY: key, SERVICE_API_BASE: world.baseUrl }
  const texts = { stdout: '', stderr: '' }
  const stdout = { write: (text: string) => void (texts.stdout += text) }
  const stderr = { isTTY, write: (text: string) => void (texts.stderr += text) }
  const argv = ['train', 'start', 'm', '--rounds', '1', '--min-devices', '3', '--follow']
  const following = run(argv, { env, cwd: process.cwd(), stdout, stderr })
  const shows = (text: string) =>
    vi.waitFor(async () => {
      await world.service.runDueTasks()
      expect(texts.stderr).toContain(text)
    }, 20_000)
  await shows('Waits for 3 active devices that train; 2 are active. It waits until 2026-01-01 01:00 UTC.\n')
  await deliver(world, [...devices, await world.register('c')])
  expect(await following).toBe(0)
  expect(texts.stderr.match(/Waits for/g)).toHaveLength(1)
})

it('follows a job through a rate limit, a proxy error, and a lost connection', async () => {
  const { world, devices, key } = await opened()
  const faults = ['none', 'limit', 'proxy', 'cut']
  const SERVICE_API_BASE = await startFaultyProxy(world, (incoming, outgoing, forward) => {
    const fault = /\/jobs\/./.test(incoming.url!) ? faults.shift() : undefined
    if (fault === 'limit') {
      const body = { error: 'rate_limited', message: 'Too many requests. Try again in 1 s.', details: null }
      outgoing.writeHead(429, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    } else if (fault === 'proxy') outgoing.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>')
    else if (fault === 'cut') outgoing.destroy()
    else forward()
  })
  const env = { SERVICE_HOME: await emptyFolder(), SERVICE_API_KEY: key, SERVICE_API_BASE }
  const texts = { stdout: '', stderr: '' }
  const stdout = { write: (text: string) => void (texts.stdout += text) }
  const stderr = { isTTY: true, write: (text: string) => void (texts.stderr += text) }
  const argv = ['train', 'start', 'm', '--rounds', '1', '--follow']
  const following = run(argv, { env, cwd: process.cwd(), stdout, stderr })
  await vi.waitFor(() => expect(faults).toEqual([]), 20_000)
  await deliver(world, devices)
  expect(await following).toBe(0)
  expect(texts.stdout).toMatch(/^Round 1 of 1: 2 updates\nCompleted: /)
  // The note replaces the progress bar.
  expect(texts.stderr).toMatch(
    /^Job \S+: 1 round of fedavg on m\.\n\r\r░+ 0\/1 [^\r]+\r +\rToo many requests\. Trying again\.\n\r/,
  )
})

it('explains invalid orders', async () => {
  const { svc } = await opened()
  expect(await svc('train', 'status', 'm')).toMatchObject({
    exitCode: 1,
    stderr: "svc: No training job has trained 'm'.\nStart one: svc train start m\n",
  })
  expect(await svc('train', 'start', 'm', '--strategy', 'sgd')).toMatchObject({ exitCode: 2 })
  expect(await svc('train', 'start', 'm', '--rounds', '0')).toMatchObject({ exitCode: 2 })
  expect(await svc('train', 'start', 'm', '--noise-multiplier', '1')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('Privacy needs --clip-norm and either --noise-multiplier or --target-epsilon.'),
  })
  expect(await svc('train', 'start', 'm', '--strategy', 'fedtrimmedavg', '--option', 'trim=2')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('svc: --option trim must be'),
  })
  expect(await svc('train', 'start', 'm', '--goal', 'maximize')).toEqual({
    exitCode: 2,
    stdout: '',
    stderr: 'svc: --goal says which values of --metric are better.\nAdd --metric, or leave --goal out.\n',
  })
  expect(await svc('train', 'start', 'm', '--metric', 'f1')).toEqual({
    exitCode: 2,
    stdout: '',
    stderr: 'svc: --metric applies only to --stop-below and --publish best.\nLeave it out, or add one of them.\n',
  })
})

it('lists jobs, resumes a stopped one, and extends a completed one', async () => {
  const { world, devices, svc } = await opened()
  const start = async (...more: string[]) =>
    JSON.parse((await svc('train', 'start', 'm', '--rounds', '2', '--json', ...more)).stdout) as { id: string }
  const { id } = await start('--strategy', 'fedadam', '--name', 'adam')
  await deliver(world, devices)
  await svc('train', 'stop', 'm')
  expect((await svc('train', 'list')).stdout).toMatch(
    /adam +m +stopped +fedadam +1\/2 +.*The training job was stopped\./,
  )
  expect(await svc('train', 'resume', 'adam')).toEqual({
    exitCode: 0,
    stdout: `Job ${id} continues after 1 round, until 2 rounds are completed, with its optimizer state.\n`,
    stderr: `Watch it with: svc train status ${id} --follow\n`,
  })
  await deliver(world, devices)
  const single = await start('--rounds', '1', '--name', 'single')
  await svc('train', 'stop', 'single')
  expect((await svc('train', 'resume', 'single')).stdout).toBe(
    `Job ${single.id} continues after 0 rounds, until 1 round is completed.\n`,
  )
  await svc('train', 'stop', 'single')
  expect(await svc('train', 'resume', 'adam')).toMatchObject({
    exitCode: 1,
    stderr: 'svc: A training job that is completed cannot be resumed. Extend it by more rounds.\n',
  })
  expect(await svc('train', 'extend', id.slice(0, 8))).toMatchObject({ exitCode: 2 })
  expect(await svc('train', 'extend', id.slice(0, 8), '--rounds', '0')).toMatchObject({ exitCode: 2 })
  expect(JSON.parse((await svc('train', 'extend', id.slice(0, 8), '--rounds', '3', '--json')).stdout)).toMatchObject({
    status: 'running',
    rounds: 5,
    rounds_completed: 2,
  })
  expect(JSON.parse((await svc('train', 'list', '--status', 'running', '--json')).stdout)).toMatchObject({ total: 1 })
  expect(await svc('train', 'resume', 'nothing')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("Job or model 'nothing' does not exist, or this key has no access to it."),
  })
  await svc('train', 'stop', 'adam')
  const followed = svc('train', 'resume', 'adam', '--rounds', '1', '--follow')
  await deliver(world, devices)
  expect((await followed).stdout).toMatch(/ of m\. Fetch it with: svc pull m\n$/)
  // A service that stops then does not make the completed job a failure.
  const done = JSON.parse((await svc('train', 'show', id, '--json')).stdout) as JobDetail
  const unreachable = connect({ baseUrl: 'http://127.0.0.1:1' })
  expect(await resultOf(unreachable, done)).toBe(`The result is model ${done.latest_model_id}.`)
})

it('compares jobs by results and different settings, and exports one for a spreadsheet', async () => {
  const { world, devices, svc } = await opened()
  for (const [name, ...options] of [
    ['mean', '--rounds', '1', '--strategy', 'fedavg'],
    ['adam', '--rounds', '2', '--strategy', 'fedadam', '--hyperparameter', 'learning_rate=0.5'],
  ] as const) {
    await svc('train', 'start', 'm', '--name', name, ...options)
    await deliver(world, devices, { local_loss: name === 'mean' ? 0.5 : 0.25, local_accuracy: 0.75 })
  }
  await deliver(world, devices, {
    local_loss: 0.25,
    metrics: '{"f1": 0.5}',
    evaluation: '{"num_samples": 4, "metrics": {"accuracy": 0.625}}',
  })
  const compared = await svc('train', 'compare', 'mean', 'adam')
  expect(compared.exitCode).toBe(0)
  expect(compared.stdout).toMatch(/ +mean +adam\n/)
  expect(compared.stdout).toMatch(/best loss +0\.5 +0\.25\n/)
  expect(compared.stdout).toMatch(/final held out accuracy +- +0\.625\n/)
  expect(compared.stdout).toMatch(/strategy +fedavg +fedadam\n/)
  expect(compared.stdout).not.toContain('min_devices')
  expect(JSON.parse((await svc('train', 'compare', 'mean', 'adam', '--json')).stdout)).toMatchObject({
    jobs: [
      { name: 'mean', best_loss: 0.5, rounds: '1/1' },
      { name: 'adam', best_loss: 0.25 },
    ],
    settings: { hyperparameters: [{}, { learning_rate: 0.5 }] },
  })
  const [header, line, end] = (await svc('train', 'export', 'mean', '--format', 'csv')).stdout.split('\n')
  expect(header).toBe(
    'round_number,id,status,loss,accuracy,target_devices,completed_devices,failed_devices,started_at,completed_at,aggregated_model_id,failure_reason',
  )
  expect(line).toMatch(/^1,[0-9a-f-]{36},completed,0\.5,0\.75,2,2,0,2026-01-01T00:00:00\.000Z,/)
  expect(end).toBe('')
  const rows = (await svc('train', 'export', 'adam', '--format', 'csv')).stdout.trim().split('\n')
  expect(rows[0]).toMatch(/,failure_reason,eval\/accuracy,train\/f1$/)
  expect(rows[1]).toMatch(/^2,[0-9a-f-]{36},completed,0\.25,0\.75,.*,,0\.625,$/)
  expect(rows[2]).toMatch(/^3,[0-9a-f-]{36},completed,0\.25,,.*,,,0\.5$/)
  expect(JSON.parse((await svc('train', 'export', 'mean')).stdout)).toMatchObject({
    job: { name: 'mean', status: 'completed' },
    rounds: [{ loss: 0.5 }],
  })
  const logs = await emptyFolder()
  const log = await svc('train', 'export', 'mean', '--format', 'tensorboard', '--output', logs)
  expect((await stat(log.stdout.trim())).size).toBeGreaterThan(100)
  expect(log.stdout.startsWith(`${logs}/`)).toBe(true)
  expect((await svc('train', 'export', 'mean', '--format', 'tensorboard', '--output', `${logs}/it's`)).stderr).toBe(
    `Show it with: tensorboard --logdir '${logs}/it'\\''s'\n`,
  )
  expect((await svc('train', 'export', 'mean', '--format', 'tensorboard')).stderr).toContain('--output and --format')
  const shown = await svc('models', 'show', 'm')
  expect(shown.stdout).toMatch(
    /From: +round 3 .*\nJob: +adam .*\nStrategy: +fedadam\nDevices: +2 delivered, 0 failed, of 2 selected\n/,
  )
  expect(shown.stdout).toMatch(/Metrics: +f1 0\.5, loss 0\.25\n/)
  expect((await svc('models', 'show', 'm@1')).stdout).toMatch(/From: +an upload\nRuns on: +no device\n/)
})
