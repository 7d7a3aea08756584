import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { hasPostgres } from '../../../../test/databases.ts'
import { createModel, uploadVersion } from '../../../../test/fleet-of-models.ts'
import { formOf, startWorld } from '../../../../test/world.ts'
import { startWithApprovals } from '../../access/sign-in/two-admins.fixture.ts'

type Ask = Awaited<ReturnType<typeof start>>['ask']
type Begin = (ask: Ask, modelId: string) => Promise<{ readonly id: unknown; readonly end: () => ReturnType<Ask> }>

const HOUR_SECONDS = 3600

const start = async (database: 'embedded' | 'postgres' = 'embedded') => {
  const world = await startWorld({ database })
  const device = await world.register('d')
  const id = await createModel(world, device.key, 'm', ['1.0.0', '1.1.0', '1.2.0'])
  const ask = async (method: string, path: string, body?: unknown) => {
    const { status, body: answer } = await world.request(method, `/api/v1${path}`, { key: device.key, body })
    return { status, body: answer as Record<string, unknown> }
  }
  const remove = (version: string) => ask('DELETE', `/models/m/versions/${version}`)
  const labels = async () =>
    ((await ask('GET', '/models/m')).body.versions as { version_label: string }[]).map((one) => one.version_label)
  const assigned = async () =>
    ((await ask('GET', '/devices/d/assignments')).body.assignments as { version: string }[]).map((one) => one.version)
  const hasFile = (version: string) => {
    const sha256 = createHash('sha256').update(`weights of m ${version}`).digest('hex')
    return existsSync(join(world.dataDir, 'blobs', 'sha256', sha256.slice(0, 2), sha256))
  }
  const collect = async () => {
    await world.advance(2 * HOUR_SECONDS)
    await world.service.runRetention()
  }
  return { world, key: device.key, id, ask, remove, labels, assigned, hasFile, collect }
}

describe.each(['embedded', 'postgres'] as const)('a version on the %s database', (database) => {
  const it_ = it.skipIf(database === 'postgres' && !hasPostgres())

  it_('is deleted with its file, and its number and label are not used again', async () => {
    const { world, key, ask, remove, labels, hasFile, collect } = await start(database)
    expect((await remove('1.2.0')).status).toBe(204)
    expect(await labels()).toEqual(['1.0.0', '1.1.0'])
    await collect()
    expect([hasFile('1.1.0'), hasFile('1.2.0')]).toEqual([true, false])

    const message = "Version '1.2.0' of model 'm' was deleted on 2026-01-01."
    for (const version of ['1.2.0', '3'])
      for (const [method, rest] of [
        ['GET', ''],
        ['GET', '/download'],
        ['DELETE', ''],
      ] as const)
        expect(await ask(method, `/models/m/versions/${version}${rest}`)).toMatchObject({
          status: 404,
          body: { message: message.replace('1.2.0', version) },
        })
    expect((await ask('GET', '/models/m/versions/latest')).body).toMatchObject({ version: 2 })
    expect(((await ask('GET', '/models')).body.models as object[])[0]).toMatchObject({ name: 'm' })

    const again = await world.request('POST', '/api/v1/models/m/versions/upload', {
      key,
      body: formOf('other weights', { version_label: '1.2.0' }),
    })
    expect(again).toMatchObject({ status: 409, body: { message: expect.stringContaining('1.2.0, which was deleted') } })
    await uploadVersion(world, key, 'm', '4.0.0')
    expect((await ask('GET', '/models/m/versions/latest')).body).toMatchObject({ version: 4, version_label: '4.0.0' })
  })
})

it('keeps its file while another version has the same bytes', async () => {
  const { world, key, remove, hasFile, collect } = await start()
  await world.request('POST', '/api/v1/models/m/versions/upload', { key, body: formOf('weights of m 1.0.0') })
  expect((await remove('1.0.0')).status).toBe(204)
  await collect()
  expect(hasFile('1.0.0')).toBe(true)
})

it('a label that a deleted version had by its number is not given to a version without one', async () => {
  const { world, key, remove, ask } = await start()
  const upload = (fields = {}) =>
    world.request('POST', '/api/v1/models/m/versions/upload', { key, body: formOf('w', fields) })
  expect((await upload({ version_label: '5.0.0' })).body).toMatchObject({ version: 4 })
  await remove('5.0.0')
  const warning = 'Version 5 has the label 6.0.0, because a deleted version had the label 5.0.0.'
  expect((await upload()).body).toMatchObject({ version: 5, warnings: expect.arrayContaining([warning]) })
  expect((await ask('GET', '/models/m/versions/latest')).body).toMatchObject({ version_label: '6.0.0' })
})

it('all can be deleted: the model is then as before the first upload', async () => {
  const { world, key, remove, ask, labels } = await start()
  for (const version of ['1', '2', '3']) expect((await remove(version)).status).toBe(204)
  expect(await labels()).toEqual([])
  expect((await ask('GET', '/models/m/versions/latest')).status).toBe(404)
  await uploadVersion(world, key, 'm', '2.0.0')
  expect((await ask('GET', '/models/m/versions/latest')).body).toMatchObject({ version: 4 })
})

describe('is kept while it is used', () => {
  it('by an alias; its history keeps the label', async () => {
    const { ask, remove } = await start()
    await ask('PUT', '/models/m/aliases/production', { version: '1.0.0' })
    const message = "Version 1.0.0 has the alias 'production'. Move or delete it first."
    expect(await remove('1')).toMatchObject({ status: 409, body: { message } })
    expect(await remove('production')).toMatchObject({ status: 409 })
    await ask('PUT', '/models/m/aliases/production', { version: '1.1.0' })
    expect((await remove('1')).status).toBe(204)
    expect((await ask('GET', '/models/m/alias-history')).body.moves).toMatchObject([
      { from_version_label: '1.0.0', to_version_label: '1.1.0' },
      { from_version_label: null, to_version_label: '1.0.0' },
    ])
  })

  it('but not by the request for an alias, which then cannot be approved', async () => {
    const { ada, bob, byKey, model, promote, decide, aliasOf } = await startWithApprovals()
    const { id } = (await promote(ada, '2')).body
    expect((await byKey('DELETE', `/models/${model}/versions/2`)).status).toBe(204)
    const message = expect.stringContaining('The version was deleted in the meantime.')
    expect(await decide(bob, id)).toMatchObject({ status: 409, body: { message } })
    expect(await aliasOf()).toBe(undefined)
  })

  it('and is not meant by "latest", which may be another one by then', async () => {
    const { remove } = await start()
    const message = 'version: name the version to delete by its number or label.'
    expect(await remove('latest')).toMatchObject({ status: 400, body: { message } })
  })

  const plans: Readonly<Record<string, Begin>> = {
    rollout: async (ask) => {
      const { body } = await ask('POST', '/models/m/rollouts', { version: '1.0.0', rollout_percentage: 100 })
      const path = `/models/m/rollouts/${String(body.rollout_id)}`
      return { id: body.rollout_id, end: () => ask('POST', `${path}/rollback`) }
    },
    'pending rollout': async (ask) => {
      const settings = { version: '1', rollout_percentage: 10, start_immediately: false }
      const { body } = await ask('POST', '/models/m/rollouts', settings)
      return { id: body.rollout_id, end: () => ask('DELETE', `/models/m/rollouts/${String(body.rollout_id)}`) }
    },
    deployment: async (ask) => {
      const settings = { model_name: 'm', model_version: '1.0.0', devices: ['d'], rollout_percentage: 100 }
      const { body } = await ask('POST', '/deploy/execute', settings)
      return { id: body.deployment_id, end: () => ask('POST', `/deployments/${String(body.deployment_id)}/rollback`) }
    },
    ...Object.fromEntries(
      ['draft', 'running', 'paused'].map((status): [string, Begin] => [
        `${status} experiment`,
        async (ask, modelId) => {
          const variant = (version: string, allocation: number) => ({
            name: version,
            model_id: modelId,
            version,
            allocation,
          })
          const variants = [variant('1.0.0', 0.5), variant('1.1.0', 0.5)]
          const { body } = await ask('POST', '/experiments', { name: 'e', variants })
          const at = `/experiments/${String(body.id)}`
          if (status !== 'draft') await ask('POST', `${at}/start`)
          if (status === 'paused') await ask('POST', `${at}/pause`)
          return { id: body.id, end: () => ask('POST', `${at}/${status === 'draft' ? 'cancel' : 'complete'}`) }
        },
      ]),
    ),
  }
  it.each(Object.entries(plans))('by a %s', async (name, begin) => {
    const { ask, id, remove, labels } = await start()
    const plan = await begin(ask, id)
    const refused = await remove('1.0.0')
    const message = `This version is used by ${name.split(' ').at(-1)} ${String(plan.id)}. End it or roll it back,`
    expect(refused).toMatchObject({ status: 409, body: { message: expect.stringContaining(message) } })
    expect(await labels()).toContain('1.0.0')
    expect((await remove('1.2.0')).status).toBe(204)
    expect((await plan.end()).status).toBeLessThan(300)
    expect((await remove('1.0.0')).status).toBe(204)
  })

  it('by completed plans until another version has replaced it on all devices; a rollback then passes it over', async () => {
    const { world, ask, remove, assigned } = await start()
    const rollOut = async (version: string) => {
      const settings = { version, rollout_percentage: 100 }
      const { body } = await ask('POST', '/models/m/rollouts', settings)
      await world.advance(HOUR_SECONDS)
      expect((await ask('GET', `/models/m/rollouts/${String(body.rollout_id)}`)).body.status).toBe('completed')
      return String(body.rollout_id)
    }
    await rollOut('1.0.0')
    const second = await rollOut('1.1.0')
    const third = await rollOut('1.2.0')
    expect(await remove('1.2.0')).toMatchObject({ status: 409 })
    expect((await remove('1.1.0')).status).toBe(204)
    expect(await assigned()).toEqual(['1.2.0'])
    await ask('POST', `/models/m/rollouts/${third}/rollback`)
    expect(await assigned()).toEqual(['1.0.0'])
    const warnings = ['Version 1.1.0 was deleted: devices get nothing.']
    expect((await ask('GET', `/models/m/rollouts/${second}`)).body).toMatchObject({ version: '1.1.0', warnings })
  })

  it('by a training job, until its first round is completed', async () => {
    const { world, key, ask, remove } = await start()
    const weights = new Uint8Array(Float32Array.of(1, 2).buffer)
    const form = () => formOf(weights, { num_samples: '1' }, 'weights.f32')
    await world.request('POST', '/api/v1/models/m/versions/upload', { key, body: formOf(weights, {}, 'weights.f32') })
    const job = (await ask('POST', '/training/jobs', { model: 'm', min_devices: 1, rounds: 2 })).body
    expect(await remove('4')).toMatchObject({
      status: 409,
      body: { message: expect.stringMatching(/^A training job/) },
    })
    await world.service.runDueTasks()
    expect(await remove('4')).toMatchObject({ status: 409 })
    const history = async () =>
      (await ask('GET', `/training/jobs/${String(job.id)}`)).body.history as { round_id: string }[]
    const update = async (index: number) => {
      const path = `/api/v1/training/rounds/${(await history())[index]!.round_id}/updates`
      expect((await world.request('POST', path, { key, body: form() })).status).toBe(201)
      await world.service.runDueTasks()
    }
    await update(0)
    expect((await remove('4')).status).toBe(204)
    await update(1)
    expect((await ask('GET', `/training/jobs/${String(job.id)}`)).body).toMatchObject({ status: 'completed' })
    expect((await ask('GET', '/models/m/versions/latest')).body).toMatchObject({ version: 5, version_label: '4.1.0' })
  })

  it('by the service: the models of rounds', async () => {
    const { world, key, remove } = await start()
    const settings = { target_devices: 1, min_devices: 1 }
    const round = (await world.request('POST', '/api/v1/training/rounds/start', { key, body: settings })).body as {
      id: string
    }
    const update = formOf(new Uint8Array(Float32Array.of(1, 2).buffer), { num_samples: '1' })
    await world.request('POST', `/api/v1/training/rounds/${round.id}/updates`, { key, body: update })
    await world.service.runDueTasks()
    const done = (await world.request('GET', `/api/v1/training/rounds/${round.id}/status`, { key })).body as {
      status: string
      aggregated_model_id: string
    }
    expect(done.status).toBe('completed')
    const path = `/api/v1/models/${done.aggregated_model_id}/versions/1`
    expect((await world.request('DELETE', path, { key })).status).toBe(409)
    expect((await remove('1')).status).toBe(204)
  })
})
