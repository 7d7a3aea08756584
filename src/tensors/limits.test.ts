import { deflateRawSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { fixtureBytes } from '../../test/fixtures/weights/open.ts'
import { ByteCursor } from './byte-cursor.ts'
import { inflateMember, inflateStart } from './inflate.ts'
import {
  DEFAULT_LIMITS,
  MAX_DEFLATE_RATIO,
  MAX_DEFLATED_MEMBERS,
  MAX_DIMENSIONS,
  MAX_NAME_CHARACTERS,
  MAX_NESTING,
  MAX_NPY_HEADER,
  MAX_PICKLE_BYTES,
  MAX_PICKLE_DICTS,
  MAX_PICKLE_OPCODES,
  MAX_SAFETENSORS_HEADER,
  MAX_TENSORS,
  MAX_VIEW_FACTOR,
  MAX_VIEW_SLACK,
  MAX_VISITED_VALUES,
  MAX_ZIP_DIRECTORY,
  MAX_ZIP_MEMBERS,
} from './limits.ts'
import { npyHeaderLength } from './npy.ts'
import { readNpz } from './npz.ts'
import { unpickle } from './pickle.ts'
import type { PickleValue } from './pickle-value.ts'
import { readWeights } from './read-weights.ts'
import { requireShape, requireSoundTensors, showName } from './shape.ts'
import { bytesSource, decodeLatin1, viewOf } from './sources.ts'
import { torchHost } from './torch-globals.ts'
import { findWeights } from './torch-weights.ts'
import type { ByteSource, Tensor } from './weight-file.ts'
import { writeNpy } from './write-npz.ts'
import { findDirectory } from './zip-directory.ts'

/** The message that `work` throws; null if it does not throw. */
const messageOf = (work: () => unknown): string | null => {
  try {
    work()
    return null
  } catch (error) {
    return (error as Error).message
  }
}

const run = (code: string | Uint8Array): PickleValue => {
  const source = bytesSource(typeof code === 'string' ? Buffer.from(code, 'latin1') : code)
  return unpickle(new ByteCursor(source, 0, source.size, 'The pickle'), torchHost())
}

describe('a pickle', () => {
  it('may have protocol 5 but not 6', () => {
    expect(run('\x80\x05N.')).toBeNull()
    expect(messageOf(() => run('\x80\x06N.'))).toBe('The pickle is damaged at byte 2: it uses the unknown protocol 6.')
  })

  it('does not count the bytes before its start', () => {
    const far = 3 * 2 ** 23
    const source = bytesSource(Buffer.concat([Buffer.alloc(far), Buffer.from('N.')]))
    expect(unpickle(new ByteCursor(source, far, source.size, 'It'), torchHost())).toBeNull()
  })

  it('may have at most MAX_PICKLE_OPCODES steps', () => {
    expect(run('N'.repeat(MAX_PICKLE_OPCODES - 1).concat('.'))).toBeNull()
    expect(messageOf(() => run('N'.repeat(MAX_PICKLE_OPCODES).concat('.')))).toContain('is too long to read')
  })

  it('may have at most MAX_PICKLE_BYTES bytes', () => {
    const holding = (length: number) => {
      const bytes = new Uint8Array(5 + length + 1)
      bytes[0] = 0x42
      viewOf(bytes).setUint32(1, length, true)
      bytes[5 + length] = 0x2e
      return bytes
    }
    expect(run(holding(MAX_PICKLE_BYTES - 5))).toHaveLength(MAX_PICKLE_BYTES - 5)
    expect(messageOf(() => run(holding(MAX_PICKLE_BYTES - 4)))).toContain('is too long to read')
    expect(messageOf(() => run(holding(MAX_PICKLE_BYTES)))).toContain('is too long to read')
    expect(messageOf(() => run(holding(MAX_PICKLE_BYTES + 1)))).toContain(
      `it contains a value of ${MAX_PICKLE_BYTES + 1} bytes`,
    )
  })

  it('may have at most MAX_PICKLE_DICTS dicts and sets in total', () => {
    expect(run(`${'}0'.repeat(MAX_PICKLE_DICTS - 1)}\x8f.`)).toEqual(new Set())
    expect(messageOf(() => run(`${'}0'.repeat(MAX_PICKLE_DICTS)}\x8f.`))).toContain(
      `contains more than ${MAX_PICKLE_DICTS} dicts or sets`,
    )
    expect(messageOf(() => run(`${'\x8f0'.repeat(MAX_PICKLE_DICTS)}(\x91.`))).toContain('dicts or sets')
  })

  it('may create a limited number of ordered dicts with a limited total of pairs', () => {
    const callable = { kind: 'callable', name: 'collections.OrderedDict' } as const
    const pairs = (count: number): PickleValue => Array.from({ length: count }, () => [1, 2])
    expect(torchHost().call(callable, [pairs(MAX_VISITED_VALUES)])).toEqual(new Map([[1, 2]]))
    expect(messageOf(() => torchHost().call(callable, [pairs(MAX_VISITED_VALUES + 1)]))).toBe(
      'The pickle copies more than any weight file needs.',
    )
    const host = torchHost()
    for (let n = 0; n < MAX_PICKLE_DICTS; n++) host.call(callable, [])
    expect(messageOf(() => host.call(callable, []))).toBe(`The pickle contains more than ${MAX_PICKLE_DICTS} dicts.`)
  })

  it('may have lines of 1,000 bytes and integers of 64 bytes', () => {
    const line = (length: number) => {
      const source = bytesSource(Buffer.from(`${'a'.repeat(length)}\n`))
      return new ByteCursor(source, 0, source.size, 'It').line()
    }
    expect(line(1000)).toHaveLength(1000)
    expect(messageOf(() => line(1001))).toBe('It has a line that never ends, at byte 1001.')
    expect(run(`\x8a\x40\x01${'\0'.repeat(63)}.`)).toBe(1)
    expect(messageOf(() => run(`\x8a\x41\x01${'\0'.repeat(64)}.`))).toContain('a whole number of more than 64 bytes')
  })
})

const TENSOR = {
  kind: 'tensor',
  storage: {
    kind: 'storage',
    key: '0',
    type: { kind: 'type', torchName: 'float32', dtype: 'f32', bytes: 4 },
    elements: 1,
    offset: 0,
  },
  type: { kind: 'type', torchName: 'float32', dtype: 'f32', bytes: 4 },
  offset: 0,
  shape: [1],
  strides: [1],
} as unknown as PickleValue

describe('a checkpoint', () => {
  it('may hold a limited number of values', () => {
    const holding = (plain: number): PickleValue => [...new Array<number>(plain).fill(0), TENSOR]
    expect(findWeights(holding(MAX_VISITED_VALUES - 2))).toHaveLength(1)
    expect(messageOf(() => findWeights(holding(MAX_VISITED_VALUES - 1)))).toContain('more values than any model needs')
  })

  it('may nest to a limited depth', () => {
    const nested = (levels: number): PickleValue => (levels === 0 ? TENSOR : [nested(levels - 1)])
    expect(findWeights(nested(MAX_NESTING))).toHaveLength(1)
    expect(messageOf(() => findWeights(nested(MAX_NESTING + 1)))).toContain(`nests deeper than ${MAX_NESTING} levels`)
  })

  it('may have tensor names of a limited total length', () => {
    const named = (length: number): PickleValue =>
      new Map<PickleValue, PickleValue>([
        ['a'.repeat(length), TENSOR],
        ['b', TENSOR],
      ])
    expect(findWeights(named(MAX_NAME_CHARACTERS))).toHaveLength(2)
    expect(messageOf(() => findWeights(named(MAX_NAME_CHARACTERS + 1)))).toContain('more values than any model needs')
  })
})

const tensor = (name: string, elements = 1): Tensor => ({
  name,
  dtype: 'u8',
  shape: [elements],
  strides: [1],
  byteOffset: 0,
  bigEndian: false,
  deflated: null,
})

describe('a file', () => {
  it('may have a limited number of tensors', () => {
    const many = Array.from({ length: MAX_TENSORS }, (_, n) => tensor(String(n), 0))
    expect(messageOf(() => requireSoundTensors(many, 0))).toBeNull()
    expect(messageOf(() => requireSoundTensors([...many, tensor('x', 0)], 0))).toBe(
      `The file contains ${MAX_TENSORS + 1} tensors; at most ${MAX_TENSORS} are read.`,
    )
  })

  it('must have unique tensor names of a limited total length', () => {
    const half = 'n'.repeat(MAX_NAME_CHARACTERS / 2)
    expect(messageOf(() => requireSoundTensors([tensor(half), tensor(`m${half.slice(1)}`)], 2))).toBeNull()
    expect(messageOf(() => requireSoundTensors([tensor(half), tensor(`m${half}`)], 2))).toBe(
      'The names of the tensors are longer than any model needs.',
    )
    expect(messageOf(() => requireSoundTensors([tensor('a'), tensor('a')], 2))).toBe(
      'The file contains two tensors named "a".',
    )
  })

  it('may claim a limited number of bytes by views, not counting deflated ones', () => {
    const most = MAX_VIEW_FACTOR * 10 + MAX_VIEW_SLACK
    const deflated = { ...tensor('z', 10), deflated: { offset: 0, compressedSize: 1, size: 10 } }
    expect(messageOf(() => requireSoundTensors([tensor('a', most), deflated], 10))).toBeNull()
    expect(messageOf(() => requireSoundTensors([tensor('a', most), tensor('b')], 10))).toBe(
      `The tensors claim ${most + 1} bytes out of a file of 10: too many views share the same storage. ` +
        'Call .contiguous() on expanded tensors before saving.',
    )
  })

  it('may have tensors with a limited number of dimensions and elements', () => {
    const ones = (count: number): number[] => Array.from({ length: count }, () => 1)
    expect(requireShape(ones(MAX_DIMENSIONS), 'w')).toHaveLength(MAX_DIMENSIONS)
    expect(messageOf(() => requireShape(ones(MAX_DIMENSIONS + 1), 'w'))).toContain('at most 64 sizes')
    expect(requireShape([2 ** 50 - 1, 0], 'w')).toEqual([2 ** 50 - 1, 0])
    expect(messageOf(() => requireShape([2 ** 50, 0], 'w'))).toContain('more elements than can be counted')
  })

  it('shows names of up to 120 characters in full and truncates longer ones', () => {
    expect(showName('n'.repeat(120))).toBe(`"${'n'.repeat(120)}"`)
    expect(showName('n'.repeat(121))).toBe(`"${'n'.repeat(117)}..."`)
  })
})

describe('a safetensors header', () => {
  it('may have a limited number of bytes', () => {
    const padded = (length: number): Uint8Array => {
      const bytes = new Uint8Array(8 + length + 4).fill(0x20)
      viewOf(bytes).setBigUint64(0, BigInt(length), true)
      bytes.set(Buffer.from('{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'), 8)
      return bytes
    }
    expect(readWeights(bytesSource(padded(MAX_SAFETENSORS_HEADER))).tensors).toHaveLength(1)
    expect(messageOf(() => readWeights(bytesSource(padded(MAX_SAFETENSORS_HEADER + 1))))).toBe(
      `The safetensors header has ${MAX_SAFETENSORS_HEADER + 1} bytes; at most ${MAX_SAFETENSORS_HEADER} are read.`,
    )
  })

  it('may nest three levels but not four', () => {
    const file = (json: string): Uint8Array => {
      const bytes = new Uint8Array(8 + json.length)
      viewOf(bytes).setBigUint64(0, BigInt(json.length), true)
      bytes.set(Buffer.from(json), 8)
      return bytes
    }
    expect(messageOf(() => readWeights(bytesSource(file('{"__metadata__":{"a":["{[:"]}}'))))).toContain('no tensors')
    expect(messageOf(() => readWeights(bytesSource(file('{"__metadata__":{"a":[[]]}}'))))).toContain('nests or repeats')
  })
})

describe('an .npy header', () => {
  it('may have a limited number of bytes', () => {
    const head = (length: number): Uint8Array => {
      const bytes = Uint8Array.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 2, 0, 0, 0, 0, 0])
      viewOf(bytes).setUint32(8, length, true)
      return bytes
    }
    expect(npyHeaderLength(head(MAX_NPY_HEADER - 12), 'a')).toBe(MAX_NPY_HEADER)
    expect(messageOf(() => npyHeaderLength(head(MAX_NPY_HEADER - 11), 'a'))).toBe(
      `Array "a" has a header of ${MAX_NPY_HEADER + 1} bytes, which is too long.`,
    )
  })
})

describe('a deflated member', () => {
  const content = writeNpy({ name: '', dtype: 'u8', shape: [300], data: new Uint8Array(300).fill(7) })
  const packed = deflateRawSync(content)
  const member = (size: number) => ({ offset: 0, compressedSize: packed.length, size })
  const entry = (n: number, size = content.length, compressedSize = packed.length) =>
    ({ name: `${n}.npy`, method: 'deflated', dataOffset: 0, compressedSize, size, crc: 0, crcOffsets: [] }) as const

  it('must inflate to exactly its declared size', () => {
    expect(inflateMember(bytesSource(packed), member(content.length), 'a')).toEqual(content)
    for (const size of [content.length - 1, content.length + 1, 0])
      expect(messageOf(() => inflateMember(bytesSource(packed), member(size), 'a'))).toBe(
        `Array "a" does not inflate to the ${size} bytes that its archive declares.`,
      )
  })

  it('yields its first bytes: at most as many as requested, declared, or present', () => {
    const start = (length: number, size: number) => inflateStart(bytesSource(packed), member(size), length, 'a')
    expect(start(100, content.length)).toEqual(content.subarray(0, 100))
    expect(start(10_000, 200)).toEqual(content.subarray(0, 200))
    expect(start(10_000, 10_000)).toEqual(content)
    expect(start(0, content.length)).toEqual(new Uint8Array(0))
  })

  it('stops inflating a bomb soon after its declared size', () => {
    const bomb = deflateRawSync(new Uint8Array(32 * 1024 * 1024))
    let read = 0
    const source: ByteSource = {
      size: bomb.length,
      read: (offset, length) => {
        read += length
        return bomb.subarray(offset, offset + length)
      },
    }
    const claimed = { offset: 0, compressedSize: bomb.length, size: 1000 }
    expect(messageOf(() => inflateMember(source, claimed, 'a'))).toContain('does not inflate to the 1000 bytes')
    expect(read).toBe(16 * 1024)
    read = 0
    expect(inflateStart(source, { ...claimed, size: 2 ** 25 }, 256, 'a')).toHaveLength(256)
    expect(read).toBe(512)
  })

  it('may claim a limited multiple of its compressed size', () => {
    const claiming = (size: number) => () => readNpz(bytesSource(packed), [entry(0, size, 10)], DEFAULT_LIMITS)
    expect(messageOf(claiming(10 * MAX_DEFLATE_RATIO))).not.toContain('possible compression ratio')
    expect(messageOf(claiming(10 * MAX_DEFLATE_RATIO + 1))).toContain('which exceeds the possible compression ratio')
  })

  it('may be one of a limited number of members with a limited total size', () => {
    const many = Array.from({ length: MAX_DEFLATED_MEMBERS }, (_, n) => entry(n))
    expect(readNpz(bytesSource(packed), many, DEFAULT_LIMITS).tensors).toHaveLength(MAX_DEFLATED_MEMBERS)
    expect(messageOf(() => readNpz(bytesSource(packed), [...many, entry(-1)], DEFAULT_LIMITS))).toBe(
      `The .npz has ${MAX_DEFLATED_MEMBERS + 1} compressed arrays. Save them uncompressed (numpy.savez).`,
    )
    const both = 2 * content.length
    expect(readNpz(bytesSource(packed), many.slice(0, 2), { maxInflatedBytes: both }).tensors).toHaveLength(2)
    expect(messageOf(() => readNpz(bytesSource(packed), many.slice(0, 2), { maxInflatedBytes: both - 1 }))).toContain(
      `claim to inflate to ${both} bytes; at most ${both - 1} are read`,
    )
  })
})

describe('a zip archive', () => {
  /** Zeros, then zip64 end records for `count` members in a directory of `size` bytes at byte 0. */
  const wide = (count: number, size: number): ByteSource => {
    const tail = new Uint8Array(56 + 20 + 22)
    const view = viewOf(tail)
    view.setUint32(0, 0x06064b50, true)
    view.setBigUint64(32, BigInt(count), true)
    view.setBigUint64(40, BigInt(size), true)
    view.setUint32(56, 0x07064b50, true)
    view.setBigUint64(64, BigInt(size), true)
    view.setUint32(76, 0x06054b50, true)
    return {
      size: size + tail.length,
      read: (offset, length) => {
        const bytes = new Uint8Array(length)
        for (let i = 0; i < length; i++) bytes[i] = tail[offset + i - size] ?? 0
        return bytes
      },
    }
  }

  it('may have a limited number of members and a directory of limited size', () => {
    for (const [count, size] of [
      [MAX_ZIP_MEMBERS, 100_000],
      [1, MAX_ZIP_DIRECTORY],
    ] as const)
      expect(findDirectory(wide(count, size))).toEqual({ count, size, offset: 0 })
    expect(messageOf(() => findDirectory(wide(MAX_ZIP_MEMBERS + 1, 100_000)))).toContain('at most 200000 are read')
    expect(messageOf(() => findDirectory(wide(1, MAX_ZIP_DIRECTORY + 1)))).toContain('at most 200000 are read')
  })

  const end = (comment: number, response = comment): Uint8Array => {
    const bytes = new Uint8Array(22 + comment)
    viewOf(bytes).setUint32(0, 0x06054b50, true)
    viewOf(bytes).setUint16(20, response, true)
    return bytes
  }

  it('must end with its record and a comment of the recorded length', () => {
    const none = { count: 0, size: 0, offset: 0 }
    for (const comment of [0, 1, 0xffff]) expect(findDirectory(bytesSource(end(comment)))).toEqual(none)
    for (const bytes of [end(5, 4), end(5, 6), end(0, 1), end(0).subarray(1), new Uint8Array(30), new Uint8Array(3)])
      expect(messageOf(() => findDirectory(bytesSource(bytes)))).toContain(
        'its directory at the end of the file is missing',
      )
    // A comment that contains a record's signature is ignored unless its length also fits.
    const misleading = end(60)
    misleading.set(end(0, 3), 30)
    expect(findDirectory(bytesSource(misleading))).toEqual(none)
    // The record is not searched for beyond the length of the longest comment.
    const far = new Uint8Array(22 + 0xffff + 1)
    far.set(end(0, 0xffff))
    expect(messageOf(() => findDirectory(bytesSource(far)))).toContain('is missing')
  })

  it('must have its zip64 end record where the locator points', () => {
    const source = wide(1, 0)
    const bytes = source.read(0, source.size)
    viewOf(bytes).setUint32(0, 1, true)
    expect(messageOf(() => findDirectory(bytesSource(bytes)))).toContain('its zip64 end record is missing')
    viewOf(bytes).setBigUint64(64, 50n, true)
    expect(messageOf(() => findDirectory(bytesSource(bytes)))).toContain('the zip64 end record needs bytes 50 to 106')
  })
})

describe('the legacy PyTorch format', () => {
  it('is refused if the file ends before its last storage does', () => {
    const bytes = fixtureBytes('cases/tied_legacy.pt')
    expect(readWeights(bytesSource(bytes)).tensors).not.toHaveLength(0)
    for (const missing of [1, 4, 24])
      expect(messageOf(() => readWeights(bytesSource(bytes.subarray(0, bytes.length - missing))))).toBe(
        `Storage "${storageKey(bytes)}" should have 6 elements; it claims 6, and ${24 - missing} bytes follow. ` +
          'Send the whole file again.',
      )
  })
})

/** The only key in the list of storages, which precedes their element counts. */
const storageKey = (bytes: Uint8Array): string => {
  const text = decodeLatin1(bytes.subarray(0, bytes.length - 32))
  return /(\d+)q.a\.$/.exec(text)![1]!
}
