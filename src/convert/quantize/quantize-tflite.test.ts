import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { graphBuilder } from '../onnx/graph-builder.ts'
import { readOnnx } from '../onnx/read-onnx.ts'
import { tensorOf } from '../onnx/tensors.ts'
import { onnxToTflite } from '../to-tflite/onnx-to-tflite.ts'
import { quantizeTflite, TFLITE_METHODS, type TfliteMethod } from './quantize-tflite.ts'

interface Values {
  readonly shape: readonly number[]
  readonly data: readonly number[]
}
interface Recorded {
  readonly inputs: Readonly<Record<string, Values>>
  readonly onnx: Readonly<Record<string, Values>>
  readonly quantized: Readonly<Record<string, { outputs: Readonly<Record<string, Values>>; sha256: string }>>
}

const tflite = async (name: string) => {
  const folder = 'test/fixtures/tflite'
  const recorded: Recorded = JSON.parse(await readFile(`${folder}/${name}.json`, 'utf8'))
  const inputShape = Object.fromEntries(Object.entries(recorded.inputs).map(([key, { shape }]) => [key, shape]))
  return { recorded, bytes: onnxToTflite(readOnnx(await readFile(`${folder}/${name}.onnx`)), { inputShape }).bytes }
}

const cosine = (a: readonly number[], b: readonly number[]): number => {
  const dot = (x: readonly number[], y: readonly number[]) => x.reduce((sum, value, at) => sum + value * y[at]!, 0)
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))
}

it.each(['image', 'text'])(
  "%s: quantized models are smaller, and the interpreter's outputs are nearly the same",
  async (name) => {
    const { recorded, bytes } = await tflite(name)
    for (const method of TFLITE_METHODS) {
      const smaller = quantizeTflite(bytes, method).bytes
      expect(smaller.length).toBeLessThan(bytes.length)
      const { outputs, sha256 } = recorded.quantized[method]!
      const changed = `run test/fixtures/tflite/interpret.ts: ${name} as ${method} is not what the interpreter ran`
      expect(createHash('sha256').update(smaller).digest('hex'), changed).toBe(sha256)
      for (const [output, { data }] of Object.entries(recorded.onnx)) {
        expect(cosine(data, outputs[output]!.data)).toBeGreaterThan(0.9999)
      }
    }
  },
)

it('trees keep their thresholds, so a forest has nothing to quantize', async () => {
  const { bytes } = await tflite('forest')
  expect(() => quantizeTflite(bytes, 'int8')).toThrow(
    'The TFLite model: it has no float32 weights of 256 numbers or more',
  )
})

it('other methods and other files are refused', async () => {
  const { bytes } = await tflite('text')
  expect(() => quantizeTflite(bytes, 'int4' as TfliteMethod)).toThrow(
    'TFLite models do not support int4; use int8, dynamic, float16. For int4, quantize the ONNX model.',
  )
  expect(() => quantizeTflite(quantizeTflite(bytes, 'int8').bytes, 'float16')).toThrow('it has no float32 weights')
  expect(() => quantizeTflite(bytes.subarray(0, 900), 'int8')).toThrow('The file is')
})

it('non-finite weights are refused, and float16 leaves weights unchanged that it cannot represent', () => {
  const layer = (factor: number, first = 1) => {
    const graph = graphBuilder('layer')
    const weights = Array.from({ length: 1024 }, (_, at) => (at === 0 ? first : factor * Math.sin(at)))
    const weight = graph.constant('w', tensorOf('f32', [32, 32], weights))
    graph.output('y', graph.node('MatMul', [graph.input('x', 'f32', [1, 32]), weight]), 'f32', [1, 32])
    return onnxToTflite(graph.build()).bytes
  }
  for (const method of TFLITE_METHODS) {
    for (const first of [Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => quantizeTflite(layer(1, first), method)).toThrow('is NaN or infinite somewhere')
    }
  }
  expect(() => quantizeTflite(layer(1e-30, 0), 'float16')).toThrow('it has no float32 weights')
})
