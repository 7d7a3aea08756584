import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  type Case,
  FRAMEWORK_NAME,
  fixture,
  fixtureBytes,
  fixtureJson,
  fixtureNames,
} from '../../test/fixtures/weights/open.ts'
import { ServiceError } from '../domain/errors.ts'
import { READABLE } from './detect.ts'
import { readTensorBytes, readTensorFloats } from './elements.ts'
import { type ReadOptions, readWeights } from './read-weights.ts'
import { bytesSource } from './sources.ts'
import type { ByteSource } from './weight-file.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

const contents = (source: ByteSource): Case =>
  Object.fromEntries(
    readWeights(source).tensors.map((tensor) => [
      tensor.name,
      {
        dtype: FRAMEWORK_NAME[tensor.dtype],
        shape: [...tensor.shape],
        hex: hex(readTensorBytes(source, tensor)),
      },
    ]),
  )

const refusal = (source: ByteSource, options: ReadOptions = {}): string => {
  try {
    readWeights(source, options)
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'bad_request') return error.message
    throw error
  }
  return 'was read'
}

describe('files written by PyTorch, NumPy, and safetensors', () => {
  it.each(Object.entries(fixtureJson<Record<string, Case>>('cases.json')))(
    '%s reads as the framework wrote it, bit for bit',
    (name, expected) => {
      expect(contents(fixture(`cases/${name}`))).toEqual(expected)
    },
  )

  it('reads the same weights from .pt, .npz, and .safetensors files of one network', () => {
    for (const net of ['net_a', 'net_b', 'net_c']) {
      const pt = contents(fixture(`${net}.pt`))
      expect(contents(fixture(`${net}.npz`))).toEqual(pt)
      expect(contents(fixture(`${net}.safetensors`))).toEqual(pt)
      expect(Object.keys(pt)).toHaveLength(9)
    }
  })

  it('yields an independently computed weighted mean', () => {
    const { num_samples: samples, weighted_mean: expected } = fixtureJson<{
      num_samples: number[]
      weighted_mean: Record<string, unknown>
    }>('net_expected.json')
    const total = samples.reduce((sum, count) => sum + count, 0)
    const sums: Record<string, number[]> = {}
    for (const [index, net] of ['net_a', 'net_b', 'net_c'].entries()) {
      const source = fixture(`${net}.pt`)
      for (const tensor of readWeights(source).tensors)
        for (const [i, value] of readTensorFloats(source, tensor).entries()) {
          const sum = (sums[tensor.name] ??= [])
          sum[i] = (sum[i] ?? 0) + (value * samples[index]!) / total
        }
    }
    expect(Object.keys(sums)).toEqual(Object.keys(expected))
    for (const [name, values] of Object.entries(expected)) {
      const flat = [values].flat(4) as number[]
      const got = name === 'bn.num_batches_tracked' ? sums[name]!.map(Math.round) : sums[name]!
      expect(got).toHaveLength(flat.length)
      for (const [i, value] of flat.entries()) expect(got[i]).toBeCloseTo(value, 6)
    }
  })

  it('reads bfloat16 and legacy weights that agree with the float32 network', () => {
    const floats = (name: string): Record<string, number[]> => {
      const source = fixture(name)
      return Object.fromEntries(
        readWeights(source).tensors.map((tensor) => [tensor.name, [...readTensorFloats(source, tensor)]]),
      )
    }
    const exact = floats('net_a.pt')
    expect(floats('net_legacy.pt')).toEqual(exact)
    const rounded = floats('net_bf16.pt')
    expect(Object.keys(rounded)).toEqual(Object.keys(exact))
    for (const [name, values] of Object.entries(exact))
      for (const [i, value] of values.entries())
        expect(Math.abs(rounded[name]![i]! - value)).toBeLessThanOrEqual(Math.abs(value) / 256)
  })

  it('reports the container and the members whose checksums cover tensors', () => {
    const shapeOf = (name: string) => {
      const { format, members } = readWeights(fixture(name))
      return { format, members: members.map((member) => `${member.name} ${member.crcOffsets.length}`) }
    }
    expect(shapeOf('cases/tied.pt')).toEqual({ format: 'torch-zip', members: ['tied/data/0 2'] })
    expect(shapeOf('cases/tied_legacy.pt')).toEqual({ format: 'torch-legacy', members: [] })
    expect(shapeOf('cases/streamed.npz')).toEqual({ format: 'npz', members: ['a.npy 2', 'b.npy 2'] })
    expect(shapeOf('cases/order.npz').members[0]).toEqual('fortran.npy 2')
    expect(shapeOf('cases/deflated.npz').members).toEqual([])
    expect(shapeOf('cases/plain.npy')).toEqual({ format: 'npy', members: [] })
    expect(shapeOf('cases/dtypes.safetensors')).toEqual({ format: 'safetensors', members: [] })
  })
})

describe('files that are refused', () => {
  it.each([
    ['evil.pt', '"posix.system"'],
    ['evil.pkl', '"posix.system"'],
    ['net_truncated.pt', 'truncated'],
    ['cases/refused_module.pt', '"torch.nn.modules.container.Sequential"'],
    ['cases/refused_module_legacy.pt', 'save the weights alone with torch.save(model.state_dict(), path)'],
    ['cases/refused_script.pt', '"__torch__.torch.nn.modules.linear.Linear"'],
    ['cases/refused_complex.pt', '"spectrum" has elements of type torch.complex64'],
    ['cases/refused_float8.pt', '"tiny" has elements of type torch.float8_e4m3fn'],
    ['cases/refused_float8.safetensors', '"tiny" has elements of type "F8_E5M2"'],
    ['cases/refused_quantized.pt', '"q" is a quantized tensor'],
    ['cases/refused_sparse.pt', '"s" is a sparse tensor'],
    ['cases/refused_negated.pt', '"n" is a lazily negated'],
    ['cases/refused_meta.pt', '"m" is a tensor on the meta device'],
    ['cases/refused_numpy.pt', '"a" is a NumPy array'],
    ['cases/refused_nothing.pt', 'contains no tensors'],
    ['cases/refused_expanded.pt', 'claim 4000000000 bytes out of a file of'],
    ['cases/refused_sliding.pt', '"windows" claims 1002000 bytes of elements from a storage of 4000'],
    ['cases/refused_objects.npz', '"a" contains pickled Python objects'],
    ['cases/refused_text.npz', '"label" contains elements of type <U5'],
    ['cases/refused_complex.npz', '"a" contains elements of type <c16'],
    ['cases/refused_struct.npz', '"a" has a header that cannot be read'],
    ['cases/refused_pickle.pkl', 'does not contain an estimator of scikit-learn'],
  ])('%s: %s', (name, reason) => {
    expect(refusal(fixture(name))).toContain(reason)
  })

  it('refuses every fixture listed above', () => {
    const readable = fixtureNames().filter((name) => refusal(fixture(name)) === 'was read')
    expect(readable.filter((name) => /evil|truncated|refused/.test(name))).toEqual([])
    expect(fixtureNames().filter((name) => /refused/.test(name))).toHaveLength(19)
  })

  it('runs no code from a file: evil.pt would leave EVIL_RAN behind', () => {
    expect(refusal(fixture('evil.pt'))).toBe(
      'The file asks to run "posix.system" when it is opened. That is not part of a weight file and was not run. ' +
        'Save the weights alone with torch.save(model.state_dict(), path).',
    )
    expect(existsSync('EVIL_RAN')).toBe(false)
  })

  it.each([
    ['a GGUF file', 'GGUF\x03\0\0\0 and more'],
    ['a zip archive, but neither a PyTorch file nor a .npz', `PK\x05\x06${'\0'.repeat(18)}`],
  ])('says that %s cannot be aggregated, and which formats can', (title, content) => {
    const message = refusal(bytesSource(Buffer.from(content, 'latin1')))
    expect(message).toContain(`The file is ${title}`)
    expect(message).toContain(READABLE)
  })

  it.each(['net_a.pt', 'net_a.npz', 'net_a.safetensors', 'net_legacy.pt', 'cases/deflated.npz', 'cases/matrix.npy'])(
    '%s truncated anywhere after its first bytes is refused',
    (name) => {
      const bytes = fixtureBytes(name)
      const read: number[] = []
      for (let length = 40; length < bytes.length; length += length % 64 === 0 ? 1 : 3)
        if (refusal(bytesSource(bytes.subarray(0, length))) === 'was read') read.push(length)
      expect(read).toEqual([])
    },
  )
})

describe('bytes that are not a container', () => {
  it('are a float32 vector if declared as one and their length is a multiple of 4', () => {
    const source = bytesSource(new Uint8Array(new Float32Array([1.5, -2, 3]).buffer))
    const file = readWeights(source, { rawVector: true })
    expect(file).toEqual({
      format: 'raw',
      tensors: [
        { name: 'vector', dtype: 'f32', shape: [3], strides: [1], byteOffset: 0, bigEndian: false, deflated: null },
      ],
      members: [],
    })
    expect(readTensorFloats(source, file.tensors[0]!)).toEqual(new Float32Array([1.5, -2, 3]))
  })

  it('are refused if not declared', () => {
    expect(refusal(bytesSource(new Uint8Array(8)))).toBe(`The file is unknown binary content. ${READABLE}`)
    expect(READABLE).toMatch(
      /^Weights can be aggregated from (\.[\w.]+, )+\.\w+ and raw little-endian float32 \(\.f32\)\.$/,
    )
  })

  it('are refused if empty or of another length', () => {
    expect(refusal(bytesSource(new Uint8Array(0)))).toBe('The file is empty. Send the weights of the model.')
    expect(refusal(bytesSource(new Uint8Array(6)), { rawVector: true })).toContain(
      'its 6 bytes are not a float32 vector',
    )
  })

  it('are never mistaken for a container if they are weights', () => {
    // New vectors contain zeros, ones, and small normal numbers.
    for (const value of [0, 1, -1, 0.02, 1e-8])
      expect(
        readWeights(bytesSource(new Uint8Array(new Float32Array(64).fill(value).buffer)), { rawVector: true }).format,
      ).toBe('raw')
  })
})

it('passes disk failures through unchanged', () => {
  const failure = Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO', syscall: 'read' })
  const source: ByteSource = {
    size: 100,
    read: () => {
      throw failure
    },
  }
  expect(() => readWeights(source)).toThrow(failure)
})
