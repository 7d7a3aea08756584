import { describe, expect, it } from 'vitest'
import { fixtureBytes } from '../../test/fixtures/weights/open.ts'
import { readTensorFloats } from './elements.ts'
import { readWeights } from './read-weights.ts'
import { bytesSource, decodeLatin1, viewOf } from './sources.ts'
import { readZip } from './zip.ts'
import { type PlannedMember, planZip } from './zip-plan.ts'

const refused = (reason: string) =>
  expect.objectContaining({ code: 'bad_request', message: expect.stringContaining(reason) })

const ascii = (text: string): Uint8Array => Uint8Array.from(text, (char) => char.charCodeAt(0))

/** {'w': a float32 tensor over storage '0' of `elements`}, with the given offset, shape, and strides (one digit each). */
const pickle = (elements: number, offset: number, shape: number[], strides: number[]): Uint8Array => {
  const tuple = (values: number[]) => `(${values.map((value) => `K${String.fromCharCode(value)}`).join('')}t`
  return ascii(
    '}X\x01\0\0\0wctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpu' +
      `K${String.fromCharCode(elements)}tQK${String.fromCharCode(offset)}${tuple(shape)}${tuple(strides)}` +
      '\x89ccollections\nOrderedDict\n)RtRs.',
  )
}

const floats = (count: number): Uint8Array =>
  new Uint8Array(Float32Array.from({ length: count }, (_, i) => i + 0.5).buffer)

const archive = (members: Readonly<Record<string, Uint8Array>>): Uint8Array => {
  const planned = Object.entries(members).map(([name, start]): PlannedMember => ({ name, start, tail: 0, align: 1 }))
  const plan = planZip(planned)
  const bytes = new Uint8Array(plan.size)
  for (const piece of plan.pieces) bytes.set(piece.bytes, piece.offset)
  return bytes
}

const values = (bytes: Uint8Array): number[] => {
  const source = bytesSource(bytes)
  return [...readTensorFloats(source, readWeights(source).tensors[0]!)]
}

describe('the zip format', () => {
  it('reads a tensor through its storage, offset, and strides', () => {
    const data = floats(9)
    expect(values(archive({ 'm/data.pkl': pickle(9, 1, [2, 3], [1, 3]), 'm/data/0': data }))).toEqual([
      1.5, 4.5, 7.5, 2.5, 5.5, 8.5,
    ])
  })

  it('reads files from big-endian machines and refuses an unknown byte order', () => {
    const data = floats(2)
    const members = { 'm/data.pkl': pickle(2, 0, [2], [1]), 'm/data/0': data }
    expect(values(archive({ ...members, 'm/byteorder': ascii('little') }))).toEqual([0.5, 1.5])
    const swapped = Uint8Array.of(...data.subarray(0, 4).toReversed(), ...data.subarray(4).toReversed())
    expect(values(archive({ ...members, 'm/data/0': swapped, 'm/byteorder': ascii('big') }))).toEqual([0.5, 1.5])
    expect(() => values(archive({ ...members, 'm/byteorder': ascii('pdp') }))).toThrow(refused('byte order: "pdp"'))
  })

  it.each<[string, Readonly<Record<string, Uint8Array>>, string]>([
    ['a storage that is missing', { 'm/data.pkl': pickle(2, 0, [2], [1]) }, '"w" has no data in the file'],
    [
      'a storage shorter than declared',
      { 'm/data.pkl': pickle(9, 0, [2], [1]), 'm/data/0': floats(8) },
      '"w" has a storage of 36 bytes, but the file contains only 32',
    ],
    [
      'a view that reaches beyond its storage',
      { 'm/data.pkl': pickle(6, 1, [2, 3], [3, 1]), 'm/data/0': floats(6) },
      '"w" of shape [2, 3] reaches byte 28 of a storage that has only 24',
    ],
    [
      'an expanded view that begins beyond its storage',
      { 'm/data.pkl': pickle(2, 9, [5], [0]), 'm/data/0': floats(2) },
      '"w" of shape [5] reaches byte 40 of a storage that has only 8',
    ],
    [
      'strides that do not fit the shape',
      { 'm/data.pkl': pickle(6, 0, [2, 3], [1]), 'm/data/0': floats(6) },
      'invalid strides or an invalid offset for [2, 3]',
    ],
    ['no pickle', { 'm/data/0': floats(6), 'm/x.npy': floats(6) }, 'Member "m/data/0" of this .npz is not an array'],
  ])('refuses %s', (_, members, reason) => {
    expect(() => values(archive(members))).toThrow(refused(reason))
  })

  it('refuses a compressed storage, which torch never writes', () => {
    const bytes = archive({ 'm/data.pkl': pickle(2, 0, [2], [1]), 'm/data/0': floats(2) })
    const [, storage] = readZip(bytesSource(bytes))
    const [central, local] = storage!.crcOffsets
    viewOf(bytes).setUint16(central! - 6, 8, true)
    viewOf(bytes).setUint16(local! - 6, 8, true)
    expect(() => values(bytes)).toThrow(refused('Member "m/data/0" of the PyTorch file is compressed'))
  })
})

describe('the legacy format', () => {
  const file = () => {
    const bytes = fixtureBytes('cases/tied_legacy.pt')
    // The only storage ends the file: a count, then 6 floats.
    return { bytes, count: bytes.length - 6 * 4 - 8 }
  }

  it('is refused if a storage claims another length than its tensors', () => {
    for (const claimed of [5, 7, 2 ** 40]) {
      const { bytes, count } = file()
      viewOf(bytes).setBigUint64(count, BigInt(claimed), true)
      expect(() => readWeights(bytesSource(bytes))).toThrow(refused(`should have 6 elements; it claims ${claimed}`))
    }
  })

  it('is refused if no list of storages follows the weights', () => {
    const { bytes, count } = file()
    const text = decodeLatin1(bytes.subarray(0, count))
    const list = text.lastIndexOf('\x80\x02]q')
    const head = bytes.subarray(0, list)
    expect(() => readWeights(bytesSource(new Uint8Array([...head, 0x80, 2, 0x4e, 0x2e])))).toThrow(
      refused('has no list of storages after its pickle'),
    )
  })

  it('is refused if bytes follow the last storage', () => {
    const { bytes } = file()
    expect(() => readWeights(bytesSource(new Uint8Array([...bytes, 0, 0, 0])))).toThrow(
      refused('has 3 bytes after its last storage'),
    )
  })

  it('is refused if its list of storages names an unknown one', () => {
    const { bytes, count } = file()
    // The key's last digit precedes its BINPUT, the end of the list, and the STOP.
    const text = decodeLatin1(bytes.subarray(0, count))
    const at = text.lastIndexOf('q\x01a.') - 1
    expect(text.slice(at + 1)).toBe('q\x01a.')
    bytes[at] = bytes[at]! === 0x30 ? 0x31 : 0x30
    expect(() => readWeights(bytesSource(bytes))).toThrow(refused('which is not used by a tensor or is listed twice'))
  })

  it('is refused if its version does not exist', () => {
    const { bytes } = file()
    const at = bytes.indexOf(0x4d)
    expect([...bytes.subarray(at, at + 4)]).toEqual([0x4d, 0xe9, 0x03, 0x2e])
    bytes[at + 1] = 0xea
    expect(() => readWeights(bytesSource(bytes))).toThrow(refused('is of an unknown version'))
  })
})
