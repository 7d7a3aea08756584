import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { frameworkPairs, frameworkPath, pairFile } from '../../test/fixtures/frameworks/open.ts'
import { type Case, FRAMEWORK_NAME } from '../../test/fixtures/weights/open.ts'
import { readTensorBytes } from '../tensors/elements.ts'
import { readWeights } from '../tensors/read-weights.ts'
import { bytesSource } from '../tensors/sources.ts'
import { aggregateFiles } from './engine.ts'
import { inspectFile } from './inspect.ts'
import { jobOf, temporaryFolder } from './weight-samples.fixture.ts'

let files = temporaryFolder()
beforeEach(() => {
  files.remove()
  files = temporaryFolder()
})
afterEach(() => files.remove())

const contents = (path: string): Case => {
  const source = bytesSource(readFileSync(path))
  return Object.fromEntries(
    readWeights(source).tensors.map((tensor) => [
      tensor.name,
      {
        dtype: FRAMEWORK_NAME[tensor.dtype],
        shape: [...tensor.shape],
        hex: Buffer.from(readTensorBytes(source, tensor)).toString('hex'),
      },
    ]),
  )
}

const updatesOf = (a: string, b: string) => [
  { id: 'a', path: a, numSamples: 1 },
  { id: 'b', path: b, numSamples: 3 },
]

const aggregate = (a: string, b: string, globalPath: string | null = null) =>
  aggregateFiles(jobOf({ globalPath, updates: updatesOf(a, b), outputPath: files.path('out') }))

describe.each(frameworkPairs())('%s, written by its framework', (name, pair) => {
  it('reads as the framework reads it, bit for bit', () => {
    expect(contents(pairFile(name, 'a'))).toEqual(pair.a)
    expect(contents(pairFile(name, 'b'))).toEqual(pair.b)
  })

  it('gives the mean that was computed elsewhere, in a file of the same length', async () => {
    await aggregate(pairFile(name, 'a'), pairFile(name, 'b'))
    expect(contents(files.path('out'))).toEqual(pair.mean)
    expect(readFileSync(files.path('out')).length).toBe(readFileSync(pairFile(name, 'a')).length)
  })
})

it('combines ONNX models whose integers are written in either way, and refuses another constant', async () => {
  await aggregate(pairFile('raw.onnx', 'b'), pairFile('typed.onnx', 'a'))
  await expect(aggregate(pairFile('raw.onnx', 'a'), frameworkPath('refused_constant.onnx'))).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining(`constant "shape" is another one`),
  })
  const { layout } = await inspectFile(pairFile('raw.onnx', 'a'), { expected: null, rawVectors: 'none' })
  await expect(
    inspectFile(frameworkPath('refused_constant.onnx'), { expected: layout, rawVectors: 'none' }),
  ).rejects.toThrow('constant "shape" is another one')
})

it.each([
  ['refused_external.onnx', 'external_data'],
  ['refused_chunked.h5', 'Dataset "w" is chunked, compressed'],
  ['refused_gzip.h5', 'Dataset "w" is chunked, compressed'],
  ['refused_link.h5', 'Link "w" of the HDF5 file points elsewhere'],
  ['refused_dense.h5', 'dense links'],
])('refuses %s: %s', (name, message) => {
  expect(() => readWeights(bytesSource(readFileSync(frameworkPath(name))))).toThrow(message)
})
