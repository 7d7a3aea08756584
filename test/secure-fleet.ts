import { expect } from 'vitest'
import type { Device } from '../src/sdk/device.ts'
import { createDevice } from '../src/sdk/device-client.ts'
import {
  type Advertised,
  advertise,
  dealShares,
  type Masked,
  maskInput,
  revealShares,
  type Shared,
} from '../src/secure-aggregation/device-part.ts'
import { decodeMeans, encodeContribution, readTotals, TRAILER } from '../src/secure-aggregation/fixed-point.ts'
import { addWords } from '../src/secure-aggregation/mask.ts'
import type { SecureSettings } from '../src/secure-aggregation/settings.ts'
import { encodeElements, readTensorFloats } from '../src/tensors/elements.ts'
import { readWeights } from '../src/tensors/read-weights.ts'
import { bytesSource } from '../src/tensors/sources.ts'
import { writeSafetensors } from '../src/tensors/write-safetensors.ts'
import { formOf, startWorld, type World } from './world.ts'

/** A small model: 7 + 6 real numbers in two types, and a counter, which is never summed. */
export const modelOf = (seed: number): Uint8Array<ArrayBuffer> => {
  const values = (count: number, from: number) =>
    Array.from({ length: count }, (_, i) => Math.sin(seed * 13 + from + i * 7) * 3)
  const tensor = (name: string, dtype: 'f32' | 'f16' | 'i64', shape: number[], data: readonly number[]) => ({
    name,
    dtype,
    shape,
    data: encodeElements(data, dtype),
  })
  return new Uint8Array(
    writeSafetensors([
      tensor('b.weight', 'f32', [7], values(7, 0)),
      tensor('a.bias', 'f16', [2, 3], values(6, 50)),
      tensor('steps', 'i64', [], [seed]),
    ]),
  )
}

export const tensorsOf = (file: Uint8Array): Record<string, number[]> => {
  const source = bytesSource(file)
  return Object.fromEntries(
    readWeights(source).tensors.map((tensor) => [tensor.name, [...readTensorFloats(source, tensor)]]),
  )
}

/** By name, which is the protocol's order. */
const coordinatesOf = (file: Uint8Array): number[] => {
  const tensors = tensorsOf(file)
  return [...tensors['a.bias']!, ...tensors['b.weight']!]
}

export interface Member {
  readonly name: string
  /** The internal id that the protocol uses. */
  readonly id: string
  readonly key: string
  device: Device
  readonly update: Uint8Array<ArrayBuffer>
  readonly loss: number
  part: Advertised | Shared | Masked | null
}

export const GLOBAL = modelOf(1)

/** Connects the member's device to the service's current address. */
export const connect = (world: World, { name, key }: Pick<Member, 'name' | 'key'>): Device =>
  createDevice({ baseUrl: world.baseUrl, deviceId: name, apiKey: key, now: () => world.now().getTime() })

/** Registers devices with their own updates, and uploads a model that they start from. */
export const secureFleet = async (size: number, world?: World): Promise<{ world: World; members: Member[] }> => {
  const at = world ?? (await startWorld())
  const members: Member[] = []
  for (let n = 0; n < size; n++) {
    const { id, key, deviceId } = await at.register(`d${n}`)
    const device = connect(at, { name: deviceId, key })
    members.push({ name: deviceId, id, key, device, update: modelOf(n + 2), loss: n / 4, part: null })
  }
  const key = members[0]!.key
  // In a world with an earlier fleet, the model exists and gets a new version.
  await at.request('POST', '/api/v1/models', { key, body: { name: 'small' } })
  const path = '/api/v1/models/small/versions/upload'
  const uploaded = await at.request('POST', path, { key, body: formOf(GLOBAL, {}, 'small.safetensors') })
  expect(uploaded.status).toBe(201)
  return { world: at, members }
}

const contributionOf = (member: Member, settings: SecureSettings, numSamples: number) => {
  const before = coordinatesOf(GLOBAL)
  const delta = coordinatesOf(member.update).map((value, i) => value - before[i]!)
  return encodeContribution({ delta, numSamples, loss: member.loss, accuracy: 1 - member.loss / 10 }, settings).words
}

/** Each member's steps, one at a time; the clock stands still in between. */
export const stepsOf = (roundId: string, settings: SecureSettings) => ({
  async keys(member: Member): Promise<void> {
    const part = advertise({ roundId, device: member.id, settings })
    await member.device.secure.sendKeys(roundId, part.message)
    member.part = part
  },
  async shares(member: Member): Promise<void> {
    const { roster } = await member.device.secure.state(roundId)
    const part = await dealShares(member.part!, roundId, roster!)
    await member.device.secure.sendShares(roundId, part.message)
    member.part = part
  },
  async masked(member: Member): Promise<void> {
    const { shares } = await member.device.secure.state(roundId)
    const words = contributionOf(member, settings, 1)
    member.part = maskInput(member.part!, roundId, shares!, words)
    await member.device.submit(roundId, new Uint8Array(words.buffer), { numSamples: 1 })
  },
  async unmask(member: Member): Promise<void> {
    const { delivered } = await member.device.secure.state(roundId)
    if (delivered === null) return
    await member.device.secure.sendUnmask(roundId, revealShares(member.part!, roundId, delivered).message)
  },
})

const sumOf = (members: readonly Member[], settings: SecureSettings, samples: readonly number[]) => {
  const sum = new Uint32Array(coordinatesOf(GLOBAL).length + TRAILER)
  for (const [i, member] of members.entries()) addWords(sum, contributionOf(member, settings, samples[i]!))
  const totals = readTotals(sum.subarray(-TRAILER), settings)
  const means = new Float64Array(sum.length - TRAILER)
  decodeMeans(sum.subarray(0, -TRAILER), totals, settings, means)
  return { totals, means }
}

/** Returns the plain fixed-point mean change of these members' updates, in the protocol's order. */
export const meansOf = (members: readonly Member[], settings: SecureSettings): Float64Array =>
  sumOf(
    members,
    settings,
    members.map(() => 1),
  ).means

/** Returns the model after adding the plain fixed-point mean of these members' updates. */
export const plainResult = (members: readonly Member[], settings: SecureSettings, samples = members.map(() => 1)) => {
  const { totals, means } = sumOf(members, settings, samples)
  const values = coordinatesOf(GLOBAL).map((value, i) => value + means[i]!)
  const rounded = (dtype: 'f16' | 'f32', shape: number[], data: number[]) => ({
    name: dtype,
    dtype,
    shape,
    data: encodeElements(data, dtype),
  })
  const file = new Uint8Array(
    writeSafetensors([rounded('f16', [2, 3], values.slice(0, 6)), rounded('f32', [7], values.slice(6))]),
  )
  const { f16, f32 } = tensorsOf(file)
  return { totals, tensors: { 'a.bias': f16, 'b.weight': f32, steps: tensorsOf(GLOBAL).steps } }
}
