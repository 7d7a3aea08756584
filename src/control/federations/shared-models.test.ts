import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { against } from '../../../test/against.ts'
import { hasPostgres } from '../../../test/databases.ts'
import { formOf } from '../../../test/world.ts'
import { missing, openFederation, refused, uuid } from './federation.fixture.ts'

/** A federation of acme and beta, and a model of acme with one version. */
const openShop = async () => {
  const federation = await openFederation()
  const { world, send, keyOf, found } = federation
  const id = await found(['beta'])
  const [acme, beta, gamma] = [await keyOf('acme'), await keyOf('beta'), await keyOf('gamma')]
  const made = await send(acme, 'POST', '/models', { name: 'scanner', framework: 'pytorch' })
  const modelId = made.body.id as string
  await world.request('POST', `/api/v1/models/${modelId}/versions/upload`, { key: acme, body: formOf('weights') })
  const share = (key: string, model: string) => send(key, 'POST', `/federations/${id}/models`, { model_id: model })
  return { ...federation, id, acme, beta, gamma, modelId, share }
}

it('a model is shared once by the owner, and listed for members', async () => {
  const { send, id, acme, beta, modelId, share } = await openShop()
  const shared = {
    federation_id: id,
    model_id: modelId,
    org_id: 'acme',
    name: 'scanner',
    framework: 'pytorch',
    description: '',
    accuracy: null,
    loss: null,
    latest_version: 1,
    shared_at: '2026-01-01T00:00:00.000Z',
  }
  expect(await share(acme, 'scanner')).toEqual({ status: 201, body: shared })
  expect(await share(acme, modelId)).toEqual({ status: 201, body: shared })
  expect(await send(beta, 'GET', `/federations/${id}/models`)).toEqual({
    status: 200,
    body: { models: [shared], total: 1, limit: 100, offset: 0 },
  })
})

it('a shared model can be read by active members only', async () => {
  const { world, send, keyOf, id, acme, beta, gamma, modelId, share } = await openShop()
  const read = async (key: string) => [
    (await send(key, 'GET', `/models/${modelId}`)).status,
    (await send(key, 'GET', '/models/scanner')).status,
    (await world.request('GET', `/api/v1/models/${modelId}/versions/1/download`, { key })).status,
    (await world.request('GET', '/api/v1/models/scanner/versions/latest/download', { key })).status,
  ]
  const [all, none] = [
    [200, 200, 200, 200],
    [404, 404, 404, 404],
  ]
  expect(await read(beta)).toEqual(none)
  await share(acme, modelId)
  expect(await read(beta)).toEqual(all)
  expect((await world.request('GET', `/api/v1/models/${modelId}/versions/1/download`, { key: beta })).body).toBe(
    'weights',
  )
  expect(await read(gamma)).toEqual(none)
  expect(await send(gamma, 'GET', `/models/${modelId}`)).toEqual(missing('Model', modelId))

  await send(acme, 'POST', `/federations/${id}/invite`, { org_ids: ['gamma'] })
  expect(await read(gamma)).toEqual(none)
  await send(gamma, 'POST', `/federations/${id}/join`, { org_id: 'gamma' })
  expect(await read(gamma)).toEqual(all)
  await send(gamma, 'DELETE', `/federations/${id}/members/gamma`)
  expect(await read(gamma)).toEqual(none)

  expect(await send(acme, 'DELETE', `/federations/${id}/models/${modelId}`)).toEqual({
    status: 200,
    body: { federation_id: id, model_id: modelId, message: "Members of 'league' can no longer read the model." },
  })
  expect(await read(beta)).toEqual(none)
  expect(await read(await keyOf('acme'))).toEqual(all)
  expect(await send(acme, 'DELETE', `/federations/${id}/models/${modelId}`)).toEqual(
    missing('Model', modelId, "of federation 'league'"),
  )
})

it('a job cannot continue from a model that is no longer shared', async () => {
  const { world, send, id, acme, beta, modelId } = await openShop()
  const floats = new Uint8Array(new Float32Array([1, 2]).buffer)
  await world.request('POST', `/api/v1/models/${modelId}/versions/upload`, { key: acme, body: formOf(floats) })
  await send(acme, 'POST', `/federations/${id}/models`, { model_id: modelId })
  const job = { model: modelId, rounds: 1, min_devices: 1, target_devices: 1, org_id: 'beta' }
  const path = `/training/jobs/${(await send(beta, 'POST', '/training/jobs', job)).body.id}`
  expect((await send(beta, 'POST', `${path}/stop`)).status).toBe(200)
  await send(acme, 'DELETE', `/federations/${id}/models/${modelId}`)
  expect(await send(beta, 'POST', `${path}/resume`, {})).toMatchObject({
    status: 409,
    body: { message: expect.stringContaining('is no longer shared with your organization') },
  })
})

it('a job that waited while its model was unshared ends before any device gets the model', async () => {
  const { world, admin, send, id, acme, beta, modelId, share } = await openShop()
  const floats = new Uint8Array(new Float32Array([1, 2]).buffer)
  await world.request('POST', `/api/v1/models/${modelId}/versions/upload`, { key: acme, body: formOf(floats) })
  await share(acme, modelId)
  const job = { model: modelId, rounds: 1, min_devices: 1, target_devices: 1, federation_id: id }
  const path = `/training/jobs/${(await send(beta, 'POST', '/training/jobs', job)).body.id}`
  expect(await send(beta, 'GET', path)).toMatchObject({ body: { status: 'pending', history: [] } })
  await send(acme, 'DELETE', `/federations/${id}/models/${modelId}`)
  await send(acme, 'POST', '/devices/register', { device_id: 'd' })
  await world.service.runDueTasks()
  const reason =
    `The model that the job's next round would distribute (${modelId}) is no longer shared with 'beta'. Start another job with a ` +
    'model of your own, or resume this one once the model is shared again.'
  const ended = { status: 'failed', ended_by: 'cannot_start', reason, history: [] }
  expect(await send(beta, 'GET', path)).toMatchObject({ body: ended })
  expect(await send(admin, 'POST', `${path}/resume`, {})).toMatchObject({ status: 409, body: { message: reason } })
  await share(acme, modelId)
  expect(await send(beta, 'POST', `${path}/resume`, {})).toMatchObject({ status: 200, body: { status: 'running' } })
})

it.skipIf(!hasPostgres())(
  'a model that is unshared in the moment in which a round opens is not distributed',
  async () => {
    const { world, send, acme, beta, modelId, share } = await openShop()
    const floats = new Uint8Array(new Float32Array([1, 2]).buffer)
    await world.request('POST', `/api/v1/models/${modelId}/versions/upload`, { key: acme, body: formOf(floats) })
    await send(beta, 'POST', '/devices/register', { device_id: 'd' })
    const whileUnsharing = async (path: string, body: object) => {
      await share(acme, modelId)
      return against(
        world.database!,
        (tx) => sql`delete from federation_models`.execute(tx),
        () => send(beta, 'POST', path, body),
      )
    }
    const sizes = { min_devices: 1, target_devices: 1 }
    const message = `The model ${modelId} is no longer shared with 'beta'.`
    const round = { ...sizes, global_model_id: modelId }
    expect(await whileUnsharing('/training/rounds/start', round)).toMatchObject({ status: 409, body: { message } })

    const job = await whileUnsharing('/training/jobs', { ...sizes, model: modelId, rounds: 1 })
    expect(job).toMatchObject({ status: 201, body: { status: 'pending' } })
    await world.service.runDueTasks()
    const ended = { status: 'failed', ended_by: 'cannot_start', history: [] }
    expect(await send(beta, 'GET', `/training/jobs/${job.body.id}`)).toMatchObject({ body: ended })
  },
)

it('a shared model can be changed only by its own organization', async () => {
  const { world, send, acme, beta, modelId, share } = await openShop()
  await share(acme, modelId)
  const upload = (key: string) =>
    world.request('POST', `/api/v1/models/${modelId}/versions/upload`, { key, body: formOf('others') })
  const readOnly = refused(
    "Model 'scanner' belongs to 'acme', which shares it: 'beta' can only read and download it. " +
      'To change or deliver it, upload a copy as a model of your own.',
  )
  expect((await upload(beta)).status).toBe(403)
  expect(await send(beta, 'PUT', '/models/scanner/aliases/best', { version: '1' })).toEqual(readOnly)
  const deployment = { model_name: 'scanner', model_version: '1' }
  expect(await send(beta, 'POST', '/deploy/execute', deployment)).toEqual(readOnly)
  const rollout = { version: '1', rollout_percentage: 10 }
  expect(await send(beta, 'POST', '/models/scanner/rollouts', rollout)).toEqual(readOnly)
  expect((await upload(acme)).status).toBe(201)
  expect((await send(beta, 'GET', '/models')).body).toMatchObject({ models: [], total: 0 })
})

it("who moved a shared model's aliases is shown only to its own organization, and not to devices", async () => {
  const { admin, send, acme, beta, modelId, share } = await openShop()
  await share(acme, modelId)
  expect(await send(acme, 'PUT', `/models/${modelId}/aliases/best`, { version: '1' })).toMatchObject({ status: 200 })
  const moversFor = async (key: string) => {
    const aliases = (await send(key, 'GET', `/models/${modelId}/aliases`)).body.aliases as Record<string, unknown>[]
    const moves = (await send(key, 'GET', `/models/${modelId}/alias-history`)).body.moves as Record<string, unknown>[]
    return [...aliases, ...moves].map(({ alias, moved_by, moved_by_name }) => [alias, moved_by, moved_by_name])
  }
  for (const key of [acme, admin]) expect(await moversFor(key)).toEqual(Array(2).fill(['best', uuid, 'acme']))
  const deviceOf = async (key: string) =>
    (await send(key, 'POST', '/devices/register', { device_id: 'd' })).body.api_key as string
  for (const key of [beta, await deviceOf(acme), await deviceOf(beta)])
    expect(await moversFor(key)).toEqual(Array(2).fill(['best', null, null]))
})

it("a shared model is hidden by the caller's own model of the same name", async () => {
  const { send, acme, beta, modelId, share } = await openShop()
  await share(acme, modelId)
  const own = await send(beta, 'POST', '/models', { name: 'scanner' })
  expect((await send(beta, 'GET', '/models/scanner')).body.id).toBe(own.body.id)
  expect((await send(acme, 'GET', '/models/scanner')).body.id).toBe(modelId)
})

it('a shared model must be a model of the owner', async () => {
  const { send, id, acme, beta, modelId, share } = await openShop()
  const foreign = await send(beta, 'POST', '/models', { name: 'secret' })
  expect(foreign.body.id).toEqual(uuid)
  expect(await share(acme, foreign.body.id as string)).toEqual(missing('Model', foreign.body.id as string))
  expect(await share(beta, foreign.body.id as string)).toEqual(
    refused("Federation 'league' belongs to 'acme': only its owner may do this."),
  )
  // The owner cannot pass on what another federation shares with it.
  const other = await send(beta, 'POST', '/federations', { name: 'other', org_id: 'beta' })
  await send(beta, 'POST', `/federations/${other.body.id}/invite`, { org_ids: ['acme'] })
  await send(acme, 'POST', `/federations/${other.body.id}/join`, { org_id: 'acme' })
  await send(beta, 'POST', `/federations/${other.body.id}/models`, { model_id: 'secret' })
  expect((await send(acme, 'GET', '/models/secret')).status).toBe(200)
  expect(await share(acme, foreign.body.id as string)).toMatchObject({ status: 403 })
  expect((await send(beta, 'GET', `/federations/${id}/models`)).body.total).toBe(0)
  expect((await share(acme, modelId)).status).toBe(201)
})

it.each([
  ['of their own', false],
  ['of the federation', true],
])('what others train from it in rounds %s does not reach the devices of its owner', async (_whose, isFederated) => {
  const { world, send, id, acme, beta, modelId, share } = await openShop()
  await share(acme, modelId)
  const policy = { enabled: true, canary_percentage: 50, min_reports: 2, observe_minutes: 30 }
  expect(await send(acme, 'PUT', '/models/scanner/policy', policy)).toMatchObject({ status: 200 })
  const { body: device } = await send(beta, 'POST', '/devices/register', { device_id: 'theirs' })
  const started = await send(beta, 'POST', '/training/rounds/start', {
    target_devices: 1,
    min_devices: 1,
    global_model_id: modelId,
    ...(isFederated && { federation_id: id }),
  })
  expect(started).toMatchObject({ status: 201, body: { org_id: 'beta' } })
  const path = `/training/rounds/${started.body.id}`
  const update = formOf('weights', { num_samples: 1 })
  expect(await send(device.api_key as string, 'POST', `${path}/updates`, update)).toMatchObject({ status: 201 })
  await world.advance(0)
  expect(await send(beta, 'GET', `${path}/status`)).toMatchObject({ body: { status: 'completed' } })

  await world.advance(1)
  expect(await send(acme, 'GET', '/models/scanner/policy/decisions')).toMatchObject({ body: { decisions: [] } })
  expect(await send(acme, 'GET', '/models/scanner')).toMatchObject({ body: { versions: [{ version: 1 }] } })
})

it('a round of a federation that names no model distributes what its rounds have made, and no private model', async () => {
  const { world, send, id, acme } = await openShop()
  const device = (await send(acme, 'POST', '/devices/register', { device_id: 'd' })).body.api_key as string
  const play = async (federation?: string) => {
    const body = { target_devices: 1, min_devices: 1, ...(federation && { federation }) }
    const started = await send(acme, 'POST', '/training/rounds/start', body)
    expect(started).toMatchObject({ status: 201 })
    const path = `/training/rounds/${started.body.id}`
    const file = formOf('weights', { num_samples: 1 }, 'model.bin')
    expect(await send(device, 'POST', `${path}/updates`, file)).toMatchObject({ status: 201 })
    await world.service.runDueTasks()
    const { global_model_id, aggregated_model_id } = (await send(acme, 'GET', `${path}/status`)).body
    return [global_model_id, aggregated_model_id]
  }
  const [, alone] = await play()
  const [received, made] = await play(id)
  expect(received).toBe(null)
  const [, later] = await play()
  expect([alone, later]).not.toContain(made)
  expect((await play(id))[0]).toBe(made)
})
