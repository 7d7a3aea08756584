import { setMaxListeners } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { initialModel } from '../../src/sdk/trainers/dense-network.ts'
import { type Random, seededRandom } from '../../src/sdk/trainers/random.ts'
import { encodeModel } from '../../src/sdk/trainers/weights-codec.ts'
import { runAgents, SHAPE, sha256Of } from './agents.ts'
import { createOperator, GivenUp, type Operator } from './operator.ts'
import { startReceiver } from './receiver.ts'
import { count, createRecords, type Records, violation } from './records.ts'

const PRIVATE_DEVICES = 24
const PIECE = 256 * 1024

const formOf = (fields: Readonly<Record<string, string>>, file?: Uint8Array): FormData => {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  if (file !== undefined) form.set('file', new Blob([file as BlobPart]), 'weights.bin')
  return form
}

const bytesOf = (random: Random, size: number): Uint8Array => {
  const bytes = new Uint32Array(size >> 2)
  for (let at = 0; at < bytes.length; at++) bytes[at] = random.uniform() * 2 ** 32
  return new Uint8Array(bytes.buffer)
}

interface Role {
  readonly operator: Operator
  readonly random: Random
  readonly records: Records
  readonly federation: string
}

/** Repeats some acknowledged writes, as if the response had been lost. */
const isRepeated = ({ random }: Role): boolean => random.uniform() < 0.2

const makeGroup = async (role: Role, n: number): Promise<void> => {
  const { operator, records } = role
  const body = { org_id: 'default', name: `group ${n}` }
  const { status, body: group } = await operator.ask('POST', '/device-groups', body)
  // A conflict: an earlier request created it, but its response was lost.
  if (status !== 201 && status !== 409) return violation(records, 'groups are made', `${status}: ${group.message}`)
  if (status === 409) return
  records.groups.set(body.name, String(group.id))
  count(records, 'groups')
  if (!isRepeated(role)) return
  const again = await operator.ask('POST', '/device-groups', body)
  if (again.status !== 409) violation(records, 'a repeated write is one write', `group ${n}: ${again.status}`)
}

/** Uploads in pieces, each to any process behind the balancer. If a piece is lost, resumes from the service's offset. */
const sendPieces = async ({ operator }: Role, sha256: string, file: Uint8Array): Promise<boolean> => {
  const path = `/uploads/${sha256}`
  for (let offset = 0; offset < file.length; ) {
    const { status, body } = await operator.ask('PATCH', path, file.subarray(offset, offset + PIECE), {
      'content-type': 'application/octet-stream',
      'upload-offset': String(offset),
      'upload-length': String(file.length),
    })
    if (status === 204) offset = Number(body.offset ?? offset + PIECE)
    else {
      const head = await operator.ask('HEAD', `${path}?size=${file.length}`)
      // Another process may hold the writer's lease for a while.
      if (head.status !== 200 && head.status !== 204) return false
      offset = Number(head.body.offset ?? 0)
      await wait(500)
    }
  }
  return true
}

const upload = async (role: Role, n: number): Promise<void> => {
  const { operator, random, records } = role
  const label = `1.0.${n}`
  const file = bytesOf(random, 4 * Math.ceil(10_000 + 200_000 * random.uniform() ** 3))
  const sha256 = sha256Of(file)
  const inPieces = random.uniform() < 0.3
  if (inPieces && !(await sendPieces(role, sha256, file))) return count(records, 'uploads in pieces given up')
  const fields = inPieces
    ? { upload: `sha256:${sha256}`, upload_size: String(file.length), file_name: 'weights.bin', version_label: label }
    : { version_label: label }
  const form = () => formOf(fields, inPieces ? undefined : file)
  const { status, body } = await operator.ask('POST', '/models/app/versions/upload', form())
  if (status === 409 || (inPieces && status === 404)) return
  if (status !== 201) return violation(records, 'uploads are taken', `${label}: ${status} ${body.message}`)
  if (body.model_hash !== `sha256:${sha256}`) violation(records, 'no byte changed', `${label}: ${body.model_hash}`)
  records.versions.set(label, { sha256, version: Number(body.version) })
  count(records, inPieces ? 'uploads in pieces' : 'uploads')
  if (inPieces || !isRepeated(role)) return
  const again = await operator.ask('POST', '/models/app/versions/upload', form())
  if (again.status !== 409) violation(records, 'a repeated write is one write', `${label}: ${again.status}`)
}

const rollOut = async ({ operator, random, records }: Role): Promise<void> => {
  const labels = [...records.versions.keys()]
  if (labels.length === 0) return
  const version = labels[Math.floor(random.uniform() * labels.length)]!
  const body = { version, rollout_percentage: 20, increment_step: 40, step_interval_minutes: 3 / 60 }
  const response = await operator.ask('POST', '/models/app/rollouts', body)
  if (response.status !== 201)
    return violation(records, 'rollouts start', `${response.status}: ${response.body.message}`)
  records.rollouts.set(String(response.body.rollout_id), version)
  count(records, 'rollouts')
}

const keepTraining = async ({ operator, random, records }: Role, devices: number): Promise<void> => {
  const listed = await operator.ask('GET', '/training/jobs?limit=1')
  const [latest] = (listed.body.jobs ?? []) as { ended_by: string | null }[]
  if (latest !== undefined && latest.ended_by === null) return
  const { status } = await operator.ask('POST', '/training/jobs', {
    model: 'net',
    org_id: 'default',
    strategy: random.uniform() < 0.5 ? 'fedavg' : 'fedadam',
    rounds: 4,
    min_devices: Math.max(2, Math.floor(devices / 10)),
    target_devices: Math.max(2, Math.floor(devices / 3)),
    timeout_seconds: 60,
    publish: 'every',
    hyperparameters: { local_epochs: 1, learning_rate: 0.05 },
  })
  if (status === 201) count(records, 'jobs')
}

const startPrivateRound = async ({ operator, records, federation }: Role): Promise<void> => {
  const response = await operator.once('POST', '/training/rounds/start', {
    org_id: 'closed',
    federation_id: federation,
    target_devices: PRIVATE_DEVICES / 2,
    min_devices: 2,
    timeout_seconds: 60,
    global_model_id: 'net',
    privacy: { noise_multiplier: 1, clip_norm: 1 },
  })
  if (response?.status !== 201) return
  records.privateRounds.add(String(response.body.id))
  count(records, 'private rounds')
}

/** Reads back one of the acknowledged objects. */
const readBack = async ({ operator, random, records }: Role): Promise<void> => {
  const pick = <Item>(items: readonly Item[]): Item | undefined => items[Math.floor(random.uniform() * items.length)]
  const group = pick([...records.groups])
  if (group !== undefined) {
    const response = await operator.once('GET', `/device-groups/${group[1]}`)
    if (response !== null && response.body.name !== group[0]) {
      violation(records, 'no acknowledged write lost', `${group[0]}: ${response.status}`)
    }
  }
  const version = pick([...records.versions])
  if (version === undefined) return
  const [label, { sha256, version: number }] = version
  const file = await operator.bytes(`/models/app/versions/${number}/download`)
  if (file === null || file.status === 500) return
  if (file.status !== 200) return violation(records, 'no acknowledged write lost', `${label}: ${file.status}`)
  count(records, 'downloads')
  const found = sha256Of(file.bytes)
  if (found !== sha256) violation(records, 'no byte changed', `${label}: ${found} instead of ${sha256}`)
}

const must = async (requested: Promise<{ status: number; body: Record<string, unknown> }>) => {
  const { status, body } = await requested
  if (status >= 300) throw new Error(`the workload cannot begin: ${status} ${body.message}`)
  return body
}

/** Creates models, a federation with a budget, and devices, before any faults; returns the devices' keys. */
const prepare = async (operator: Operator, receiver: string) => {
  for (const body of [{ name: 'app' }, { name: 'net', framework: 'pytorch' }]) {
    // On a busy machine, the first response may come too late: then the model already exists.
    const { status } = await operator.ask('POST', '/models', body)
    if (status !== 201 && status !== 409) throw new Error(`the workload cannot begin: ${status} at model ${body.name}`)
  }
  const weights = encodeModel(initialModel({ ...SHAPE, hidden: [], seed: 0 }), new Map())
  const form = formOf({})
  form.set('file', new Blob([weights]), 'net.safetensors')
  await must(operator.ask('POST', '/models/net/versions/upload', form))
  const { id } = await must(operator.ask('POST', '/federations', { name: 'closed', org_id: 'closed' }))
  await must(operator.ask('PUT', `/federations/${id}/privacy/budget`, { total_epsilon_budget: 1e6 }))
  await must(operator.ask('POST', '/integrations', { kind: 'logs', type: 'webhook', endpoint: receiver }))
  return String(id)
}

const register = async (operator: Operator, names: readonly string[], org_id: string) => {
  const keys = new Map<string, string>()
  for (const device_id of names) {
    const { api_key } = await must(operator.ask('POST', '/devices/register', { device_id, org_id }))
    keys.set(device_id, String(api_key))
  }
  return keys
}

/** All activity in an installation while faults are injected, and the record of acknowledged writes. */
export const startWorkload = async (url: string, seed: number, size: { readonly agents: number }) => {
  const records = createRecords()
  const starting = new AbortController()
  const over = new AbortController()
  setMaxListeners(0, over.signal)
  const receiver = await startReceiver(seededRandom(seed + 1), records)
  const visitor = createOperator(url, '', records, () => over.signal.aborted)
  const names = Array.from({ length: size.agents }, (_, n) => `d${n}`)
  const own = await register(visitor, names, 'default')
  const closed = await register(
    visitor,
    names.slice(0, PRIVATE_DEVICES).map((name) => `p${name}`),
    'closed',
  )
  const operator = createOperator(url, own.get('d0')!, records, () => over.signal.aborted)
  const federation = await prepare(operator, receiver.url)

  const loops: Promise<void>[] = []
  let drawn = seed
  /** Repeats the work until nothing new is to be started. */
  const repeat = (everyMs: number, work: (role: Role, n: number) => Promise<void>): void => {
    const role = { operator, records, federation, random: seededRandom(++drawn) }
    const run = async (): Promise<void> => {
      for (let n = 1; !starting.signal.aborted; n++) {
        await work(role, n).catch((error: unknown) => {
          if (!(error instanceof GivenUp)) throw error
        })
        await wait(everyMs * (0.5 + role.random.uniform()), undefined, { signal: starting.signal }).catch(
          () => undefined,
        )
      }
    }
    loops.push(run())
  }
  repeat(700, makeGroup)
  repeat(800, upload)
  repeat(6000, rollOut)
  repeat(2000, (role) => keepTraining(role, size.agents))
  repeat(2500, startPrivateRound)
  repeat(500, readBack)
  const agents = [
    runAgents({ url, keys: own, seed, records, signal: over.signal, isDelivered: true }),
    runAgents({ url, keys: closed, seed: seed + 1000, records, signal: over.signal, isDelivered: false }),
  ]
  return {
    records,
    operator,
    federation,
    /** Starts nothing new; work in progress continues. */
    settle: async (): Promise<void> => {
      starting.abort()
      receiver.heal()
      await Promise.all(loops)
    },
    close: async (): Promise<void> => {
      starting.abort()
      over.abort(new Error('The run is over.'))
      await Promise.allSettled([...loops, ...agents])
      receiver.close()
    },
  }
}

export type Workload = Awaited<ReturnType<typeof startWorkload>>
