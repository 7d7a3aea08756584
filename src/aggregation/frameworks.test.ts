import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { frameworkPairs, frameworkPath, pairFile } from '../../test/fixtures/frameworks/open.ts'
import { type Case, FRAMEWORK_NAME } from '../../test/fixtures/weights/open.ts'
import { strategySettings } from '../domain/strategy-settings.ts'
import { readTensorBytes } from '../tensors/elements.ts'
import { readWeights } from '../tensors/read-weights.ts'
import { bytesSource } from '../tensors/sources.ts'
import { aggregateFiles } from './aggregate-files.ts'
import { inspectFile } from './inspect.ts'
import { jobOf, temporaryFolder } from './weight-samples.fixture.ts'

let files: ReturnType<typeof temporaryFolder>
beforeEach(() => {
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

const numbersOf = ({ dtype, hex }: Case[string]) => {
  const { buffer, byteOffset, byteLength } = Buffer.copyBytesFrom(Buffer.from(hex, 'hex'))
  const numbers = buffer.slice(byteOffset, byteOffset + byteLength)
  return [...(dtype === 'int64' ? new BigInt64Array(numbers) : new Float64Array(numbers))].map(Number)
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

  it('yields an independently computed mean in a file of the same length', async () => {
    await aggregate(pairFile(name, 'a'), pairFile(name, 'b'), pairFile(name, 'a'))
    const found = contents(files.path('out'))
    if (pair.close) {
      expect(Object.keys(found).sort()).toEqual(Object.keys(pair.mean).sort())
      for (const [key, value] of Object.entries(pair.mean))
        for (const [i, number] of numbersOf(found[key]!).entries())
          expect(number, `${key} ${i}`).toBeCloseTo(numbersOf(value)[i]!, 11)
    } else expect(found).toEqual(pair.mean)
    expect(readFileSync(files.path('out')).length).toBe(readFileSync(pairFile(name, 'a')).length)
  })
})

it('combines ONNX models with both integer encodings and refuses a different constant', async () => {
  await aggregate(pairFile('raw.onnx', 'b'), pairFile('typed.onnx', 'a'))
  await expect(aggregate(pairFile('raw.onnx', 'a'), frameworkPath('refused_constant.onnx'))).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining(`constant "shape" is different`),
  })
  const { layout } = await inspectFile(pairFile('raw.onnx', 'a'), { expected: null, rawVectors: 'none' })
  await expect(
    inspectFile(frameworkPath('refused_constant.onnx'), { expected: layout, rawVectors: 'none' }),
  ).rejects.toThrow('constant "shape" is different')
})

it.each([
  ['refused_external.onnx', 'external_data'],
  ['refused_chunked.h5', 'Dataset "w" is chunked, compressed'],
  ['refused_gzip.h5', 'Dataset "w" is chunked, compressed'],
  ['refused_link.h5', 'Link "w" of the HDF5 file points elsewhere'],
  ['refused_dense.h5', 'dense links'],
  ['refused_protocol2.pkl', '"coef_" was pickled with protocol 2'],
  ['old_refused_protocol2.pkl', '"coef_" was pickled with protocol 2'],
  ['refused_forest.pkl', 'strategy xgb_bagging or xgb_cyclic'],
  ['old_refused_forest.pkl', 'strategy xgb_bagging or xgb_cyclic'],
  ['refused_int.pkl', '"n_samples_seen_" is a Python number'],
])('refuses %s: %s', (name, message) => {
  expect(() => readWeights(bytesSource(readFileSync(frameworkPath(name))))).toThrow(message)
})

it('refuses SGD that averages its own steps, because it does not continue from coef_', () => {
  const bytes = readFileSync(frameworkPath('sgd_a.joblib'))
  bytes[bytes.indexOf('average') + 'average'.length + 1] = 0x88 // False becomes True
  expect(() => readWeights(bytesSource(bytes))).toThrow(
    'SGDClassifier with the option average cannot be averaged: it continues from other arrays than coef_',
  )
})

it('labels Keras results with the format that Keras opens them as', async () => {
  const formatOfResult = async (name: string) => (await aggregate(pairFile(name, 'a'), pairFile(name, 'b'))).format
  expect(await formatOfResult('weights.h5')).toBe('keras-weights')
  expect(await formatOfResult('whole.h5')).toBe('hdf5')
  expect(await formatOfResult('earliest.h5')).toBe('hdf5')
})

it('refuses classifiers with other classes', async () => {
  await expect(aggregate(pairFile('logistic.pkl', 'a'), frameworkPath('refused_classes.pkl'))).rejects.toThrow(
    'constant "classes_" is different',
  )
})

it('averages cluster centers only if all devices began with the same ones', async () => {
  await expect(aggregate(pairFile('kmeans.joblib', 'a'), pairFile('kmeans.joblib', 'b'))).rejects.toThrow(
    'KMeans(init=',
  )
})

it('merges statistics only with a plain-mean strategy', async () => {
  const updates = updatesOf(pairFile('standard.pkl', 'a'), pairFile('standard.pkl', 'b'))
  const job = jobOf({
    globalPath: null,
    updates,
    outputPath: files.path('out'),
    strategy: strategySettings('fedmedian'),
  })
  await expect(aggregateFiles(job)).rejects.toThrow(
    "Strategy 'fedmedian' cannot do that: use fedavg, fedprox, or ditto",
  )
})

it('averages pickle and joblib files of one model with each other, also with another strategy', async () => {
  const updates = updatesOf(pairFile('sgd.joblib', 'a'), pairFile('old_sgd.joblib', 'b'))
  await aggregateFiles(
    jobOf({ globalPath: null, updates, outputPath: files.path('out'), strategy: strategySettings('fedmedian') }),
  )
  expect(Object.keys(contents(files.path('out')))).toEqual(['coef_', 'intercept_'])
})

it('refuses statistics that merge to values beyond the range of floats, and leaves nothing behind', async () => {
  const [a, b] = [1, -1].map((sign) => {
    const bytes = new Uint8Array(readFileSync(pairFile('standard.pkl', 'a')))
    const mean = readWeights(bytesSource(bytes)).tensors.find(({ name }) => name === 'mean_')!
    new DataView(bytes.buffer).setFloat64(mean.byteOffset, sign * 1e308, true)
    return files.write(`extreme${sign}.pkl`, bytes)
  })
  await expect(aggregate(a!, b!)).rejects.toThrow(
    "The statistics 'standard_scaler' of the updates merge to NaN or infinity",
  )
  expect(() => readFileSync(files.path('out'))).toThrow('ENOENT')
})
