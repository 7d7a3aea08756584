import { readFileSync } from 'node:fs'
import { zipSync } from 'fflate'
import { expect, it } from 'vitest'
import { fixture, fixtureBytes, fixtureNames } from '../../test/fixtures/weights/open.ts'
import { detectFormat } from './detect.ts'
import { bytesSource } from './sources.ts'
import { writeTorch } from './write-torch.ts'

const detect = (content: string | Uint8Array) =>
  detectFormat(bytesSource(typeof content === 'string' ? Buffer.from(content, 'latin1') : content))

it('recognizes every fixture by its content, readable or refused', () => {
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
  ['pickle', '\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f}\x94.'],
  ['tflite', '\x1c\0\0\0TFL3\x14\0\x20\0'],
  ['xgboost-json', '{"learner":{"attributes":{},"feature_names":[]},"version":[2,1,1]}'],
  ['xgboost-json', '{ "version": [3,0,0], "learner" : {'],
  ['xgboost-ubj', '{L\0\0\0\0\0\0\0\x07learner{L\0\0\0\0\0\0\0\x0aattributes{'],
  ['xgboost-ubj', '{i\x07learner{'],
  ['json', '{"w":[1,2]}'],
  ['json', '[0.5, 1]'],
  ['json', '{}'],
  ['csv', 'epoch,loss\n1,0.5\n'],
  ['csv', '5.0,5.0,5.0,5.0,'],
  ['csv', 'a;b\r\n1;2\r\n3;4\r\n5'],
  ['text', 'the weights'],
  ['text', 'why?who!'],
  ['text', 'Dear all,\nhere are the weights, as promised, and more.\nYours'],
  ['text', '\xff\xfeh\0e\0l\0l\0o\0'],
  ['text', 'gr\xf6\xdfer als gestern'],
  ['text', 'gr\xc3\xb6\xc3\x9fer'],
  ['gzip', '\x1f\x8b\x08\0\0\0\0\0'],
  ['png', '\x89PNG\r\n\x1a\n\0\0\0\rIHDR'],
  ['jpeg', '\xff\xd8\xff\xe0\0\x10JFIF'],
  ['gif', 'GIF89a\x01\0\x01\0'],
  ['zip', `PK\x05\x06${'\0'.repeat(18)}`],
] as const)('recognizes %s in %j', (format, content) => {
  expect(detect(content)).toBe(format)
})

it.each([
  ['nothing at all', ''],
  ['a protobuf', '\x0a\x02ab\x12\x01\0'],
  ['a protobuf that is no model', '\x08\x08\x12\x07pytorch\x4a\x01a'],
  ['a version beyond any ONNX', '\x08\x7f:\x10\x12\x04main'],
  ['floats that are letters, such as 0.9 and 0.7', 'fff?333?'],
  ['floats that begin like a pickle', '\x80\x02\x80\x3f\x80\x02\x80\x3f'],
])('recognizes nothing in %s', (_, content) => {
  expect(detect(content)).toBeNull()
})

it('recognizes a truncated archive by its first member', () => {
  expect(detect(fixtureBytes('net_a.pt').subarray(0, 200))).toBe('torch-zip')
  expect(detect(fixtureBytes('net_a.npz').subarray(0, 200))).toBe('npz')
})

it('never fails on archives that end within their first member or have no members', () => {
  expect(detect('PK\x03\x04')).toBe('zip')
  for (const length of [5, 27, 28, 29, 30]) expect(detect(fixtureBytes('net_a.npz').subarray(0, length))).toBe('zip')
  // Without a member, the bytes at the position of a first member's name are not a name.
  expect(detect(`PK\x05\x06${'\0'.repeat(22)}\x05\0\0\0a.npy\0`)).toBe('zip')
})

it('requires both signatures of the legacy PyTorch format', () => {
  const magic = '\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.'
  expect(detect(`\x80\x02${magic}`)).toBe('torch-legacy')
  expect(detect(`\x80\x04\x95\x0d\0\0\0\0\0\0\0${magic}`)).toBe('torch-legacy')
  expect(detect(`\x81\x02${magic}`)).toBeNull()
  expect(detect(`\x80\x02\x8a\x0a${magic}`)).not.toBe('torch-legacy')
})

it('recognizes a file that it wrote itself', () => {
  expect(detect(writeTorch([{ name: 'w', dtype: 'u8', shape: [1], data: new Uint8Array(1) }]))).toBe('torch-zip')
})

it('recognizes a Keras archive by its members', () => {
  const members = { 'config.json': new Uint8Array(2), 'model.weights.h5': new Uint8Array(8) }
  expect(detect(zipSync(members))).toBe('keras')
  expect(detect(zipSync({ 'readme.txt': new Uint8Array(2) }))).toBe('zip')
})

it('recognizes exported PyTorch programs of old and new versions', () => {
  const folder = new URL('../../test/fixtures/from-torch/', import.meta.url)
  for (const name of ['cnn.pt2', 'cnn-old.pt2']) {
    expect(detect(new Uint8Array(readFileSync(new URL(name, folder))))).toBe('torch-program')
  }
})

it('does not mistake other archives with a folder of models for exported PyTorch programs', () => {
  expect(detect(zipSync({ 'models/model.json': new Uint8Array(2), 'models/shard1.bin': new Uint8Array(2) }))).toBe(
    'zip',
  )
})

it('recognizes an archive by its directory, without reading its members', () => {
  const names = [...Array.from({ length: 1000 }, (_, n) => `netz/gewicht-ä-${n}`), 'netz/data.pkl']
  const source = bytesSource(zipSync(Object.fromEntries(names.map((name) => [name, new Uint8Array(1)])), { level: 0 }))
  const reads: number[] = []
  const counted = {
    ...source,
    size: source.size,
    read: (offset: number, length: number) => {
      reads.push(offset)
      return source.read(offset, length)
    },
  }
  expect(detectFormat(counted)).toBe('torch-zip')
  expect(reads.length).toBeLessThan(10)
})

it('never mistakes a vector of trained weights for another format', () => {
  let state = 1
  const random = () => (state = (Math.imul(state, 48271) >>> 0) % 2147483647) / 2147483647 - 0.5
  const found = Array.from({ length: 2000 }, (_, n) => {
    const values = Float32Array.from({ length: 8 + (n % 60) }, () => random() * 10 ** ((n % 9) - 6))
    return detect(new Uint8Array(values.buffer))
  })
  expect(found.filter((name) => name !== null)).toEqual([])
})
