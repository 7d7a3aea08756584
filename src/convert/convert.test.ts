import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deflateSync, gzipSync } from 'node:zlib'
import { expect, it, onTestFinished } from 'vitest'
import { frameworkPath } from '../../test/fixtures/frameworks/open.ts'
import { detectFormat } from '../tensors/detect.ts'
import { readWeights } from '../tensors/read-weights.ts'
import { bytesSource } from '../tensors/sources.ts'
import { writeSafetensors } from '../tensors/write-safetensors.ts'
import { convertModel } from './convert.ts'
import { torchToOnnx } from './from-torch/torch-to-onnx.ts'
import { graphBuilder } from './onnx/graph-builder.ts'
import { readOnnx } from './onnx/read-onnx.ts'
import { tensorOf } from './onnx/tensors.ts'
import { writeOnnx } from './onnx/write-onnx.ts'
import { runConversion } from './run-conversion.ts'

const linear = (shape: (number | string)[] = ['batch', 2]) => {
  const graph = graphBuilder('linear')
  const x = graph.input('x', 'f32', shape)
  const weight = graph.constant('weight', tensorOf('f32', [2, 3], [1, 2, 3, 4, 5, 6]))
  graph.output('y', graph.node('MatMul', [x, weight]), 'f32', ['batch', 3])
  return graph.build()
}

const fileOf = async (bytes: Uint8Array): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'convert-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const path = join(folder, 'model')
  await writeFile(path, bytes)
  return path
}

it('a joblib file is converted regardless of its name, even if compressed by joblib', () => {
  const bytes = readFileSync(frameworkPath('logistic_a.joblib'))
  const results = [bytes, deflateSync(bytes), gzipSync(bytes)].map((file) => {
    const source = bytesSource(file)
    expect(detectFormat(source)).toBe('joblib')
    return convertModel(source, { fileName: 'model', formats: ['onnx'] }).files[0]!.bytes
  })
  expect(results[1]).toEqual(results[0])
  expect(results[2]).toEqual(results[0])
  expect(() => readWeights(bytesSource(deflateSync(bytes)))).toThrow('is compressed, so no result can be written')
  expect(() =>
    convertModel(bytesSource(deflateSync(bytes).subarray(0, 300)), { fileName: 'm', formats: ['onnx'] }),
  ).toThrow('The compressed joblib file is damaged')
})

it('a model is converted in a thread and described', async () => {
  const steps: string[] = []
  const path = await fileOf(writeOnnx(linear()))
  const job = { path, fileName: 'linear.onnx', formats: ['onnx', 'onnx'] }
  const { files, ...conversion } = await runConversion(job, { onStep: (step) => steps.push(step) })
  expect(conversion).toEqual({
    source: 'onnx',
    parameters: 6,
    operators: { MatMul: 1, Identity: 1 },
    inputs: [{ name: 'x', type: 'f32', shape: ['batch', 2] }],
    outputs: [{ name: 'y', type: 'f32', shape: ['batch', 3] }],
    inputShape: null,
    notes: [],
    refused: [],
  })
  expect(files).toEqual([{ format: 'onnx', fileName: 'linear.onnx', bytes: expect.any(Uint8Array), notes: [] }])
  expect(readOnnx(files[0]!.bytes)).toEqual(linear())
  expect(steps).toEqual(['reading linear.onnx', 'converting to ONNX'])
})

it('the ONNX model that results are compared with is not a step, and an ONNX file is its own', async () => {
  const steps: string[] = []
  const keras = {
    path: 'test/fixtures/from-keras/cnn.keras',
    fileName: 'cnn.keras',
    formats: ['tflite'],
    reference: true,
  }
  const { files, reference } = await runConversion(keras, { onStep: (step) => steps.push(step) })
  expect(steps).toEqual(['reading cnn.keras', 'converting to TensorFlow Lite'])
  expect(files.map(({ format }) => format)).toEqual(['tflite'])
  expect(readOnnx(reference!).graph.inputs).toHaveLength(1)
  const source = bytesSource(writeOnnx(linear()))
  const request = { fileName: 'linear.onnx', formats: ['tflite'], reference: true }
  const architecture = { source, fileName: 'other.onnx' }
  for (const given of [request, { ...request, architecture }])
    expect(convertModel(source, given)).not.toHaveProperty('reference')
})

it('images of open size are assumed to be 224 by 224', () => {
  const shapeOf = (shape: (number | string)[]) =>
    convertModel(bytesSource(writeOnnx(linear(shape))), { fileName: 'm', formats: ['onnx'] }).inputShape
  expect(shapeOf(['batch', 3, 'height', 'width'])).toEqual([1, 3, 224, 224])
  expect(shapeOf(['batch', 3, 32, 32])).toBeNull()
  expect(shapeOf(['batch', 1, 28, 28])).toBeNull()
})

it.each([
  ['text', 'notes.txt', 'notes.txt is text, which is not a model that can be converted.'],
  ['{"a": 1}', 'notes.json', 'notes.json is JSON text'],
  ['', 'net.onnx', 'net.onnx is empty.'],
])('%s is refused, naming what can be converted', (content, fileName, message) => {
  const source = bytesSource(new TextEncoder().encode(content))
  expect(() => convertModel(source, { fileName, formats: ['onnx'] })).toThrow(message)
})

it('an unknown target does not prevent other conversions', () => {
  const source = bytesSource(writeOnnx(linear()))
  const { files, refused } = convertModel(source, { fileName: 'm', formats: ['jax', 'onnx', 'tflite'] })
  expect(files.map(({ fileName }) => fileName)).toEqual(['m.onnx', 'm.tflite'])
  expect(refused).toEqual([{ format: 'jax', reason: expect.stringContaining("not to 'jax'") }])
})

it('weights without a graph are refused, naming what they need', async () => {
  const source = bytesSource(await readFile('test/fixtures/weights/net_a.pt'))
  expect(() => convertModel(source, { fileName: 'net.pt', formats: ['onnx'] })).toThrow(
    'net.pt is a PyTorch .pt file, which has weights but not the graph of the model.',
  )
  const architecture = { source, fileName: 'other.pt' }
  expect(() => convertModel(source, { fileName: 'net.pt', formats: ['onnx'], architecture })).toThrow(
    'other.pt is not an architecture',
  )
})

it.each([
  ['protocol0.pkl', 'a pickle of protocol 0 or 1. Save the model with protocol 2 or higher'],
  ['protocol1.pkl', 'a pickle of protocol 0 or 1.'],
  ['protocol0.joblib', 'a pickle of protocol 0 or 1.'],
  ['protocol1.joblib', 'a pickle of protocol 0 or 1.'],
  [
    'bz2.joblib',
    'compressed with bz2. Save the model with zlib instead: joblib.dump(model, path, compress=("zlib", 3)).',
  ],
  ['lzma.joblib', 'compressed with lzma.'],
  ['xz.joblib', 'compressed with xz.'],
])('%s is refused with how to save it', (fileName, message) => {
  const source = bytesSource(readFileSync(`test/fixtures/sklearn/unreadable/${fileName}`))
  expect(() => convertModel(source, { fileName, formats: ['onnx'] })).toThrow(`${fileName} is ${message}`)
})

it('an ONNX architecture keeps no statistics of a module whose weights are replaced', () => {
  const { model } = torchToOnnx(bytesSource(readFileSync('test/fixtures/from-torch/tied.pt2')))
  const architecture = { source: bytesSource(writeOnnx(model)), fileName: 'tied.onnx' }
  const convertWith = (names: readonly string[]) => {
    const tensors = names.map((name) => ({ name, dtype: 'f32' as const, shape: [3], data: new Uint8Array(12) }))
    const source = bytesSource(writeSafetensors(tensors))
    return convertModel(source, { fileName: 'weights.safetensors', formats: ['onnx'], architecture })
  }
  expect(() => convertWith(['n.weight', 'n.bias'])).toThrow(
    "The weights include other tensors of the same module, but not 'n.running_mean'",
  )
  expect(convertWith(['n.weight', 'n.bias', 'n.running_mean', 'n.running_var']).notes).toEqual([
    "2 constants keep the values of the architecture's file: they are not in the weights.",
  ])
})

it('a note says that an architecture was not used if the model has its own graph', () => {
  const source = bytesSource(writeOnnx(linear()))
  const architecture = { source, fileName: 'other.onnx' }
  expect(convertModel(source, { fileName: 'm.onnx', formats: ['onnx'], architecture }).notes).toEqual([
    'other.onnx was not used: m.onnx has a graph of its own, which was converted.',
  ])
})

it('a model without outputs is refused', () => {
  const model = linear()
  const source = bytesSource(writeOnnx({ ...model, graph: { ...model.graph, outputs: [] } }))
  expect(() => convertModel(source, { fileName: 'm.onnx', formats: ['coreml'] })).toThrow('m.onnx has no outputs')
})

it('damaged models are refused and cause no other errors', () => {
  const whole = writeOnnx(linear())
  let random = 1
  for (let round = 0; round < 300; round++) {
    const bytes = whole.slice()
    for (let hit = 0; hit < 3; hit++) {
      random = (Math.imul(random, 1103515245) + 12345) >>> 0
      bytes[random % bytes.length] = random >>> 24
    }
    try {
      convertModel(bytesSource(bytes), { fileName: 'm', formats: ['onnx'] })
    } catch (error) {
      expect(error).toMatchObject({ code: 'bad_request' })
    }
  }
})

it('a conversion is ended by its time limit and by its caller', async () => {
  const path = await fileOf(writeOnnx(linear()))
  const job = { path, fileName: 'linear.onnx', formats: ['onnx'] }
  await expect(runConversion(job, { timeoutMs: 0 })).rejects.toThrow('takes longer than 0 s')
  const stop = new AbortController()
  const running = runConversion(job, { signal: stop.signal })
  stop.abort(new Error('not needed any more'))
  await expect(running).rejects.toThrow('not needed any more')
  await expect(runConversion(job, { signal: stop.signal })).rejects.toThrow('not needed any more')
})
