import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { readPaths } from './api-document.ts'
import { formOf, startWorld } from './world.ts'

interface Schema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly minItems?: number
  readonly minimum?: number
  readonly exclusiveMinimum?: number
  readonly minLength?: number
  readonly pattern?: string
}

interface Operation {
  readonly operationId: string
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: Schema }>> }
}

interface Call {
  readonly method: string
  readonly path: string
  readonly body?: unknown
}

/** By design, others who know a federation's id may learn its owner, but nothing else. */
const OWNERS_ONLY = /does not belong to 'beta': only its owner may do this/

/** The same for everyone, or different each time; and a person's own data in the browser, which is refused to every key. */
const EVERYBODYS = new Set([
  '/api/v1/status',
  '/api/v1/benchmarks',
  '/api/v1/account',
  '/api/v1/account/sessions',
  '/api/v1/account/passkeys',
])

/** The values of names in paths, queries, and bodies. */
type References = Readonly<Record<string, string>>

const OPERATIONS = Object.entries(readPaths<Operation>()).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
)

const NOBODY = '00000000-0000-4000-8000-000000000000'
const NOWHERE: References = {
  org_id: 'nowhere-org',
  device_id: 'nowhere-device',
  group_id: NOBODY,
  plan_id: NOBODY,
  model_id: NOBODY,
  version: '1',
  rollout_id: NOBODY,
  deployment_id: NOBODY,
  experiment_id: NOBODY,
  pairing_id: NOBODY,
  federation_id: NOBODY,
  query_id: NOBODY,
  round_id: NOBODY,
  job_id: NOBODY,
  key_id: NOBODY,
  session_id: NOBODY,
  integration_id: NOBODY,
  member_id: NOBODY,
  passkey_id: NOBODY,
  entry_id: '1000000',
  approval_id: NOBODY,
  erasure_id: NOBODY,
  confirm: 'nowhere-device',
  name_kind: 'key',
  name_id: NOBODY,
  backup_id: NOBODY,
  alias: 'nowhere-alias',
  sha256: '0'.repeat(64),
}
/** Names in bodies and queries that refer to the same objects. */
const ALIASES: Readonly<Record<string, string>> = {
  model: 'model_id',
  model_name: 'model_id',
  global_model: 'model_id',
  global_model_id: 'model_id',
  group: 'group_id',
  device_group: 'group_id',
  device_group_ids: 'group_id',
  target_groups: 'group_id',
  federation: 'federation_id',
  devices: 'device_id',
  device_ids: 'device_id',
  org_ids: 'org_id',
}

const referenceIn = (name: string, references: References): string | undefined => references[ALIASES[name] ?? name]

/** Returns a minimal value for the schema; fields that refer to an object use `references`. */
const least = (schema: Schema, name: string, references: References): unknown => {
  const reference = referenceIn(name, references)
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return schema.enum[0]
  if (schema.anyOf !== undefined) return least(schema.anyOf[0]!, name, references)
  if (type === 'array') {
    const count = Math.max(schema.minItems ?? 0, reference === undefined ? 0 : 1)
    return Array.from({ length: count }, () => least(schema.items ?? {}, name, references))
  }
  if (type === 'object' || schema.properties !== undefined) {
    const { properties = {}, required = [] } = schema
    return Object.fromEntries(required.map((one) => [one, least(properties[one] ?? {}, one, references)]))
  }
  if (reference !== undefined) return reference
  if (type === 'integer' || type === 'number') return schema.minimum ?? (schema.exclusiveMinimum ?? 0) + 1
  if (type === 'boolean') return false
  return 'x'.repeat(Math.max(schema.minLength ?? 1, 1))
}

/** Returns a call with the required fields, and one more for each optional field that refers to an object. */
const callsOf = ({ path, method, operation }: (typeof OPERATIONS)[number], references: References): Call[] => {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = referenceIn(name, references)
    if (value === undefined)
      throw new Error(`${path}: add '${name}' to NOWHERE and to the references of openOrganizations`)
    return encodeURIComponent(value)
  })
  const queries = (operation.parameters ?? []).filter(
    (one) => one.in === 'query' && referenceIn(one.name, references) !== undefined,
  )
  const asking = queries.map(({ name }) => `${name}=${encodeURIComponent(referenceIn(name, references)!)}`)
  const schema = operation.requestBody?.content['application/json']?.schema
  const calls: Call[] = [{ method, path: filled }, ...asking.map((query) => ({ method, path: `${filled}?${query}` }))]
  if (schema === undefined) return calls
  const body = least(schema, '', references) as object
  const optional = Object.entries(schema.properties ?? {}).filter(
    ([name]) => !(name in body) && referenceIn(name, references) !== undefined,
  )
  const bodies = [body, ...optional.map(([name, one]) => ({ ...body, [name]: least(one, name, references) }))]
  return calls.flatMap((call) => bodies.map((one) => ({ ...call, body: one })))
}

/** Two organizations; one has an object of every kind, each with a recognizable name. */
const openOrganizations = async () => {
  const world = await startWorld({ config: { enrollment: 'token', conversions: 'off' } })
  const admin = world.service.firstAdminKey!
  const must = async <T = { id: string }>(key: string, method: string, path: string, body?: unknown): Promise<T> => {
    const response = await world.request(method, `/api/v1${path}`, { key, body })
    expect([method, path, response.status, response.status < 300 ? '' : response.body]).toEqual([
      method,
      path,
      expect.any(Number),
      '',
    ])
    return response.body as T
  }
  const scopes = ['devices', 'models', 'training'].flatMap((what) => [`${what}:read`, `${what}:write`])
  const keyOf = (org_id: string, held: readonly string[]) =>
    must<{ id: string; api_key: string }>(admin, 'POST', '/keys', {
      name: org_id === 'acme' ? 'secret-key' : 'key',
      org_id,
      scopes: held,
    })

  const acme = await keyOf('acme', [...scopes, 'admin', 'metrics:read'])
  const own = acme.api_key
  await must(admin, 'POST', '/orgs', { name: 'acme' })
  const device = await must<{ id: string; api_key: string }>(own, 'POST', '/devices/register', {
    device_id: 'secret-device',
  })
  const group = await must(own, 'POST', '/device-groups', { org_id: 'acme', name: 'secret-group' })
  const model = await must(own, 'POST', '/models', { name: 'secret-model', framework: 'pytorch' })
  const weights = new Uint8Array(Float32Array.of(1, 2, 3).buffer)
  const form = formOf(weights, { version: '1' })
  await must(own, 'POST', `/models/${model.id}/versions/upload`, form)
  const rollout = await must<{ rollout_id: string }>(own, 'POST', `/models/${model.id}/rollouts`, {
    version: '1',
    rollout_percentage: 10,
  })
  await must(own, 'PUT', `/models/${model.id}/policy`, {})
  const deployment = await must<{ deployment_id: string }>(own, 'POST', '/deploy/execute', {
    model_name: 'secret-model',
    model_version: '1',
    devices: ['secret-device'],
  })
  const experiment = await must(own, 'POST', '/experiments', {
    name: 'secret-experiment',
    variants: [
      { name: 'a', model_id: model.id, allocation: 0.5 },
      { name: 'b', model_id: model.id, allocation: 0.5 },
    ],
  })
  const pairing = await must<{ pairing_id: string }>(own, 'POST', '/pairings', {})
  const federation = await must(own, 'POST', '/federations', { name: 'secret-federation', org_id: 'acme' })
  const query = await must<{ query_id: string }>(own, 'POST', `/federations/${federation.id}/analytics/descriptive`, {
    variable: 'local_loss',
  })
  const round = await must(own, 'POST', '/training/rounds/start', { target_devices: 1, min_devices: 1 })
  const update = formOf(weights, { num_samples: 5 })
  await must(device.api_key, 'POST', `/training/rounds/${round.id}/updates`, update)
  await world.advance(1)
  const job = await must(own, 'POST', '/training/jobs', { model: 'secret-model', name: 'secret-job' })

  await fetch(`${world.baseUrl}/api/v1/session`, {
    method: 'POST',
    headers: { origin: world.baseUrl, 'content-type': 'application/json' },
    body: JSON.stringify({ api_key: own }),
  })
  const { sessions } = await must<{ sessions: { id: string }[] }>(own, 'GET', '/sessions')
  await must(own, 'PUT', '/models/secret-model/aliases/secret-alias', { version: '1' })

  const beta = (await keyOf('beta', [...scopes, 'admin', 'metrics:read'])).api_key
  const foreign = {
    admin: beta,
    reader: (await keyOf('beta', ['devices:read', 'models:read', 'training:read'])).api_key,
    device: (await must<{ api_key: string }>(beta, 'POST', '/devices/register', { device_id: 'theirs' })).api_key,
  }
  const integration = await must(own, 'POST', '/integrations', {
    kind: 'logs',
    type: 'webhook',
    endpoint: 'https://secret-receiver.example',
  })
  await must(own, 'POST', `/integrations/${integration.id}/pause`)
  const invited = await must(own, 'POST', '/team', { email: 'secret@acme.example' })
  await sql`insert into org_settings (org_id, updated_at, require_approval) values ('acme', now(), true)`.execute(
    world.database!.sql,
  )
  const approval = await must(own, 'PUT', '/models/secret-model/aliases/secret-waiting', { version: '1' })
  const { entries } = await must<{ entries: { id: number }[] }>(own, 'GET', '/audit')
  await must(own, 'POST', '/devices/register', { device_id: 'secret-erased' })
  const erasure = await must(own, 'POST', '/devices/secret-erased/erase', { confirm: 'secret-erased' })
  const references: References = {
    erasure_id: erasure.id,
    confirm: 'secret-device',
    entry_id: String(entries[0]!.id),
    approval_id: approval.id,
    name_kind: 'key',
    name_id: acme.id,
    backup_id: NOBODY,
    passkey_id: NOBODY,
    org_id: 'acme',
    member_id: invited.id,
    device_id: 'secret-device',
    group_id: group.id,
    plan_id: rollout.rollout_id,
    model_id: model.id,
    version: '1',
    rollout_id: rollout.rollout_id,
    deployment_id: deployment.deployment_id,
    experiment_id: experiment.id,
    pairing_id: pairing.pairing_id,
    federation_id: federation.id,
    query_id: query.query_id,
    round_id: round.id,
    job_id: job.id,
    key_id: acme.id,
    session_id: sessions[0]!.id,
    integration_id: integration.id,
    alias: 'secret-alias',
    sha256: '1'.repeat(64),
  }
  return { world, admin, own, foreign, references }
}

it('an organization learns nothing about another, not even whether an object exists there', async () => {
  const { world, admin, own, foreign, references } = await openOrganizations()
  const send = async (key: string, { method, path, body }: Call) => {
    const { status, body: response } = await world.request(method, path, { key, body })
    const text = typeof response === 'string' ? response : JSON.stringify(response)
    // Using a key changes its `last_used_at` a little later, and events occur between two requests.
    const stable = text.replace(/"(last_used_at|oldest_pending_at|pending)":("[^"]*"|null|\d+)/g, '')
    return { status, text: stable }
  }
  const reading = OPERATIONS.filter(({ method, path }) => method === 'GET' && !EVERYBODYS.has(path))
  const look = async (key: string) => {
    const seen: [string, { status: number; text: string }][] = []
    for (const call of reading.flatMap((operation) => callsOf(operation, references))) {
      seen.push([call.path, await send(key, call)])
    }
    return seen
  }

  const byOwner = await look(own)
  const found = byOwner.filter(([, { status }]) => status === 200).length
  const byAdmin = await look(admin)
  expect(byAdmin.filter(([, { status }]) => status === 401 || status === 403)).toEqual([])
  expect(byAdmin.filter(([, { status }]) => status === 200).length).toBeGreaterThanOrEqual(found)
  expect(found).toBeGreaterThan(40)

  const forget = (text: string, names: References): string =>
    Object.values(names)
      .filter((name) => name.length > 3)
      .reduce((rest, name) => rest.replaceAll(name, '<name>'), text)
  const leaks: unknown[] = []
  let calls = 0
  for (const [who, key] of Object.entries(foreign)) {
    for (const operation of OPERATIONS) {
      const there = callsOf(operation, references)
      const nowhere = callsOf(operation, NOWHERE)
      for (const [at, call] of there.entries()) {
        const elsewhere = nowhere[at]!
        const one = await send(key, call)
        calls++
        if (/secret/.test(forget(one.text, references)) || one.status >= 500) leaks.push({ who, call, one })
        // A call that refers to none of their objects may itself change the next response to the same call.
        if (JSON.stringify(call) === JSON.stringify(elsewhere)) continue
        const other = await send(key, elsewhere)
        calls++
        if (OWNERS_ONLY.test(one.text) && other.status === 404) continue
        const isSame = one.status < 400 || forget(one.text, references) === forget(other.text, NOWHERE)
        if (one.status !== other.status || !isSame) leaks.push({ who, call, one, other })
      }
    }
  }
  expect(leaks).toEqual([])
  expect(calls).toBeGreaterThan(800)
  expect(await look(own)).toEqual(byOwner)
})
