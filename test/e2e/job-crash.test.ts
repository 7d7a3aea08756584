import { expect, it } from 'vitest'
import { createClient, unwrap } from '../../src/client/client.ts'
import { initialModel } from '../../src/sdk/trainers/dense-network.ts'
import { encodeModel } from '../../src/sdk/trainers/weights-codec.ts'
import { freshDataDir } from '../databases.ts'
import { formOf, startWorld } from '../world.ts'
import { runService, until } from './service-process.ts'

const DEVICES = 3
const ROUNDS = 3
const weights = (value: number): Uint8Array => {
  const [weight, bias] = initialModel({ features: 2, hidden: [], classes: 2, seed: 0 })
  weight!.data.fill(value)
  return encodeModel([weight!, bias!], new Map())
}

/** Where the service listens, which changes when it restarts. */
type Address = () => string

const post = async (baseUrl: Address, path: string, own: string, body: FormData | object) => {
  const isForm = body instanceof FormData
  const response = await fetch(`${baseUrl()}/api/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${own}`, ...(!isForm && { 'content-type': 'application/json' }) },
    body: isForm ? body : JSON.stringify(body),
  })
  const answer = (await response.json()) as { readonly id: string }
  expect([response.status, answer]).toEqual([201, expect.anything()])
  return answer
}

/** Starts a job of a new model with three new devices of this organization. */
const startJob = async (baseUrl: Address, org: string, fields: object) => {
  const names = Array.from({ length: DEVICES }, (_, device) => `${org}-${device}`)
  const keys: string[] = []
  for (const device_id of names) {
    const body = { device_id, org_id: org }
    const client = createClient({ baseUrl: baseUrl() })
    keys.push((await unwrap(client.POST('/api/v1/devices/register', { body }))).api_key)
  }
  const [key] = keys as [string]
  const client = () => createClient({ baseUrl: baseUrl(), apiKey: key })
  await post(baseUrl, '/models', key, { name: org, framework: 'pytorch' })
  await post(baseUrl, `/models/${org}/versions/upload`, key, formOf(weights(0)))
  const job = { model: org, org_id: org, min_devices: DEVICES, ...fields }
  const { id } = await post(baseUrl, '/training/jobs', key, job)
  const params = { path: { job_id: id } }
  const look = () => unwrap(client().GET('/api/v1/training/jobs/{job_id}', { params }))
  const beat = (device: number) =>
    unwrap(
      createClient({ baseUrl: baseUrl(), apiKey: keys[device] }).PUT('/api/v1/devices/{device_id}/heartbeat', {
        params: { path: { device_id: names[device]! } },
      }),
    )
  return { id, keys, client, look, beat }
}

/** Runs a job of three rounds with Adam; the service may be killed at each yield. Returns the results, newest first. */
async function* playRounds(baseUrl: Address): AsyncGenerator<void, (string | null)[]> {
  const fields = { strategy: 'fedadam', rounds: ROUNDS, publish: 'every' }
  const { id, keys, client, look, beat } = await startJob(baseUrl, 'rounds', fields)
  yield
  for (let round = 0; round < ROUNDS; round++) {
    // On a busy machine, restarts take so long that devices without heartbeats count as inactive.
    await Promise.all(keys.map((_, device) => beat(device)))
    const job = await until(look, ({ history }) => history.length === round + 1 && history[round]!.status === 'active')
    for (const [device, own] of keys.entries()) {
      if (round === 1 && device === 1) yield
      const update = formOf(weights(round + device), { num_samples: 1 + device })
      await post(baseUrl, `/training/rounds/${job.history[round]!.round_id}/updates`, own, update)
    }
    if (round === 1) yield
  }
  const done = await until(look, ({ ended_by }) => ended_by !== null)
  expect(done).toMatchObject({ status: 'completed', ended_by: 'rounds_done', rounds_completed: ROUNDS })
  expect(done.history).toHaveLength(ROUNDS)
  const params = { path: { job_id: id }, query: { limit: 10, offset: 0 } }
  const { rounds } = await unwrap(client().GET('/api/v1/training/jobs/{job_id}/rounds', { params }))
  // Each round appears once, as a version of the trained model, with the round's own bytes.
  const model = { path: { model_id: 'rounds' } }
  const { versions } = await unwrap(client().GET('/api/v1/models/{model_id}', { params: model }))
  expect(versions.map(({ version_label, trained_by }) => [version_label, trained_by?.round_id])).toEqual([
    ['1.0.0', undefined],
    ...done.history.map(({ round_id }, round) => [`1.${round + 1}.0`, round_id]),
  ])
  for (const [round, { aggregated_model_path: path }] of [...rounds].reverse().entries()) {
    expect(path).toContain(versions[round + 1]!.model_hash.slice('sha256:'.length))
  }
  return rounds.map((one) => one.aggregated_model_path)
}

/** Runs a job of one round whose devices evaluate its model; the service may be killed at each yield. Returns the evaluation. */
async function* playEvaluation(baseUrl: Address): AsyncGenerator<void, object> {
  const fields = { rounds: 1, evaluation_seconds: 3600 }
  const { keys, look, beat } = await startJob(baseUrl, 'evaluation', fields)
  const evaluation = JSON.stringify({ num_samples: 2, metrics: { f1: 0.1 }, final_model: true })
  const { history } = await until(look, (job) => job.history[0]?.status === 'active')
  const round = `/training/rounds/${history[0]!.round_id}`
  for (const [device, own] of keys.entries())
    await post(baseUrl, `${round}/updates`, own, formOf(weights(device), { num_samples: 1, evaluation }))
  const requested = await until(look, ({ waiting_until }) => waiting_until !== null)
  for (const [device, own] of keys.entries()) {
    if (device === 1) yield
    expect(await look()).toMatchObject({ status: 'running', waiting_until: requested.waiting_until })
    expect((await beat(device)).pending_evaluation_round_id).toBe(history[0]!.round_id)
    await post(baseUrl, `${round}/evaluation`, own, { num_samples: 1 + device, metrics: { f1: 0.2 * (device + 1) } })
  }
  yield
  const done = await until(look, ({ ended_by }) => ended_by !== null)
  return { status: done.status, ended_by: done.ended_by, evaluation: done.history[0]!.evaluation }
}

/** Plays both jobs at the same time, with an interruption whenever each of them has reached its next yield, or has ended. */
const playBoth = async (baseUrl: Address, interrupt: () => Promise<void>) => {
  const [rounds, evaluation] = [playRounds(baseUrl), playEvaluation(baseUrl)]
  let ofEvaluation = await evaluation.next()
  // Last, because the interruption follows immediately.
  let ofRounds = await rounds.next()
  while (!ofRounds.done) {
    await interrupt()
    ;[ofRounds, ofEvaluation] = await Promise.all([rounds.next(), ofEvaluation.done ? ofEvaluation : evaluation.next()])
  }
  expect(ofEvaluation.done).toBe(true)
  return { rounds: ofRounds.value, evaluation: ofEvaluation.value }
}

it('a service that is killed continues its jobs: every round has the same bytes, and devices keep their time to evaluate', async () => {
  const world = await startWorld({ isRealTime: true })
  const undisturbed = await playBoth(
    () => world.baseUrl,
    async () => undefined,
  )
  expect(new Set(undisturbed.rounds).size).toBe(ROUNDS)
  expect(undisturbed.evaluation).toMatchObject({
    status: 'completed',
    evaluation: { devices: DEVICES, num_samples: 6 },
  })

  const dataDir = await freshDataDir()
  let service = await runService(dataDir)
  let kills = 0
  const disturbed = await playBoth(
    () => service.baseUrl,
    async () => {
      kills++
      await service.kill()
      service = await runService(dataDir)
    },
  )
  // When one job has started and a device has evaluated the other's model; in its second round, when all have; and after it.
  expect(kills).toBe(3)
  expect(disturbed).toEqual(undisturbed)
  expect(await service.terminate()).toBe(0)
})
