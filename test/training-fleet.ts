import type { Device } from '../src/sdk/device.ts'
import { createDevice } from '../src/sdk/device-client.ts'
import { type LocalTrainer, takePart } from '../src/sdk/take-part.ts'
import { type Dataset, type Split, splitDataset } from '../src/sdk/trainers/dataset.ts'
import { initialModel } from '../src/sdk/trainers/dense-network.ts'
import { localTrainer } from '../src/sdk/trainers/local-trainer.ts'
import { seededRandom } from '../src/sdk/trainers/random.ts'
import { syntheticDevices } from '../src/sdk/trainers/synthetic.ts'
import { type Evaluation, evaluate } from '../src/sdk/trainers/train.ts'
import { decodeModel, encodeModel } from '../src/sdk/trainers/weights-codec.ts'
import { formOf, type World } from './world.ts'

export const SHAPE = { features: 5, classes: 3 } as const

export interface FleetDevice {
  readonly name: string
  readonly key: string
  readonly device: Device
  readonly rows: Split
  trainer: LocalTrainer
}

export interface JobBody {
  readonly id: string
  readonly status: string
  readonly ended_by: string | null
  readonly reason: string | null
  readonly rounds_completed: number
  readonly latest_model_id: string | null
  readonly history: readonly {
    readonly round_id: string
    readonly status: string
    readonly loss: number | null
    readonly accuracy: number | null
    readonly completed_devices: number
    readonly failure_reason: string | null
  }[]
  readonly [field: string]: unknown
}

/** Registers devices, each with its own distribution of rows; with `alike`, all with the same. */
export const startFleet = async (world: World, count: number, alike = false): Promise<FleetDevice[]> => {
  const splits = alike
    ? Array.from({ length: count }, (_, index) => splitDataset(clouds(index), 0.1, index))
    : syntheticDevices({ alpha: 0.5, beta: 0.5, devices: count, seed: 3, ...SHAPE, maxRows: 60 })
  return Promise.all(splits.map((rows, index) => addDevice(world, `d${index}`, rows)))
}

/** Returns 60 rows around three corners of a cube. */
const clouds = (seed: number): Dataset => {
  const random = seededRandom(seed)
  const labels = Uint32Array.from({ length: 60 }, (_, row) => row % SHAPE.classes)
  const features = new Float64Array(60 * SHAPE.features)
  for (let at = 0; at < features.length; at++) {
    const isOwn = at % SHAPE.features === labels[Math.floor(at / SHAPE.features)]
    features[at] = random.normal(isOwn ? 2 : 0, 0.5)
  }
  return { featureCount: SHAPE.features, features, labels }
}

/** Evaluates a round's model on all rows of these devices. */
export const judge = async (world: World, roundId: string, fleet: readonly FleetDevice[]): Promise<Evaluation> => {
  const { key } = fleet[0]!
  const { body } = await world.request('GET', `/api/v1/training/rounds/${roundId}/status`, { key })
  const { aggregated_model_id: modelId } = body as { aggregated_model_id: string }
  const path = `${world.baseUrl}/api/v1/models/${modelId}/versions/1/download`
  const file = await fetch(path, { headers: { authorization: `Bearer ${key}` } })
  const { tensors } = decodeModel(new Uint8Array(await file.arrayBuffer()))
  const judged = fleet.map(({ rows }) => evaluate(tensors, rows.train))
  const count = judged.reduce((sum, one) => sum + one.count, 0)
  const mean = (of: (one: Evaluation) => number) => judged.reduce((sum, one) => sum + of(one) * one.count, 0) / count
  return { count, loss: mean((one) => one.loss), accuracy: mean((one) => one.accuracy) }
}

export const addDevice = async (world: World, name: string, rows: Split, fields: object = {}): Promise<FleetDevice> => {
  const { key } = await world.register(name, fields)
  const now = () => world.now().getTime()
  const device = createDevice({ baseUrl: world.baseUrl, deviceId: name, apiKey: key, now })
  return { name, key, device, rows, trainer: localTrainer(rows, { deviceId: name }) }
}

/** Uploads an untrained logistic regression to the catalog under this name; returns its id. */
export const uploadModel = async (world: World, key: string, name = 'beginner'): Promise<string> => {
  const created = await world.request('POST', '/api/v1/models', { key, body: { name, framework: 'pytorch' } })
  const { id } = created.body as { id: string }
  const tensors = initialModel({ ...SHAPE, hidden: [], seed: 0 })
  const body = formOf(encodeModel(tensors, new Map()), {}, 'model.safetensors')
  const { status } = await world.request('POST', `/api/v1/models/${id}/versions/upload`, { key, body })
  if (status !== 201) throw new Error(`the upload was answered with ${status}`)
  return id
}

export const startJob = (world: World, key: string, fields: object = {}) =>
  world.request('POST', '/api/v1/training/jobs', {
    key,
    body: {
      model: 'beginner',
      rounds: 3,
      hyperparameters: { local_epochs: 3, learning_rate: 0.05 },
      ...fields,
    },
  })

export const jobOf = async (world: World, key: string, id: string): Promise<JobBody> =>
  (await world.request('GET', `/api/v1/training/jobs/${id}`, { key })).body as JobBody

/** Each device sends one heartbeat and takes part in a round if selected. Resolves with the number that did. */
export const comeOnce = async (fleet: readonly FleetDevice[]): Promise<number> => {
  const parts = await Promise.all(
    fleet.map(async ({ device, trainer }) => {
      const { pendingRoundId } = await device.heartbeat()
      if (pendingRoundId === null) return 0
      await takePart(device, pendingRoundId, trainer)
      return 1
    }),
  )
  return parts.reduce<number>((sum, one) => sum + one, 0)
}

/** Repeats `comeOnce` until the job has ended, at most `times` times. */
export const play = async (world: World, id: string, fleet: readonly FleetDevice[], times = 60): Promise<JobBody> => {
  const { key } = fleet[0]!
  for (let time = 0; time < times; time++) {
    await comeOnce(fleet)
    await world.service.runDueTasks()
    const job = await jobOf(world, key, id)
    if (job.ended_by !== null) return job
  }
  return jobOf(world, key, id)
}
