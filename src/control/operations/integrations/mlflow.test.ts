import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { formOf, startWorld } from '../../../../test/world.ts'
import { type KeptRun, startMlflow } from './mlflow.fixture.ts'

const weights = (value: number): Uint8Array => new Uint8Array(new Float32Array([value, value]).buffer)

const start = async () => {
  const world = await startWorld()
  const { deviceId, key } = await world.register('d')
  const ask = async (method: string, path: string, body?: unknown) => {
    const response = await world.request(method, `/api/v1${path}`, { key, body })
    if (response.status >= 300) throw new Error(JSON.stringify(response.body))
    return response.body as Record<string, unknown>
  }
  await ask('POST', '/models', { name: 'm' })
  await ask('POST', '/models/m/versions/upload', formOf(weights(0)))
  const mlflow = await startMlflow()
  const { id } = await ask('POST', '/integrations', {
    type: 'mlflow',
    endpoint: mlflow.url,
    config: { experiment: 'e' },
  })
  const at = `/integrations/${id}`
  /** Runs the next round of the job, in which its only device delivers. */
  const round = async (job: string, local_loss: number, metrics: object = {}): Promise<void> => {
    await ask('PUT', `/devices/${deviceId}/heartbeat`, {})
    await world.service.runDueTasks()
    const { history } = (await ask('GET', `/training/jobs/${job}`)) as { history: { round_id: string }[] }
    const form = formOf(weights(1), { num_samples: 1, local_loss, metrics: JSON.stringify(metrics) })
    await ask('POST', `/training/rounds/${history.at(-1)!.round_id}/updates`, form)
    await world.advance(60)
  }
  const deliver = async (): Promise<void> => {
    for (let minute = 0; (await ask('GET', at)).pending !== 0; minute++) {
      if (minute > 60) throw new Error(`It was not delivered within an hour: ${JSON.stringify(await ask('GET', at))}`)
      await world.advance(60)
    }
  }
  const runBy = (tag: string, value: unknown): KeptRun =>
    [...mlflow.runs.values()].find(({ tags }) => tags.get(`tributary.${tag}`) === value)!
  return { world, ask, at, mlflow, round, deliver, runBy }
}

it('a job is one run with each round once, even if responses are lost and batches are written in part', async () => {
  const { world, ask, at, mlflow, round, deliver, runBy } = await start()
  expect(await ask('POST', `${at}/test`)).toMatchObject({
    ok: true,
    response: expect.stringContaining("experiment 'e'"),
  })
  // The run is created, but the response is lost; half of a batch is written before the server dies; then it is busy.
  const faults = ['runs/create', 'runs/log-batch', 'runs/log-batch']
  mlflow.fault = (path, response, act, { run_id }) => {
    if (path !== faults[0]) return false
    faults.shift()
    act()
    if (path === 'runs/create') response.destroy()
    else {
      mlflow.runs.get(run_id)!.metrics.splice(2)
      response.writeHead(faults.length === 0 ? 429 : 500, { 'retry-after': '120' }).end()
    }
    return true
  }
  const job = (
    await ask('POST', '/training/jobs', {
      model: 'm',
      name: 'night job',
      rounds: 3,
      min_devices: 1,
      target_devices: 1,
      hyperparameters: { learning_rate: 0.1, batchSize: 8 },
      stop_when: { improvement_below: 1e-9, patience: 50 },
    })
  ).id as string
  await round(job, 3, { 'f1@x//y': 0.5 })
  await round(job, 2, { 'f1@x//y': 0.6 })
  await deliver()
  expect(faults).toEqual([])
  const run = runBy('job_id', job)
  expect(run).toMatchObject({ run_name: 'night job', status: 'RUNNING' })
  await round(job, 1, { 'f1@x//y': 0.7 })
  await deliver()

  expect([...mlflow.runs.values()].filter(({ tags }) => tags.has('tributary.job_id'))).toHaveLength(1)
  const curve = (name: string) => run.metrics.filter(({ key }) => key === name).map(({ step, value }) => [step, value])
  expect(curve('train/loss')).toEqual([
    [1, 3],
    [2, 2],
    [3, 1],
  ])
  expect(curve('train/f1_x/y')).toEqual([
    [1, 0.5],
    [2, 0.6],
    [3, 0.7],
  ])
  expect(run).toMatchObject({ status: 'FINISHED', end_time: expect.any(Number) })
  expect(Object.fromEntries(run.params)).toMatchObject({
    rounds: '3',
    'strategy.name': 'fedavg',
    min_devices: '1',
    'stop_when.patience': '50',
    'hyperparameters.learning_rate': '0.1',
    'hyperparameters.batchSize': '8',
  })
  const { latest_model_id, history } = await ask('GET', `/training/jobs/${job}`)
  const last = (history as { round_id: string }[]).at(-1)!.round_id
  expect(Object.fromEntries(run.tags)).toMatchObject({
    'tributary.model_id': latest_model_id,
    'tributary.round_id': last,
    'tributary.receipt': `/api/v1/training/rounds/${last}/receipt`,
  })

  // An extended job continues its run, with parameters that may not change.
  await ask('POST', `/training/jobs/${job}/extend`, { rounds: 1 })
  await world.advance(60)
  expect(run.status).toBe('RUNNING')
  await round(job, 0.5)
  await deliver()
  expect(run.status).toBe('FINISHED')
  expect(curve('train/loss').at(-1)).toEqual([4, 0.5])
  expect(await ask('GET', at)).toMatchObject({ status: 'active', dead_letters: 0 })
})

it('a stopped job is killed, a round without a job is a run, and a run that MLflow refuses does not block others', async () => {
  const { world, ask, at, mlflow, deliver, runBy } = await start()
  mlflow.fault = (path, response, _act, { run_id }) => {
    if (path !== 'runs/log-batch' || !mlflow.runs.get(run_id)!.tags.has('tributary.job_id')) return false
    response.writeHead(400).end('{"error_code":"INVALID_PARAMETER_VALUE","message":"no"}')
    return true
  }
  const job = (await ask('POST', '/training/jobs', { model: 'm', rounds: 2, min_devices: 1, target_devices: 1 })).id
  await ask('POST', `/training/jobs/${job}/stop`)
  const round = { target_devices: 1, min_devices: 1, global_model_id: 'm' }
  const { id } = await ask('POST', '/training/rounds/start', round)
  await ask('POST', `/training/rounds/${id}/updates`, formOf(weights(1), { num_samples: 1, local_loss: 4 }))
  await world.advance(0)
  await deliver()
  expect(runBy('round_id', id)).toMatchObject({
    status: 'FINISHED',
    metrics: [{ key: 'train/loss', value: 4, step: 1 }],
  })
  expect(await ask('GET', `${at}/dead-letters`)).toMatchObject({
    dead_letters: [{ event: { subject: { kind: 'job', id: job } } }],
  })
  mlflow.fault = () => false
  expect(await ask('POST', `${at}/replay`)).toEqual({ delivered: 1, remaining: 0, error: null })
  expect(runBy('job_id', job).status).toBe('KILLED')

  // A round is delivered even if nothing could be for hours.
  mlflow.fault = (_path, response) => {
    response.writeHead(503).end()
    return true
  }
  const { id: late } = await ask('POST', '/training/rounds/start', round)
  await ask('POST', `/training/rounds/${late}/updates`, formOf(weights(1), { num_samples: 1, local_loss: 3 }))
  await world.advance(5 * 3600)
  mlflow.fault = () => false
  await deliver()
  expect(runBy('round_id', late).status).toBe('FINISHED')
  // Rounds that ended long ago are not read each second, but once an hour.
  await world.advance(2 * 3600)
  await sql`delete from integration_runs where subject_id = ${late}`.execute(world.database!.sql)
  await world.advance(60)
  expect((await ask('GET', at)).pending).toBe(1)
  await world.advance(3600)
  await deliver()
})
