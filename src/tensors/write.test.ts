import { describe, expect, it } from 'vitest'
import { type Case, FRAMEWORK_NAME, fixture, fixtureBytes, fixtureJson } from '../../test/fixtures/weights/open.ts'
import { type TensorData, writePieces } from './container-plan.ts'
import { encodeElements, readTensorBytes, readTensorFloats } from './elements.ts'
import type { WeightFormat } from './formats.ts'
import { layoutOf } from './layout.ts'
import { seal, writeTensorBytes } from './patch.ts'
import { planWeightFile } from './plan-weight-file.ts'
import { readWeights } from './read-weights.ts'
import { bytesSource, copyOf } from './sources.ts'
import { BYTES_OF, type ByteSource, type DType } from './weight-file.ts'
import { writeNpy, writeNpz } from './write-npz.ts'
import { writeRaw } from './write-raw.ts'
import { writeSafetensors } from './write-safetensors.ts'
import { writeTorch } from './write-torch.ts'

const load = (source: ByteSource): TensorData[] =>
  readWeights(source, { rawVector: true }).tensors.map((tensor) => ({
    name: tensor.name,
    dtype: tensor.dtype,
    shape: tensor.shape,
    data: copyOf(readTensorBytes(source, tensor)),
  }))

const byName = (tensors: readonly TensorData[]) => [...tensors].sort((a, b) => (a.name < b.name ? -1 : 1))

const sample: TensorData[] = [
  ...(Object.keys(BYTES_OF) as DType[]).map((dtype) => ({
    name: `größe/${dtype}`,
    dtype,
    shape: [2, 1, 2],
    data: encodeElements([0, 1, 1, 0], dtype),
  })),
  { name: 'scalar', dtype: 'f32', shape: [], data: encodeElements([2.5], 'f32') },
  { name: 'none', dtype: 'f64', shape: [0, 3], data: new Uint8Array(0) },
  { name: '7', dtype: 'u8', shape: [3], data: Uint8Array.of(1, 2, 3) },
]

// Trainers of the SDK return views of an ArrayBuffer, as requests need them: what is written can be returned as it is.
describe.each<[WeightFormat, (tensors: readonly TensorData[]) => Uint8Array<ArrayBuffer>, readonly TensorData[]]>([
  ['safetensors', writeSafetensors, sample],
  ['torch-zip', writeTorch, sample],
  ['npz', writeNpz, sample.filter(({ dtype }) => dtype !== 'bf16')],
  ['npy', ([only]) => writeNpy(only!), [{ ...sample[0]!, name: 'array' }]],
  ['raw', writeRaw, [{ name: 'vector', dtype: 'f32', shape: [2], data: encodeElements([1, 2], 'f32') }]],
])('%s', (format, write, tensors) => {
  it('reads back what was written', () => {
    const source = bytesSource(write(tensors))
    expect(readWeights(source, { rawVector: true }).format).toBe(format)
    expect(byName(load(source))).toEqual(byName(tensors))
  })

  it('writes the same bytes for the same tensors, even from a plan in another order', () => {
    const bytes = write(tensors)
    const plan = planWeightFile(format, tensors)
    const target = bytesSource(new Uint8Array(plan.size))
    for (const tensor of plan.file.tensors.toReversed())
      writeTensorBytes(target, tensor, tensors.find(({ name }) => name === tensor.name)!.data)
    writePieces(target, plan)
    seal(target, plan.file)
    expect(target.read(0, target.size)).toEqual(bytes)
    expect(readWeights(target, { rawVector: true })).toEqual(plan.file)
  })

  it('aligns every tensor to its elements', () => {
    const { tensors: placed } = planWeightFile(format, tensors).file
    const crooked = placed.filter(({ byteOffset, dtype }) => format !== 'npz' && byteOffset % BYTES_OF[dtype] !== 0)
    expect(crooked).toEqual([])
  })
})

it('writes .npy like numpy.save and .safetensors like the safetensors library', () => {
  expect(writeNpy(load(fixture('cases/plain.npy'))[0]!)).toEqual(fixtureBytes('cases/plain.npy'))
  const library = fixture('cases/dtypes.safetensors')
  expect(writeSafetensors(load(library), { made: 'by hand' })).toEqual(library.read(0, library.size))
})

it('converts weights to any container that supports their types', () => {
  const expected = fixtureJson<Record<string, Case>>('cases.json')['views.pt']!
  for (const format of ['safetensors', 'torch-zip', 'torch-legacy', 'npz'] as const) {
    const tensors = load(fixture('cases/views.pt'))
    const plan = planWeightFile(format, layoutOf({ tensors: readWeights(fixture('cases/views.pt')).tensors }))
    const target = bytesSource(new Uint8Array(plan.size))
    writePieces(target, plan)
    for (const tensor of plan.file.tensors)
      writeTensorBytes(target, tensor, tensors.find(({ name }) => name === tensor.name)!.data)
    seal(target, plan.file)
    const seen = load(target).map(({ name, dtype, shape, data }) => [
      name,
      { dtype: FRAMEWORK_NAME[dtype], shape, hex: Buffer.from(data).toString('hex') },
    ])
    expect(Object.fromEntries(seen)).toEqual(expected)
  }
})

it('keeps metadata next to the tensors of a safetensors file', () => {
  const bytes = writeSafetensors([sample[1]!], { round: '3' })
  const length = Number(new DataView(bytes.buffer).getBigUint64(0, true))
  expect(JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)))).toEqual({
    __metadata__: { round: '3' },
    'größe/f32': { dtype: 'F32', shape: [2, 1, 2], data_offsets: [0, 16] },
  })
  expect(length % 8).toBe(0)
})

it('reads the values back as numbers', () => {
  const source = bytesSource(
    writeTorch([{ name: 'w', dtype: 'bf16', shape: [2], data: encodeElements([1.5, -2], 'bf16') }]),
  )
  expect(readTensorFloats(source, readWeights(source, { rawVector: true }).tensors[0]!)).toEqual(
    new Float32Array([1.5, -2]),
  )
})

describe('what cannot be written', () => {
  const w: TensorData = { name: 'w', dtype: 'f32', shape: [1], data: new Uint8Array(4) }
  it.each<[string, () => unknown, string]>([
    ['no tensors', () => writeSafetensors([]), 'There are no tensors to write.'],
    ['two tensors of one name', () => writeTorch([w, w]), 'There are two tensors named "w".'],
    ['data that is too short', () => writeNpz([{ ...w, data: new Uint8Array(3) }]), '"w" takes 4 bytes, not 3'],
    ['bfloat16 in NumPy', () => writeNpz([{ ...w, dtype: 'bf16' }]), '"w" is bf16, which NumPy has no type for'],
    ['a tensor named like the metadata', () => writeSafetensors([{ ...w, name: '__metadata__' }]), 'Rename it'],
    ['two tensors as a raw vector', () => writeRaw([w, { ...w, name: 'v' }]), 'exactly one float32 tensor'],
    ['two tensors as .npy', () => planWeightFile('npy', [w, { ...w, name: 'v' }]), 'exactly one tensor'],
    ['a raw vector of halves', () => planWeightFile('raw', [{ ...w, dtype: 'f16' }]), 'float32 values only'],
    ['an empty raw vector', () => planWeightFile('raw', [{ ...w, shape: [0] }]), 'at least one value'],
    ['a shape that is none', () => writeSafetensors([{ ...w, shape: [-1] }]), 'has a size in its shape'],
  ])('is %s', (_, write, reason) => {
    expect(write).toThrow(expect.objectContaining({ code: 'bad_request', message: expect.stringContaining(reason) }))
  })
})
