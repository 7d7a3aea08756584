import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import { decodeModel, encodeModel } from '../src/sdk/trainers/weights-codec.ts'
import { formOf, startWorld, type TestDevice, type WorldOptions } from './world.ts'

/** A weight file with these numbers in one float64 tensor, so that a sum loses no precision. */
const weightsOf = (values: readonly number[]): Uint8Array =>
  encodeModel([{ name: 'w', shape: [values.length], data: Float64Array.from(values) }], new Map([['w', 'f64']]))

export const valuesIn = (file: Uint8Array): number[] => [...decodeModel(file).tensors[0]!.data]

export const distance = (a: readonly number[], b: readonly number[]): number =>
  Math.hypot(...a.map((value, at) => value - b[at]!))

/** Noise too small to change the sum: 1e-3 of the clip norm. */
export const HARDLY_ANY = 1e-3

/** A service with devices d0, d1, ... and a model of four zeros. `setSeed` determines which devices are drawn next. */
export const openPrivate = async (devices: number, options: WorldOptions = {}) => {
  let drawSeed: Uint8Array | null = null
  let draws = 0
  const fresh = (): Uint8Array => createHash('sha256').update(`draw ${++draws}`).digest()
  const world = await startWorld({ ...options, drawSeed: () => drawSeed ?? fresh() })
  const fleet: TestDevice[] = []
  for (let at = 0; at < devices; at++) fleet.push(await world.register(`d${at}`))
  const { key } = fleet[0]!
  const send = async (method: string, path: string, body?: unknown, as = key) => {
    const response = await world.request(method, `/api/v1${path}`, { key: as, body })
    return { status: response.status, body: response.body as Record<string, unknown> }
  }
  const modelId = (await send('POST', '/models', { name: 'zeros' })).body.id as string
  const file = formOf(weightsOf([0, 0, 0, 0]), {}, 'model.safetensors')
  expect(await send('POST', `/models/${modelId}/versions/upload`, file)).toMatchObject({ status: 201 })

  const start = (fields: object, noise_multiplier = HARDLY_ANY) =>
    send('POST', '/training/rounds/start', {
      global_model_id: 'zeros',
      privacy: { noise_multiplier, clip_norm: 1 },
      ...fields,
    })
  const deliver = (roundId: unknown, device: TestDevice, values: readonly number[]) =>
    send(
      'POST',
      `/training/rounds/${roundId}/updates`,
      formOf(weightsOf(values), { num_samples: 10, local_loss: 0.5 }, 'model.safetensors'),
      device.key,
    )
  const round = async (roundId: unknown) => (await send('GET', `/training/rounds/${roundId}/status`)).body
  const isSelected = async (roundId: unknown, device: TestDevice): Promise<boolean> =>
    (await send('GET', `/training/rounds/${roundId}/selection?device_id=${device.deviceId}`)).body.selected as boolean
  /** Returns the noisy sum from which the round's result was computed. */
  const sumOf = async (roundId: unknown): Promise<number[]> => {
    const { aggregated_model_id: id, target_devices: target } = await round(roundId)
    const path = `${world.baseUrl}/api/v1/models/${id}/versions/1/download`
    const response = await fetch(path, { headers: { authorization: `Bearer ${key}` } })
    return valuesIn(new Uint8Array(await response.arrayBuffer())).map((value) => value * (target as number))
  }

  return {
    world,
    fleet,
    send,
    start,
    deliver,
    round,
    isSelected,
    sumOf,
    /** Sets the seed for the following draws; null for new random draws. */
    setSeed(seed: Uint8Array | null) {
      drawSeed = seed
    },
    /** Returns a seed that draws exactly this many devices, but not the first one, whose key starts the rounds. */
    seedThatDraws(count: number, bound: string): Uint8Array {
      for (let at = 0; at < 1_000_000; at++) {
        const seed = createHash('sha256').update(`seed ${at}`).digest()
        const drawn = fleet.filter(({ id }) => coinOf(seed, id) < bound)
        if (drawn.length === count && !drawn.includes(fleet[0]!)) return seed
      }
      throw new Error(`No seed draws ${count} of ${fleet.length} devices.`)
    },
  }
}

const coinOf = (seed: Uint8Array, id: string): string =>
  createHash('sha256')
    .update(seed)
    .update(Buffer.from(id.replaceAll('-', ''), 'hex'))
    .digest('hex')
    .slice(0, 16)
