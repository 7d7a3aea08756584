import { describe, expect, it } from 'vitest'
import { readPaths } from './api-document.ts'
import { createNumberFuzz, holdsNumbers, type Known, type Schema } from './number-fuzz.fixture.ts'
import { formOf, startWorld, type TestResponse, type World } from './world.ts'

interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
}
const operations = Object.entries(readPaths<Operation>()).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { requestBody }]) => ({
    method: method.toUpperCase(),
    path,
    content: Object.entries(requestBody?.content ?? {})[0],
  })),
)

const floats = (...values: number[]) => new Uint8Array(new Float32Array(values).buffer)
const DEVICES = Array.from({ length: 12 }, (_, n) => `d${n}`)
const VARIABLES = ['x', 'metrics.loss', 'capabilities.x', 'local_loss', 'local_accuracy', 'num_samples', 'platform']

/** Creates an object for every kind of id; returns the ids by their names in paths and bodies. */
const furnish = async (world: World) => {
  const devices = new Map<string, string>()
  const sizes = [0, 5e-324, 1e-160, -1e-38, 1e38, -3.4e38, 3.4e38, 3.5e38, 1e154, -1e200, 1e308, Number.MAX_VALUE]
  for (const [n, name] of DEVICES.entries()) {
    const { key } = await world.register(name, { org_id: 'acme', capabilities: { x: sizes[n] } })
    devices.set(name, key)
  }
  const key = devices.get('d0')!
  const make = async (path: string, body: object, field = 'id'): Promise<string> => {
    const made = await world.request('POST', `/api/v1${path}`, { key, body })
    expect([path, made.status, made.body]).toEqual([path, expect.toBeOneOf([200, 201]), expect.anything()])
    return (made.body as Record<string, string>)[field]!
  }
  const federation_id = await make('/federations', { name: 'clinic', org_id: 'acme' })
  const groups: string[] = []
  for (const [name, device_ids] of [
    ['a', DEVICES.slice(0, 6)],
    ['b', DEVICES.slice(6)],
  ] as const) {
    const id = await make('/device-groups', { name, org_id: 'acme' })
    await make(`/device-groups/${id}/devices`, { device_ids })
    groups.push(id)
  }
  const model_id = await make('/models', { name: 'net', org_id: 'acme' })
  await make(`/models/${model_id}/versions/upload`, formOf(floats(1, 2)))
  await make(`/models/${model_id}/versions/upload`, formOf(floats(3, 4)))
  const variants = [1, 2].map((version) => ({ name: `v${version}`, model_id, version: `${version}`, allocation: 0.5 }))
  const experiment_id = await make('/experiments', { name: 'ab', variants, target_groups: groups })
  await make(`/experiments/${experiment_id}/start`, {})
  const rollout_id = await make(`/models/${model_id}/rollouts`, { version: '1', rollout_percentage: 100 }, 'rollout_id')
  const known: Known = {
    device_id: DEVICES,
    device_ids: DEVICES,
    org_id: 'acme',
    group_id: groups[0]!,
    group_ids: groups,
    group_a: groups[0]!,
    group_b: groups[1]!,
    federation_id,
    model: 'net',
    model_id,
    model_name: 'net',
    version: ['1', '2'],
    experiment_id,
    rollout_id,
    plan_id: [experiment_id, rollout_id],
    variable: VARIABLES,
    variable_1: VARIABLES,
    variable_2: VARIABLES,
  }
  return { key, devices, known }
}

/** The operations by which devices send numbers, as opposed to operators. */
const SENT_BY_DEVICES = [
  'POST /api/v1/devices/register',
  'PUT /api/v1/devices/{device_id}/heartbeat',
  'POST /api/v1/devices/{device_id}/assignments/{plan_id}/report',
  'POST /api/v1/experiments/{experiment_id}/observations',
  'POST /api/v1/training/rounds/{round_id}/updates',
  'POST /api/v1/benchmarks',
]

const holding = (...some: readonly number[]) => ({
  asymmetricMatch: (found: unknown) => found instanceof Set && some.some((status) => found.has(status)),
  toString: () => `one of ${some.join(', ')}`,
})

const text = (body: unknown, overflow: boolean): string =>
  JSON.stringify(body).replaceAll(overflow ? /1\.797\d+e\+308/g : /$^/g, '1e999')

describe('numbers over the whole range of doubles, in every numeric field', () => {
  it('leave every resource readable', async () => {
    const world = await startWorld()
    const { key, devices, known } = await furnish(world)
    const ids: Record<string, string | readonly string[]> = { ...known }
    const fuzz = createNumberFuzz(1, ids)
    const concrete = (path: string): string =>
      path.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(fuzz.fill({ type: 'string' }, name)))
    const statuses = new Map<string, Set<number>>()
    const check = (name: string, response: TestResponse): void => {
      statuses.set(name, (statuses.get(name) ?? new Set()).add(response.status))
      expect([name, response.status < 500, response.status < 500 ? null : response.body]).toEqual([name, true, null])
    }

    const send = async (method: string, path: string, [type, { schema }]: [string, { schema: Schema }], as = key) => {
      const body = fuzz.fill(schema, '') as Record<string, string>
      // Privacy accounting has its own tests.
      delete body.privacy
      // Inactive devices are not selected.
      if (path.endsWith('/heartbeat')) delete body.status
      if (path.endsWith('/observations') && body.observations !== undefined) {
        // Either one observation or a list.
        delete body.device_id
        delete body.metrics
      }
      if (path.endsWith('/register')) body.device_id = `new-${fuzz.extreme()}`
      const url = `/api/v1${concrete(path.slice('/api/v1'.length))}`
      const { file, ...fields } = body
      // Objects in a form are JSON.
      const overflow = fuzz.chance(0.1)
      const asText = (value: unknown) => (typeof value === 'object' ? text(value, overflow) : String(value))
      const texts = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, asText(value)]))
      const form = () => formOf(floats(fuzz.chance(0.5) ? 1 : 2, 3), texts)
      const json = { body: text(body, fuzz.chance(0.1)), headers: { 'content-type': 'application/json' } }
      const response = await world.request(method, url, {
        key: as,
        ...(type.startsWith('multi') ? { body: form() } : json),
      })
      check(`${method} ${path}`, response)
    }

    const writes = operations.filter(
      ({ path, content }) => content !== undefined && holdsNumbers(content[1].schema) && !path.includes('/privacy/'),
    )
    const updates = '/api/v1/training/rounds/{round_id}/updates'
    for (let turn = 0; turn < 6; turn++) {
      const started = await world.request('POST', '/api/v1/training/rounds/start', {
        key,
        body: { target_devices: 12, min_devices: 3, federation_id: ids.federation_id },
      })
      if (started.status === 201) ids.round_id = (started.body as { id: string }).id
      for (const { method, path, content } of writes) {
        const senders = path === updates || path.endsWith('/heartbeat') ? DEVICES : [null, null]
        for (const name of senders) await send(method, path, content!, name === null ? key : devices.get(name))
      }
      await world.advance(200)
    }

    const lists = await world.request('GET', `/api/v1/federations/${String(ids.federation_id)}/analytics/queries`, {
      key,
    })
    ids.query_id = (lists.body as { queries: { id: string }[] }).queries.map(({ id }) => id)
    for (const { method, path } of operations) {
      if (method !== 'GET') continue
      for (let time = 0; time < (path.includes('{') ? 4 : 1); time++) {
        const query = path === '/api/v1/devices' || path === '/api/v1/device-groups' ? '?org_id=acme' : ''
        check(`GET ${path}`, await world.request('GET', `${concrete(path)}${query}`, { key }))
      }
    }
    const rounds = await world.request('GET', '/api/v1/training/rounds', { key })
    expect(JSON.stringify(rounds.body)).toContain('"status":"completed"')
    // Bodies are valid often enough that this tests more than refusals.
    for (const path of SENT_BY_DEVICES) expect([path, statuses.get(path)]).toEqual([path, holding(200, 201)])
    for (const path of ['/models', '/training/rounds', '/devices', '/experiments/{experiment_id}/analytics'])
      expect([path, statuses.get(`GET /api/v1${path}`)]).toEqual([path, new Set([200])])
  })
})
