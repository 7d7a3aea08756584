import { sql } from 'kysely'
import { expect, it, vi } from 'vitest'
import { apiOf, formOf, startWorld } from '../../../../test/world.ts'
import { initialModel } from '../../../sdk/trainers/dense-network.ts'
import { encodeModel } from '../../../sdk/trainers/weights-codec.ts'
import { openFederation } from '../../federations/federation.fixture.ts'

// The first service of a file starts slowly on a busy machine.
vi.setConfig({ testTimeout: 120_000 })

const weights = (value: number): Uint8Array => {
  const [weight, bias] = initialModel({ features: 2, hidden: [], classes: 2, seed: 0 })
  weight!.data.fill(value)
  return encodeModel([weight!, bias!], new Map())
}

it('a version shows which round made it and how, and on how many devices it runs through which plans', async () => {
  const world = await startWorld()
  const { key } = await world.register('a')
  const other = await world.register('b')
  const ask = apiOf(world, key)
  const model = (await ask('POST', '/models', { name: 'net' })).body.id
  await world.request('POST', '/api/v1/models/net/versions/upload', { key, body: formOf(weights(0)) })
  expect((await ask('GET', '/models/net/versions/1')).body).toMatchObject({
    version_label: '1.0.0',
    training: null,
    runs: { devices: {}, uses: [] },
  })
  const privacy = { noise_multiplier: 2, clip_norm: 1 }
  const job = (await ask('POST', '/training/jobs', { model: 'net', name: 'march', rounds: 1, min_devices: 1, privacy }))
    .body
  await world.service.runDueTasks()
  const round = (await ask('GET', '/training/rounds/current')).body
  for (const device of [{ key }, other]) {
    const form = formOf(weights(1), { num_samples: 1 })
    await world.request('POST', `/api/v1/training/rounds/${round.id}/updates`, { key: device.key, body: form })
  }
  await world.service.runDueTasks()
  await world.advance(400)
  const rollout = (await ask('POST', '/models/net/rollouts', { version: '1.1.0', rollout_percentage: 100 })).body
  const report = (as: string, deviceId: string, plan: unknown, version: string, state: string) =>
    ask('POST', `/devices/${deviceId}/assignments/${plan}/report`, { state, version }, as)
  await report(key, 'a', rollout.rollout_id, '1.1.0', 'active')
  await report(other.key, 'b', rollout.rollout_id, '1.1.0', 'failed')
  const lineage = (await ask('GET', '/models/net/versions/latest')).body
  expect(lineage).toMatchObject({
    model_id: model,
    model_name: 'net',
    version: 2,
    version_label: '1.1.0',
    aliases: [],
    training: {
      job_id: job.id,
      job_name: 'march',
      round_id: round.id,
      round_number: 1,
      strategy: 'fedavg',
      trained_from: { model_id: model, version: 1 },
      privacy_spent: { target_delta: 1e-5, rounds: 1, epsilon: expect.any(Number) },
      receipt_path: `/api/v1/training/rounds/${round.id}/receipt`,
    },
    runs: {
      devices: { active: 1, failed: 1 },
      uses: [{ kind: 'rollout', id: rollout.rollout_id, name: null, percentage: 100 }],
    },
  })
  // A hundred newer drafts do not hide it.
  await sql`insert into rollouts overriding user value select (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(),
    'status', 'pending', 'created_at', r.created_at + interval '1 second'))).*
    from rollouts r, generate_series(1, 100)`.execute(world.database!.sql)
  const { uses } = (await ask('GET', '/models/net/versions/1.1.0')).body.runs as { uses: object[] }
  expect([uses.length, uses[0], uses.at(-1)]).toMatchObject([100, { status: 'pending' }, { id: rollout.rollout_id }])
  await sql`delete from rollouts where status = 'pending'`.execute(world.database!.sql)
  // A device that has returned to another version no longer runs this one.
  await world.advance(1)
  const back = (await ask('POST', '/models/net/rollouts', { version: '1', rollout_percentage: 100 })).body
  await report(key, 'a', back.rollout_id, '1', 'active')
  expect((await ask('GET', '/models/net/versions/1.1.0')).body).toMatchObject({ runs: { devices: { failed: 1 } } })
  expect((await ask('GET', '/models/net/versions/1')).body).toMatchObject({ runs: { devices: { active: 1 } } })
  const delivered = async () => (await ask('GET', '/models/net')).body.delivered_versions
  expect(await delivered()).toEqual([1, 2])
  // Neither does a device whose rollout was rolled back: it gets no assignment and reports nothing more.
  await ask('POST', `/models/net/rollouts/${back.rollout_id}/rollback`, {})
  expect((await ask('GET', '/models/net/versions/1')).body).toMatchObject({ runs: { devices: { withdrawn: 1 } } })
  expect(await delivered()).toEqual([2])
  expect((await ask('GET', '/models/net/versions/7')).status).toBe(404)
})

it('an organization that a model is only shared with does not see where it runs', async () => {
  const { world, send, keyOf, found } = await openFederation()
  const acme = await keyOf('acme')
  const rival = await keyOf('rival')
  const stranger = await keyOf('stranger')
  const federation = await found(['rival'])
  const { id } = (await send(acme, 'POST', '/models', { name: 'net' })).body
  await world.request('POST', '/api/v1/models/net/versions/upload', { key: acme, body: formOf(weights(0)) })
  await send(acme, 'POST', '/models/net/rollouts', { version: '1', rollout_percentage: 10 })
  await send(acme, 'POST', `/federations/${federation}/models`, { model_id: id })
  expect((await send(acme, 'GET', `/models/${id}/versions/1`)).body).toMatchObject({ runs: { uses: [{}] } })
  expect((await send(rival, 'GET', `/models/${id}/versions/1`)).body).toMatchObject({ version: 1, runs: null })
  expect((await send(stranger, 'GET', `/models/${id}/versions/1`)).status).toBe(404)
})
