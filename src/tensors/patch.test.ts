import { crc32 as zlibCrc32 } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { fixture, fixtureBytes } from '../../test/fixtures/weights/open.ts'
import { crc32 } from './crc32.ts'
import { decodeElements, encodeElements, readTensorBytes } from './elements.ts'
import { canPatch, seal, writeTensorBytes } from './patch.ts'
import { readWeights } from './read-weights.ts'
import { bytesSource } from './sources.ts'
import type { ByteTarget, Tensor, TensorPlaces } from './weight-file.ts'
import { writeNpz } from './write-npz.ts'
import { readZip } from './zip.ts'

const DATA = { dtype: 'f32', shape: [2], data: encodeElements([1, 2], 'f32') } as const

const doubled = (source: ByteTarget, tensor: Tensor): Uint8Array => {
  const values = decodeElements(readTensorBytes(source, tensor), tensor.dtype)
  return encodeElements(
    values.map((value) => (tensor.dtype === 'bool' ? 1 - value : value * 2)),
    tensor.dtype,
  )
}

const contents = (source: ByteTarget, file: TensorPlaces): Record<string, string> =>
  Object.fromEntries(
    file.tensors.map((tensor) => [tensor.name, Buffer.from(readTensorBytes(source, tensor)).toString('hex')]),
  )

const patchable = [
  'net_a.pt',
  'net_legacy.pt',
  'net_bf16.pt',
  'net_a.npz',
  'net_a.safetensors',
  'cases/views.pt',
  'cases/views_legacy.pt',
  'cases/tied.pt',
  'cases/tied_legacy.pt',
  'cases/dtypes.pt',
  'cases/dtypes.safetensors',
  'cases/order.npz',
  'cases/streamed.npz',
  'cases/matrix.npy',
  'cases/checkpoint.pt',
  'cases/empty.pt',
]

it.each(patchable)('%s accepts new values in place and reads back with them, with correct checksums', (name) => {
  const target = fixture(name)
  const file = readWeights(target)
  expect(canPatch(file)).toBe(true)
  const values = new Map(file.tensors.map((tensor) => [tensor.name, doubled(target, tensor)]))
  for (const tensor of file.tensors) writeTensorBytes(target, tensor, values.get(tensor.name)!)
  seal(target, file)

  expect(readWeights(target)).toEqual(file)
  expect(contents(target, file)).toEqual(
    Object.fromEntries([...values].map(([key, bytes]) => [key, Buffer.from(bytes).toString('hex')])),
  )
  if (file.format === 'torch-zip' || file.format === 'npz')
    for (const { dataOffset, size, crc } of readZip(target)) expect(zlibCrc32(target.read(dataOffset, size))).toBe(crc)
})

it('writes only the bytes of the tensors and of their checksums', () => {
  const before = fixtureBytes('cases/checkpoint.pt')
  const after = fixtureBytes('cases/checkpoint.pt')
  const target = bytesSource(after)
  const file = readWeights(target)
  for (const tensor of file.tensors) writeTensorBytes(target, tensor, doubled(target, tensor))
  seal(target, file)
  const allowed = new Uint8Array(before.length)
  for (const { dataOffset, size, crcOffsets } of file.members) {
    allowed.fill(1, dataOffset, dataOffset + size)
    for (const offset of crcOffsets) allowed.fill(1, offset, offset + 4)
  }
  const strays = [...before.keys()].filter((at) => before[at] !== after[at] && allowed[at] === 0)
  expect(strays).toEqual([])
  expect(file.members).toHaveLength(7)
})

it('leaves the bytes between the elements of a strided tensor unchanged', () => {
  const bytes = encodeElements([0, 1, 2, 3, 4, 5], 'i16')
  const tensor: Tensor = {
    name: 't',
    dtype: 'i16',
    shape: [3],
    strides: [2],
    byteOffset: 2,
    bigEndian: false,
    deflated: null,
  }
  writeTensorBytes(bytesSource(bytes), tensor, encodeElements([-1, -3, -5], 'i16'))
  expect([...decodeElements(bytes, 'i16')]).toEqual([0, -1, 2, -3, 4, -5])
})

describe('what cannot be patched', () => {
  it('includes compressed or expanded tensors and tensors that share bytes', () => {
    for (const name of ['cases/deflated.npz', 'cases/expanded.pt']) {
      const target = fixture(name)
      const file = readWeights(target)
      expect(canPatch(file)).toBe(false)
      expect(() => writeTensorBytes(target, file.tensors[0]!, readTensorBytes(target, file.tensors[0]!))).toThrow(
        'is compressed or an expanded view; it cannot be written in place',
      )
    }
    const base = { dtype: 'f32', bigEndian: false, deflated: null } as const
    const file = (...views: [number, number[], number[]][]): TensorPlaces => ({
      tensors: views.map(([byteOffset, shape, strides], i) => ({ ...base, name: `${i}`, byteOffset, shape, strides })),
      members: [],
    })
    expect(canPatch(file([0, [4], [1]], [16, [4], [1]]))).toBe(true)
    expect(canPatch(file([0, [4], [1]], [12, [4], [1]]))).toBe(false)
    expect(canPatch(file([0, [4], [1]], [0, [4], [1]]))).toBe(true)
    expect(canPatch(file([0, [4], [1]], [0, [2, 2], [2, 1]]))).toBe(false)
    expect(canPatch(file([0, [2, 3], [1, 2]], [0, [0], [1]]))).toBe(true)
    expect(canPatch(file([0, [3, 2], [1, 1]]))).toBe(false)
    expect(canPatch(file([0, [2, 2, 2], [1, 2, 3]]))).toBe(false)
    expect(canPatch(file([0, [2, 1, 3], [3, 0, 1]]))).toBe(true)
  })

  it('includes data of the wrong length', () => {
    const target = fixture('net_a.pt')
    expect(() => writeTensorBytes(target, readWeights(target).tensors[0]!, new Uint8Array(4))).toThrow(
      'Tensor "conv.weight" takes 144 bytes, not 4.',
    )
  })
})

it('produces the same checksums with an injected CRC-32, which it calls in chunks', () => {
  const data = encodeElements(
    Float32Array.from({ length: 700_000 }, (_, i) => i % 977),
    'f32',
  )
  const own = writeNpz([{ ...DATA, name: 'a', shape: [700_000], data }])
  const target = bytesSource(new Uint8Array(own))
  const file = readWeights(target)
  for (const offset of file.members[0]!.crcOffsets) target.write(offset, new Uint8Array(4))
  const lengths: number[] = []
  seal(target, file, (bytes, seed) => {
    lengths.push(bytes.length)
    return zlibCrc32(bytes, seed)
  })
  expect(Buffer.from(target.read(0, target.size)).equals(own)).toBe(true)
  expect(lengths).toEqual([1_048_576, 1_048_576, 700_000 * 4 + 128 - 2 * 1_048_576])
})

it('computes the same CRC-32 as zlib for all lengths and in parts', () => {
  const bytes = Uint8Array.from({ length: 300 }, (_, i) => (i * 151 + 7) & 0xff)
  for (let length = 0; length <= bytes.length; length++) {
    const part = bytes.subarray(0, length)
    expect(crc32(part, 0)).toBe(zlibCrc32(part))
    expect(crc32(bytes.subarray(length), crc32(part, 0))).toBe(zlibCrc32(bytes))
  }
  expect(crc32(new TextEncoder().encode('123456789'), 0)).toBe(0xcbf43926)
})
