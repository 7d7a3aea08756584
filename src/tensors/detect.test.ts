import { expect, it } from 'vitest'
import { fixture, fixtureBytes, fixtureNames } from '../../test/fixtures/weights/open.ts'
import { detectFormat } from './detect.ts'
import { bytesSource } from './sources.ts'
import { writeTorch } from './write-torch.ts'

const detect = (content: string | Uint8Array) =>
  detectFormat(bytesSource(typeof content === 'string' ? Buffer.from(content, 'latin1') : content))

it('knows every fixture by its content, readable or refused', () => {
  const byExtension = { pt: 'torch-zip', npz: 'npz', npy: 'npy', safetensors: 'safetensors', pkl: 'pickle' } as const
  const wrong = fixtureNames().filter((name) => {
    const extension = name.split('.').at(-1) as keyof typeof byExtension
    return detectFormat(fixture(name)) !== (name.includes('legacy') ? 'torch-legacy' : byExtension[extension])
  })
  expect(wrong).toEqual([])
})

it.each([
  ['hdf5', '\x89HDF\r\n\x1a\n\0\0\0\0'],
  ['gguf', 'GGUF\x03\0\0\0'],
  ['pickle', '\x80\x02}q\x00.'],
  ['pickle', '\x80\x03]q\x00.'],
  ['pickle', '\x80\x04\x95\x05\0\0\0\0\0\0\0}\x94.'],
  ['pickle', '\x80\x04K\x01.'],
  ['onnx', '\x08\x08\x12\x07pytorch\x1a\x032.0:\x20\x0a\x10'],
  ['onnx', '\x08\x03B\x04\x0a\0\x10\x09:\x10\x12\x04main'],
  ['safetensors', '\xff\xff\xff\xff\xff\xff\xff\x7f{"weight":{"dtype":"F32","shape"'],
  ['safetensors', '\x02\0\0\0\0\0\0\0{}'],
] as const)('recognises %s in %j', (format, content) => {
  expect(detect(content)).toBe(format)
})

it.each([
  ['nothing at all', ''],
  ['text', 'epoch,loss\n1,0.5\n'],
  ['half a magic number', '\x89HDF\r\n'],
  ['an empty archive', `PK\x05\x06${'\0'.repeat(18)}`],
  ['a protobuf that is no model', '\x08\x08\x12\x07pytorch\x4a\x01a'],
  ['a version beyond any ONNX', '\x08\x7f:\x10\x12\x04main'],
  ['floats that begin like a pickle', '\x80\x02\x80\x3f\x80\x02\x80\x3f'],
])('knows nothing in %s', (_, content) => {
  expect(detect(content)).toBeNull()
})

it('knows a truncated archive by its first member', () => {
  expect(detect(fixtureBytes('net_a.pt').subarray(0, 200))).toBe('torch-zip')
  expect(detect(fixtureBytes('net_a.npz').subarray(0, 200))).toBe('npz')
})

it('knows what it writes itself', () => {
  expect(detect(writeTorch([{ name: 'w', dtype: 'u8', shape: [1], data: new Uint8Array(1) }]))).toBe('torch-zip')
})
