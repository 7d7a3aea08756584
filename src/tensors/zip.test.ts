import { closeSync, ftruncateSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { fixture, fixtureBytes } from '../../test/fixtures/weights/open.ts'
import { writePieces } from './container-plan.ts'
import { readTensorBytes } from './elements.ts'
import { readWeights } from './read-weights.ts'
import { bytesSource, viewOf } from './sources.ts'
import type { ByteTarget } from './weight-file.ts'
import { planNpz, writeNpy, writeNpz } from './write-npz.ts'
import { readZip } from './zip.ts'
import { type PlannedMember, planZip } from './zip-plan.ts'

const ones = { dtype: 'f32', shape: [2], data: new Uint8Array(new Float32Array([1, 1]).buffer) } as const
const refused = (reason: string) =>
  expect.objectContaining({ code: 'bad_request', message: expect.stringContaining(reason) })

/** The offset of the directory, from the archive's last fields. */
const directoryOf = (bytes: Uint8Array): number => viewOf(bytes).getUint32(bytes.length - 6, true)

const twoArrays = (): Uint8Array =>
  writeNpz([
    { name: 'a', ...ones },
    { name: 'b', ...ones },
  ])

const archive = (...planned: PlannedMember[]): Uint8Array => {
  const plan = planZip(planned)
  const bytes = new Uint8Array(plan.size)
  for (const piece of plan.pieces) bytes.set(piece.bytes, piece.offset)
  return bytes
}

/** A .npz with one member that is marked as deflated, with declared size `size`. */
const deflatedNpz = (content: Uint8Array, size: number): Uint8Array => {
  const bytes = archive({ name: 'a.npy', start: deflateRawSync(content), tail: 0, align: 1 })
  const view = viewOf(bytes)
  const at = directoryOf(bytes)
  view.setUint16(8, 8, true)
  view.setUint16(at + 10, 8, true)
  view.setUint32(at + 24, size, true)
  return bytes
}

it('lists members with the positions of their data and checksums', () => {
  const bytes = twoArrays()
  const entries = readZip(bytesSource(bytes))
  expect(entries.map(({ name, method, size, compressedSize }) => ({ name, method, size, compressedSize }))).toEqual([
    { name: 'a.npy', method: 'stored', size: 136, compressedSize: 136 },
    { name: 'b.npy', method: 'stored', size: 136, compressedSize: 136 },
  ])
  for (const { crc, crcOffsets } of entries)
    expect(crcOffsets.map((offset) => viewOf(bytes).getUint32(offset, true))).toEqual([crc, crc])
})

it('finds the checksum in the descriptor after streamed data', () => {
  for (const name of ['net_a.pt', 'cases/streamed.npz']) {
    const source = fixture(name)
    for (const { crc, crcOffsets } of readZip(source)) {
      expect(crcOffsets).toHaveLength(2)
      expect(crcOffsets.map((offset) => viewOf(source.read(offset, 4)).getUint32(0, true))).toEqual([crc, crc])
    }
  }
})

it.each<[string, (bytes: Uint8Array, view: DataView, directory: number) => void, string]>([
  ['an encrypted member', (_, view, at) => view.setUint16(at + 8, 1, true), 'is encrypted'],
  ['an unknown compression', (_, view, at) => view.setUint16(at + 10, 14, true), 'is compressed with method 14'],
  ['a checksum that differs', (_, view, at) => view.setUint32(at + 16, 1, true), 'two different checksums'],
  ['sizes that differ', (_, view, at) => view.setUint32(at + 24, 1, true), 'two different sizes'],
  ['a method that differs', (_, view) => view.setUint16(8, 8, true), 'two different compression methods'],
  ['a header that lies elsewhere', (_, view, at) => view.setUint32(at + 42, 3, true), 'not where the directory says'],
  ['a name that differs', (bytes) => bytes.set([0x63], 30), 'not where the directory says'],
  ['a member beyond the file', (_, view, at) => view.setUint32(at + 42, 1e6, true), 'needs bytes 1000000 to'],
  ['a miscounted directory', (bytes, view) => view.setUint16(bytes.length - 12, 3, true), 'the members it counts'],
  ['a misplaced directory', (bytes, view) => view.setUint32(bytes.length - 6, 5, true), 'is not where the end record'],
  ['a broken record', (bytes, _, at) => bytes.set([0], at), 'a directory record is broken'],
])('refuses %s', (_, damage, reason) => {
  const bytes = twoArrays()
  damage(bytes, viewOf(bytes), directoryOf(bytes))
  expect(() => readZip(bytesSource(bytes))).toThrow(refused(reason))
})

it('refuses two members with the same name and members that share bytes', () => {
  const member = { name: 'a.npy', start: writeNpy({ name: '', ...ones }), tail: 0, align: 1 }
  expect(() => readZip(bytesSource(archive(member, member)))).toThrow(refused('two members have the same name'))
  const bytes = twoArrays()
  // The first member grows into the second one.
  const at = directoryOf(bytes)
  viewOf(bytes).setUint32(at + 20, 200, true)
  viewOf(bytes).setUint32(at + 24, 200, true)
  expect(() => readZip(bytesSource(bytes))).toThrow(refused('two members overlap'))
})

it('accepts or refuses deflated arrays by what they declare', () => {
  const content = writeNpy({ name: '', dtype: 'u8', shape: [20_000], data: new Uint8Array(20_000) })
  const honest = bytesSource(deflatedNpz(content, content.length))
  expect(readTensorBytes(honest, readWeights(honest).tensors[0]!)).toEqual(new Uint8Array(20_000))

  const bomb = deflatedNpz(content, 2 ** 31 - 2 ** 20)
  expect(() => readWeights(bytesSource(bomb))).toThrow(refused('which exceeds the possible compression ratio'))
  expect(() => readWeights(honest, { limits: { maxInflatedBytes: 1000 } })).toThrow(
    refused('claim to inflate to 20128 bytes; at most 1000 are read'),
  )
  const wrong = deflatedNpz(content, content.length - 1)
  expect(() => readWeights(bytesSource(wrong))).toThrow(refused('"a" is truncated: its header promises 20128 bytes'))
})

it('refuses a deflated array that inflates to another size than it declares', () => {
  const content = writeNpy({ name: '', dtype: 'u8', shape: [5000], data: new Uint8Array(5000) })
  for (const actual of [content.subarray(0, 4000), new Uint8Array([...content, ...new Uint8Array(99_999)])]) {
    const source = bytesSource(deflatedNpz(actual, content.length))
    const [tensor] = readWeights(source).tensors
    expect(() => readTensorBytes(source, tensor!)).toThrow(refused('"a" does not inflate to the 5128 bytes'))
  }
})

it('refuses damaged deflated bytes', () => {
  const bytes = fixtureBytes('cases/deflated.npz')
  const noise = readZip(bytesSource(bytes)).find(({ name }) => name === 'noise.npy')!
  bytes.fill(0xff, noise.dataOffset + 100, noise.dataOffset + noise.compressedSize)
  expect(() => readWeights(bytesSource(bytes))).toThrow(refused('"noise" cannot be inflated'))
})

it('plans and reads archives beyond 4 GiB as zip64', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tensors-'))
  try {
    const shape = [2 ** 30 + 7]
    const plan = planNpz([
      { name: 'large', dtype: 'f64', shape },
      { name: 'behind', dtype: 'i8', shape: [3] },
    ])
    const fd = openSync(join(folder, 'sparse.npz'), 'w+')
    const target: ByteTarget = {
      size: plan.size,
      read: (offset, length) => {
        const bytes = new Uint8Array(length)
        readSync(fd, bytes, 0, length, offset)
        return bytes
      },
      write: (offset, bytes) => void writeSync(fd, bytes, 0, bytes.length, offset),
    }
    ftruncateSync(fd, plan.size)
    writePieces(target, plan)
    expect(plan.size).toBeGreaterThan(2 ** 33)
    expect(readWeights(target)).toEqual({ format: 'npz', ...plan.file })
    closeSync(fd)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
