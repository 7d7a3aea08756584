import { describe, expect, it } from 'vitest'
import { boundOrganizations } from '../../../../test/organizations.ts'
import { apiOf, formOf, startWorld, type World } from '../../../../test/world.ts'

const at = '2026-01-01T00:00:00.000Z'

const openOrganization = boundOrganizations()

/** With `isAlone`, in a service of its own. */
const setUp = async ({ isAlone = false } = {}) => {
  const organization = isAlone ? null : await openOrganization()
  const world = organization?.world ?? (await startWorld())
  const author = await world.register('author')
  const { key } = organization ?? author
  const ask = apiOf<unknown>(world, key)
  await ask('POST', '/models', { name: 'scorer' })
  for (const label of ['1.0.0', '1.1.0', '1.2.0']) await upload(world, key, 'scorer', label)
  const promote = (version: string, alias: string, fields: object = {}) =>
    ask('PUT', `/models/scorer/aliases/${alias}`, { version, ...fields })
  const bytesOf = async (path: string) => (await world.request('GET', `/api/v1/models/${path}/download`, { key })).body
  return { world, key, ask, promote, bytesOf }
}

const upload = (world: World, key: string, model: string, label: string) =>
  world.request('POST', `/api/v1/models/${model}/versions/upload`, {
    key,
    body: formOf(`weights ${label}`, { version_label: label }, 'w.h5'),
  })

const refusal = (status: number, error: string, message: string) => ({
  status,
  body: { error, message, status_code: status },
})

describe('aliases', () => {
  it('are created, moved, and deleted, with a record of who did it and when', async () => {
    const { ask, promote, world } = await setUp({ isAlone: true })
    expect(await ask('GET', '/models/scorer/aliases')).toEqual({ status: 200, body: { aliases: [] } })
    const first = await promote('1.0.0', 'production')
    const mover = { moved_at: at, moved_by: expect.stringMatching(/^[0-9a-f-]{36}$/), moved_by_name: 'author' }
    const model_id = (first.body as { model_id: string }).model_id
    const production = { model_id, alias: 'production', version: 1, version_label: '1.0.0', ...mover }
    expect(first).toEqual({ status: 200, body: production })
    await world.advance(60)
    const later = { ...mover, moved_at: '2026-01-01T00:01:00.000Z' }
    await promote('latest', 'candidate')
    // An alias can be moved to the version of another alias.
    await promote('candidate', 'production')
    expect((await ask('GET', '/models/scorer/aliases')).body).toEqual({
      aliases: [
        { model_id, alias: 'candidate', version: 3, version_label: '1.2.0', ...later },
        { model_id, alias: 'production', version: 3, version_label: '1.2.0', ...later },
      ],
    })
    const detail = (await ask('GET', '/models/scorer')).body as { versions: { aliases: string[] }[] }
    expect(detail.versions.map(({ aliases }) => aliases)).toEqual([[], [], ['candidate', 'production']])
    expect((await ask('DELETE', '/models/scorer/aliases/candidate')).body).toEqual({
      aliases: [{ model_id, alias: 'production', version: 3, version_label: '1.2.0', ...later }],
    })
    const move = (alias: string, from: number | null, to: number | null, by: object) => ({
      alias,
      from_version: from,
      from_version_label: from === null ? null : `1.${from - 1}.0`,
      to_version: to,
      to_version_label: to === null ? null : `1.${to - 1}.0`,
      ...by,
    })
    expect((await ask('GET', '/models/scorer/alias-history')).body).toEqual({
      moves: [
        move('candidate', 3, null, later),
        move('production', 1, 3, later),
        move('candidate', null, 3, later),
        move('production', null, 1, mover),
      ],
      total: 4,
      limit: 20,
      offset: 0,
    })
    expect((await ask('GET', '/models/scorer/alias-history?alias=production&limit=1')).body).toEqual({
      moves: [move('production', 1, 3, later)],
      total: 2,
      limit: 1,
      offset: 0,
    })
  })

  it('move only from the expected version, and repeating a move changes nothing', async () => {
    const { ask, promote } = await setUp()
    expect((await promote('1', 'production', { expected_version: null })).status).toBe(200)
    expect(await promote('2', 'production', { expected_version: null })).toEqual(
      refusal(
        409,
        'conflict',
        "The alias 'production' names version 1.0.0, not none as expected. Check it and try again.",
      ),
    )
    expect((await promote('2', 'production', { expected_version: '1.0.0' })).status).toBe(200)
    expect(await promote('3', 'production', { expected_version: '1.0.0' })).toEqual(
      refusal(
        409,
        'conflict',
        "The alias 'production' names version 1.1.0, not version 1.0.0 as expected. Check it and try again.",
      ),
    )
    expect((await promote('2', 'production')).status).toBe(200)
    expect((await ask('DELETE', '/models/scorer/aliases/production?expected_version=1')).status).toBe(409)
    expect((await ask('DELETE', '/models/scorer/aliases/production?expected_version=2')).status).toBe(200)
    expect(((await ask('GET', '/models/scorer/alias-history')).body as { total: number }).total).toBe(3)
  })

  it('let one of many concurrent moves from the same version win', async () => {
    const { ask, promote } = await setUp()
    await promote('1', 'production')
    const responses = await Promise.all(
      Array.from({ length: 12 }, (_, n) => promote(String(2 + (n % 2)), 'production', { expected_version: '1' })),
    )
    const statuses = responses.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.filter((status) => status === 409)).toHaveLength(11)
    expect(((await ask('GET', '/models/scorer/alias-history')).body as { total: number }).total).toBe(2)
  })
})

describe('an alias', () => {
  it('is accepted wherever a version is, and what was resolved before does not move with it', async () => {
    const { ask, promote, bytesOf, world, key } = await setUp()
    await promote('1.1.0', 'production')
    expect(await bytesOf('scorer/versions/production')).toBe('weights 1.1.0')
    expect(await bytesOf('scorer@production/versions/latest')).toBe('weights 1.1.0')
    const rollout = await ask('POST', '/models/scorer/rollouts', { version: 'production', rollout_percentage: 100 })
    expect(rollout).toMatchObject({ status: 201, body: { version: '1.1.0', warnings: [] } })
    const deploy = { model_name: 'scorer@production', model_version: 'latest', devices: ['author'] }
    const deployed = await ask('POST', '/deploy/execute', { ...deploy, rollout_percentage: 100 })
    const { deployment_id: id } = deployed.body as { deployment_id: string }
    const kept = { status: 200, body: { model_name: 'scorer', model_version: '1.1.0' } }
    expect(await ask('GET', `/deployments/${id}`)).toMatchObject(kept)
    const variants = [
      { name: 'now', model_id: 'scorer@production', allocation: 0.5 },
      { name: 'next', model_id: 'scorer', version: 'latest', allocation: 0.5 },
    ]
    const experiment = await ask('POST', '/experiments', { name: 'ab', variants })
    expect(experiment).toMatchObject({
      status: 201,
      body: { variants: [{ version: '1.1.0' }, { version: '1.2.0' }] },
    })
    const paired = await ask('POST', '/pairings', { model_name: 'scorer', model_version: 'production' })
    expect(paired).toMatchObject({ status: 201, body: { model_name: 'scorer', model_version: '1.1.0' } })
    await promote('1.2.0', 'production')
    expect(await bytesOf('scorer/versions/production')).toBe('weights 1.2.0')
    expect(await ask('GET', `/deployments/${id}`)).toMatchObject(kept)
    const { assignments } = (await ask('GET', '/devices/author/assignments')).body as {
      assignments: { version: string }[]
    }
    expect(assignments.map(({ version }) => version)).toEqual(['1.1.0'])
    await world.request('POST', '/api/v1/models', { key, body: { name: 'other' } })
    expect((await ask('GET', '/models/other/aliases')).body).toEqual({ aliases: [] })
  })

  it('that does not exist is an error that lists the existing ones', async () => {
    const { ask, promote } = await setUp()
    await promote('1', 'production')
    await promote('3', 'candidate')
    const sentence = (text: string) =>
      `Version '${text}' of model 'scorer' does not exist, or this key has no access to it. Its aliases: candidate, production.`
    expect(await ask('GET', '/models/scorer/versions/prodution/download')).toEqual(
      refusal(404, 'not_found', sentence('prodution')),
    )
    const rollout = { version: 'prodution', rollout_percentage: 100 }
    expect(await ask('POST', '/models/scorer/rollouts', rollout)).toEqual(
      refusal(400, 'bad_request', `version: ${sentence('prodution')}`),
    )
    const deploy = { model_name: 'scorer@prodution', model_version: 'latest', rollout_percentage: 100 }
    expect(await ask('POST', '/deploy/prepare', deploy)).toEqual(
      refusal(400, 'bad_request', `model_version: ${sentence('prodution')}`),
    )
    expect(await ask('POST', '/training/jobs', { model: 'scorer@prodution' })).toEqual(
      refusal(
        400,
        'bad_request',
        `model: ${sentence('prodution')} Use a model in the catalog that has an uploaded version.`,
      ),
    )
    expect((await ask('PUT', '/models/scorer/aliases/production', { version: '9' })).status).toBe(404)
    expect((await ask('PUT', '/models/nothing/aliases/production', {})).status).toBe(404)
    expect((await ask('DELETE', '/models/scorer/aliases/stage')).status).toBe(404)
    for (const alias of ['latest', '1.0.0', 'v2', 'a%20b']) {
      expect(await ask('PUT', `/models/scorer/aliases/${alias}`, { version: '1' })).toMatchObject({ status: 400 })
    }
    expect(await ask('POST', '/deploy/prepare', { ...deploy, model_version: '2' })).toEqual(
      refusal(
        400,
        'bad_request',
        "'scorer@prodution' names version prodution, but the request names version 2. Send only one of them.",
      ),
    )
  })

  it('does not affect a model with an @ in its name, or names that only devices resolve', async () => {
    const { ask, promote, bytesOf, world, key } = await setUp()
    await promote('1.0.0', 'production')
    await ask('POST', '/models', { name: 'old' })
    await upload(world, key, 'old', '7.0.0')
    await world
      .database!.sql.updateTable('models')
      .set({ name: 'scorer@production' })
      .where('name', '=', 'old')
      .execute()
    expect(await bytesOf('scorer@production/versions/latest')).toBe('weights 7.0.0')
    expect(await bytesOf('scorer/versions/production')).toBe('weights 1.0.0')
    const deploy = { model_name: 'hf:org/model@main', model_version: 'latest', devices: ['author'] }
    expect(await ask('POST', '/deploy/prepare', deploy)).toMatchObject({
      status: 200,
      body: {
        warnings: ["The catalog has no model 'hf:org/model@main': devices must resolve the name themselves."],
      },
    })
  })

  it('belongs to its organization: others neither see nor move it', async () => {
    const { world, key, promote } = await setUp({ isAlone: true })
    await promote('1', 'production')
    const made = await world.request('POST', '/api/v1/keys', {
      key,
      body: { name: 'spy', org_id: 'rival', scopes: ['models:read', 'models:write'] },
    })
    const spy = (made.body as { api_key: string }).api_key
    const statuses = []
    for (const [method, path, body] of [
      ['GET', 'aliases'],
      ['PUT', 'aliases/production', { version: '2' }],
      ['DELETE', 'aliases/production'],
      ['GET', 'alias-history'],
    ] as const) {
      statuses.push((await world.request(method, `/api/v1/models/scorer/${path}`, { key: spy, body })).status)
    }
    expect(statuses).toEqual([404, 404, 404, 404])
  })
})
