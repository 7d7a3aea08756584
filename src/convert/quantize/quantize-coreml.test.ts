import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { ServiceError } from '../../domain/errors.ts'
import { decodeElements } from '../../tensors/elements.ts'
import { mutationsOf } from '../mutations.fixture.ts'
import { graphBuilder } from '../onnx/graph-builder.ts'
import { int } from '../onnx/model.ts'
import { readOnnx } from '../onnx/read-onnx.ts'
import { tensorOf } from '../onnx/tensors.ts'
import { decodeMessage } from '../protobuf/message.ts'
import { onnxToCoreml } from '../to-coreml/onnx-to-coreml.ts'
import { coremlModel } from '../to-coreml/schema.ts'
import { type CoremlMethod, quantizeCoreml } from './quantize-coreml.ts'

const words = async (): Promise<Uint8Array> =>
  onnxToCoreml(readOnnx(await readFile(new URL('../../../test/fixtures/coreml/words.onnx', import.meta.url)))).bytes

/** A dense layer with 8 rows of 64 weights, each row on a different scale. */
const dense = (factor = 1): { bytes: Uint8Array; weights: readonly number[] } => {
  const weights = Array.from({ length: 512 }, (_, at) => factor * Math.sin(at * 0.7) * (1 + (at >> 6)))
  const graph = graphBuilder('dense')
  const x = graph.input('x', 'f32', [1, 64])
  const layer = graph.constant('w', tensorOf('f32', [8, 64], weights))
  graph.output('y', graph.node('Gemm', [x, layer], { transB: int(1) }), 'f32', [1, 8])
  return { bytes: onnxToCoreml(graph.build()).bytes, weights }
}

interface Weights {
  readonly float16Value?: Uint8Array
  readonly rawValue?: Uint8Array
  readonly quantization?: {
    readonly numberOfBits: number
    readonly linearQuantization: { readonly scale: number[]; readonly bias: number[] }
  }
}

const weightsIn = (bytes: Uint8Array): Weights => {
  const { layers } = decodeMessage(coremlModel, bytes).neuralNetwork as {
    layers: { innerProduct?: { weights: Weights } }[]
  }
  return layers.find(({ innerProduct }) => innerProduct !== undefined)!.innerProduct!.weights
}

it('float16 halves the weights', () => {
  const { bytes, weights } = dense()
  const half = weightsIn(quantizeCoreml(bytes, 'float16').bytes).float16Value!
  expect(half.length).toBe(weights.length * 2)
  for (const [at, value] of decodeElements(half, 'f16').entries()) expect(value).toBeCloseTo(weights[at]!, 2)
})

it.each([
  ['int8', 8],
  ['int4', 4],
] as const)('%s has a scale per row, and weights are restored within half a step', (method, bits) => {
  const { bytes, weights } = dense()
  const { rawValue, quantization } = weightsIn(quantizeCoreml(bytes, method).bytes)
  expect([rawValue!.length, quantization!.numberOfBits]).toEqual([(512 * bits) / 8, bits])
  const { scale, bias } = quantization!.linearQuantization
  expect([scale.length, bias.length]).toEqual([8, 8])
  for (const [at, weight] of weights.entries()) {
    const byte = rawValue![(at * bits) >> 3]!
    const value = bits === 8 ? byte : (at & 1) === 0 ? byte >> 4 : byte & 15
    expect(Math.abs(value * scale[at >> 6]! + bias[at >> 6]! - weight)).toBeLessThan(scale[at >> 6]! * 0.501)
  }
})

it('float16 does not make weights zero or infinite', () => {
  for (const factor of [1e-12, 1e6]) {
    expect(() => quantizeCoreml(dense(factor).bytes, 'float16')).toThrow('no neural network with float32 weights')
  }
})

it('a model with only small weights is refused', async () => {
  expect(() => quantizeCoreml(new Uint8Array([8, 4]), 'int8')).toThrow(
    'no neural network with float32 weights of 1 kB or more',
  )
})

it('other files and unknown methods are refused', async () => {
  expect(() => quantizeCoreml(new Uint8Array([8, 1]), 'int8')).toThrow('not a Core ML model of specification version 3')
  expect(() => quantizeCoreml(new Uint8Array([255]), 'int8')).toThrow(ServiceError)
  expect(() => quantizeCoreml(new Uint8Array(0), 'dynamic' as CoremlMethod)).toThrow(
    'Core ML models do not support dynamic; use int8, int4',
  )
})

it('damaged files are quantized or refused and cause no other errors', async () => {
  for (const damaged of mutationsOf(await words(), 80)) {
    try {
      quantizeCoreml(damaged, 'int4')
    } catch (error) {
      expect(error).toBeInstanceOf(ServiceError)
    }
  }
})
