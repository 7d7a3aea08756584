import { expect, it } from 'vitest'
import { createClient, unwrap } from '../../src/client/client.ts'
import { initialModel } from '../../src/sdk/trainers/dense-network.ts'
import { encodeModel } from '../../src/sdk/trainers/weights-codec.ts'
import { freshDataDir } from '../databases.ts'
import { formOf } from '../world.ts'
import { type RunningService, runService, until } from './service-process.ts'

const DEVICES = 3
const ROUNDS = 3
const weights = (value: number): Uint8Array => {
  const [weight, bias] = initialModel({ features: 2, hidden: [], classes: 2, seed: 0 })
  weight!.data.fill(value)
  return encodeModel([weight!, bias!], new Map())
}

const clientOf = ({ baseUrl }: RunningService, apiKey: string) => createClient({ baseUrl, apiKey })

const register = async ({ baseUrl }: RunningService, deviceId: string): Promise<string> =>
  (await unwrap(createClient({ baseUrl }).POST('/api/v1/devices/register', { body: { device_id: deviceId } }))).api_key

/** Runs a job of three rounds with Adam, killing and restarting the service at the given points; returns the results. */
const playJob = async (killedAt: readonly string[]): Promise<(string | null)[]> => {
  const dataDir = await freshDataDir()
  let service = await runService(dataDir)
  const pass = async (place: string): Promise<void> => {
    if (!killedAt.includes(place)) return
    await service.kill()
    service = await runService(dataDir)
  }
  const keys: string[] = []
  for (let device = 0; device < DEVICES; device++) keys.push(await register(service, `device-${device}`))
  const [key] = keys as [string]
  const model = await unwrap(
    clientOf(service, key).POST('/api/v1/models', { body: { name: 'm', framework: 'pytorch' } }),
  )
  await fetch(`${service.baseUrl}/api/v1/models/${model.id}/versions/upload`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: formOf(weights(0)),
  })
  const { id } = await unwrap(
    clientOf(service, key).POST('/api/v1/training/jobs', {
      body: { model: 'm', strategy: 'fedadam', rounds: ROUNDS, min_devices: DEVICES, publish: 'every' },
    }),
  )
  const look = () =>
    unwrap(clientOf(service, key).GET('/api/v1/training/jobs/{job_id}', { params: { path: { job_id: id } } }))
  for (let round = 0; round < ROUNDS; round++) {
    await pass(`before round ${round}`)
    const job = await until(look, ({ history }) => history.length === round + 1 && history[round]!.status === 'active')
    for (const [device, own] of keys.entries()) {
      await pass(`in round ${round} before device ${device}`)
      const response = await fetch(
        `${service.baseUrl}/api/v1/training/rounds/${job.history[round]!.round_id}/updates`,
        {
          method: 'POST',
          headers: { authorization: `Bearer ${own}` },
          body: formOf(weights(round + device), { num_samples: 1 + device }),
        },
      )
      await response.arrayBuffer()
      expect(response.status).toBe(201)
    }
    await pass(`after round ${round}`)
  }
  const done = await until(look, ({ ended_by }) => ended_by !== null)
  expect(done).toMatchObject({ status: 'completed', ended_by: 'rounds_done', rounds_completed: ROUNDS })
  expect(done.history).toHaveLength(ROUNDS)
  const rounds = await unwrap(
    clientOf(service, key).GET('/api/v1/training/jobs/{job_id}/rounds', {
      params: { path: { job_id: id }, query: { limit: 10, offset: 0 } },
    }),
  )
  // Each round appears once, as a version of the trained model, with the round's own bytes.
  const { versions } = await unwrap(
    clientOf(service, key).GET('/api/v1/models/{model_id}', { params: { path: { model_id: 'm' } } }),
  )
  expect(versions.map(({ version_label, trained_by }) => [version_label, trained_by?.round_id])).toEqual([
    ['1.0.0', undefined],
    ...done.history.map(({ round_id }, round) => [`1.${round + 1}.0`, round_id]),
  ])
  const oldestFirst = [...rounds.rounds].reverse()
  for (const [round, { aggregated_model_path: path }] of oldestFirst.entries()) {
    expect(path).toContain(versions[round + 1]!.model_hash.slice('sha256:'.length))
  }
  expect(await service.terminate()).toBe(0)
  return rounds.rounds.map((one) => one.aggregated_model_path)
}

it('a service that is killed during a job continues it, and every round has the same bytes', async () => {
  const undisturbed = await playJob([])
  expect(new Set(undisturbed).size).toBe(ROUNDS)
  expect(await playJob(['before round 0', 'in round 1 before device 1', 'after round 1'])).toEqual(undisturbed)
})

/** Runs a one-round job whose devices evaluate its model, killing the service at the given points; returns the evaluation. */
const playEvaluation = async (killedAt: readonly string[]) => {
  const dataDir = await freshDataDir()
  let service = await runService(dataDir)
  const pass = async (place: string): Promise<void> => {
    if (!killedAt.includes(place)) return
    await service.kill()
    service = await runService(dataDir)
  }
  const keys: string[] = []
  for (let device = 0; device < DEVICES; device++) keys.push(await register(service, `device-${device}`))
  const [key] = keys as [string]
  const post = async (path: string, own: string, body: FormData | object) => {
    const isForm = body instanceof FormData
    const response = await fetch(`${service.baseUrl}/api/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${own}`, ...(!isForm && { 'content-type': 'application/json' }) },
      body: isForm ? body : JSON.stringify(body),
    })
    const answer = (await response.json()) as { readonly id: string }
    expect([response.status, answer]).toEqual([201, expect.anything()])
    return answer
  }
  await post('/models', key, { name: 'm', framework: 'pytorch' })
  await post('/models/m/versions/upload', key, formOf(weights(0)))
  const { id } = await post('/training/jobs', key, {
    model: 'm',
    rounds: 1,
    min_devices: DEVICES,
    evaluation_seconds: 3600,
  })
  const look = () =>
    unwrap(clientOf(service, key).GET('/api/v1/training/jobs/{job_id}', { params: { path: { job_id: id } } }))
  const evaluation = JSON.stringify({ num_samples: 2, metrics: { f1: 0.1 }, final_model: true })
  const { history } = await until(look, (job) => job.history[0]?.status === 'active')
  const round = `/training/rounds/${history[0]!.round_id}`
  for (const [device, own] of keys.entries())
    await post(`${round}/updates`, own, formOf(weights(device), { num_samples: 1, evaluation }))
  const requested = await until(look, ({ waiting_until }) => waiting_until !== null)
  for (const [device, own] of keys.entries()) {
    await pass(`before device ${device}`)
    expect(await look()).toMatchObject({ status: 'running', waiting_until: requested.waiting_until })
    const name = `device-${device}`
    const beat = await unwrap(
      clientOf(service, own).PUT('/api/v1/devices/{device_id}/heartbeat', { params: { path: { device_id: name } } }),
    )
    expect(beat.pending_evaluation_round_id).toBe(history[0]!.round_id)
    await post(`${round}/evaluation`, own, { num_samples: 1 + device, metrics: { f1: 0.2 * (device + 1) } })
  }
  await pass('after the last')
  const done = await until(look, ({ ended_by }) => ended_by !== null)
  expect(await service.terminate()).toBe(0)
  return { status: done.status, ended_by: done.ended_by, evaluation: done.history[0]!.evaluation }
}

it('a service that is killed while devices evaluate keeps the deadline and their results', async () => {
  const undisturbed = await playEvaluation([])
  expect(undisturbed).toMatchObject({ status: 'completed', evaluation: { devices: DEVICES, num_samples: 6 } })
  expect(await playEvaluation(['before device 1', 'after the last'])).toEqual(undisturbed)
})
