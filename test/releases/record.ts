// Creates one object of every kind in a running service of a release, and records the responses of its GET routes.
//   node --import tsx test/releases/record.ts http://127.0.0.1:8000 answers.json [key]
// The data folder (packed by `packFolder` of the embedded template) or the dump (`pg_dump --inserts --no-owner`) and the
// responses are then kept in test/fixtures/releases/<version>/: every later version must open them (releases.test.ts).
import { readFile, writeFile } from 'node:fs/promises'

const [baseUrl = '', target = '', adminKey] = process.argv.slice(2)
const weights = (name: string) => readFile(new URL(`../fixtures/weights/${name}`, import.meta.url))

type Json = Record<string, unknown> & { readonly id: string; readonly api_key: string }

const call = async (method: string, path: string, body?: unknown, key = adminKey): Promise<Json> => {
  const isForm = body instanceof FormData
  const response = await fetch(`${baseUrl}/api/v1${path}`, {
    method,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  return (text === '' ? {} : JSON.parse(text)) as Json
}

const formOf = async (file: string, fields: Record<string, string | number>): Promise<FormData> => {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, String(value))
  form.set('file', new Blob([new Uint8Array(await weights(file))]), file)
  return form
}

const register = (deviceId: string, org_id: string) =>
  call('POST', '/devices/register', { device_id: deviceId, platform: 'linux', org_id, capabilities: { memory_gb: 8 } })
const devices = await Promise.all(['d1', 'd2', 'd3'].map((name) => register(name, 'clinic')))
const other = await register('e1', 'lab')
const SCOPES = ['devices', 'models', 'training'].flatMap((name) => [`${name}:read`, `${name}:write`])
const clinic = { name: 'clinic', org_id: 'clinic', scopes: [...SCOPES, 'admin'] }
const key = adminKey === undefined ? devices[0]!.api_key : (await call('POST', '/keys', clinic)).api_key
const post = (path: string, body: unknown = {}) => call('POST', path, body, key)

for (const [index, device] of devices.entries())
  await call('PUT', `/devices/d${index + 1}/heartbeat`, { metrics: { battery_level: 50 + index } }, device.api_key)
const group = await post('/device-groups', { org_id: 'clinic', name: 'ward', tags: ['first'] })
await post(`/device-groups/${group.id}/devices`, { device_ids: ['d1', 'd2'] })
await post('/keys', { name: 'reader', scopes: ['models:read'], org_id: 'clinic', expires_in_days: 3650 })

const model = await post('/models', { name: 'net', framework: 'pytorch', description: 'three layers' })
await post(`/models/${model.id}/versions/upload`, await formOf('net_a.pt', { format: 'pytorch' }))
await post(`/models/${model.id}/versions/upload`, await formOf('net_b.pt', { version_label: '1.5.0' }))

const runRound = async (fields: object, losses: readonly number[]): Promise<string> => {
  const { id } = await post('/training/rounds/start', {
    target_devices: 3,
    min_devices: 2,
    org_id: 'clinic',
    global_model_id: model.id,
    ...fields,
  })
  for (const [index, device] of devices.entries()) {
    const form = await formOf(`net_${'abc'[index]}.pt`, { num_samples: 10 * (index + 1), local_loss: losses[index]! })
    await call('POST', `/training/rounds/${id}/updates`, form, device.api_key)
  }
  for (;;) {
    const { status } = await call('GET', `/training/rounds/${id}/status`, undefined, key)
    if (status === 'completed' || status === 'failed') return id
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
const round = await runRound({ hyperparameters: { lr: 0.1 } }, [0.5, 0.4, 0.3])
const federation = await post('/federations', { name: 'hospitals', org_id: 'clinic' })
await post(`/federations/${federation.id}/invite`, { org_ids: ['lab'] })
await call('POST', `/federations/${federation.id}/join`, { org_id: 'lab' }, adminKey ?? other.api_key)
await post(`/federations/${federation.id}/models`, { model_id: model.id })
await call('PUT', `/federations/${federation.id}/privacy/budget`, { total_epsilon_budget: 50 }, key)
const privateRound = await runRound(
  { federation_id: federation.id, privacy: { noise_multiplier: 1.1, clip_norm: 1 } },
  [0.5, 0.4, 0.3],
)
await post(`/federations/${federation.id}/analytics/descriptive`, { variable: 'local_loss' })
const rollout = await post(`/models/${model.id}/rollouts`, { version: '1.5.0', rollout_percentage: 50, group: 'ward' })
const deployment = await post('/deploy/execute', { model_name: 'net', model_version: '1.0.0', devices: ['d1', 'd3'] })
const tried = await post('/models', { name: 'tried' })
await post(`/models/${tried.id}/versions/upload`, await formOf('net_c.safetensors', {}))
const experiment = await post('/experiments', {
  name: 'which',
  variants: ['a', 'b'].map((name) => ({ name, model_id: tried.id, allocation: 0.5 })),
})
await post(`/experiments/${experiment.id}/start`)
await post(`/experiments/${experiment.id}/observations`, { device_id: 'd1', metrics: { accuracy: 0.9 } })
await call('PUT', `/models/${model.id}/policy`, { enabled: true, canary_percentage: 10 }, key)
const pairing = await post('/pairings', { model_name: 'net', org_id: 'clinic' })
await call('POST', '/orgs', { name: 'clinic', region: 'eu' }, adminKey ?? key)
const job = await post('/training/jobs', { model: 'net', org_id: 'clinic', rounds: 2, min_devices: 3 })
await post(`/training/jobs/${job.id}/stop`)
const paths = [
  '/devices?org_id=clinic',
  '/devices?org_id=lab',
  '/devices/d1',
  `/device-groups?org_id=clinic`,
  `/device-groups/${group.id}/devices`,
  '/keys',
  '/models',
  `/models/${model.id}`,
  `/models/${model.id}/rollouts/${rollout.rollout_id}`,
  `/models/${model.id}/policy`,
  `/training/rounds`,
  `/training/rounds/${round}/status`,
  `/training/rounds/${round}/updates`,
  `/training/rounds/${round}/receipt`,
  `/training/rounds/${privateRound}/status`,
  `/training/jobs/${job.id}`,
  '/federations',
  `/federations/${federation.id}/members`,
  `/federations/${federation.id}/models`,
  `/federations/${federation.id}/privacy`,
  `/federations/${federation.id}/privacy/history`,
  `/federations/${federation.id}/analytics/queries`,
  `/deployments/${deployment.deployment_id}`,
  `/deployments/${deployment.deployment_id}/devices`,
  `/experiments/${experiment.id}`,
  `/pairings/${pairing.pairing_id ?? pairing.id}`,
  '/orgs/clinic',
]
const responses: Record<string, unknown> = {}
for (const path of paths)
  responses[path] = await call('GET', path, undefined, key).catch((error: unknown) => ({ error: String(error) }))
// The sum of these numbers overflows: version 1.0.0 stores their mean as Infinity, and cannot list its models afterwards.
if (process.env.OVERFLOW !== undefined) await runRound({}, [0.5, 1.7e308, 1.7e308])
await writeFile(target, `${JSON.stringify({ key, device_key: devices[1]!.api_key, answers: responses }, null, 1)}\n`)
console.log(`${paths.length} answers in ${target}`)
