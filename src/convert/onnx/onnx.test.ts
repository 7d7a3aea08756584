import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { decodeMessage, encodeMessage } from '../protobuf/message.ts'
import { graphBuilder } from './graph-builder.ts'
import { attributeOf, float, int, type OnnxModel, type OnnxNode } from './model.ts'
import { readOnnx } from './read-onnx.ts'
import { modelProto } from './schema.ts'
import { numbersOf, scalarOf, tensorOf } from './tensors.ts'
import { writeOnnx } from './write-onnx.ts'

const linear = () => {
  const graph = graphBuilder('linear', { made: 'by a test' })
  const x = graph.input('x', 'f32', ['batch', 2])
  const weight = graph.constant('weight', tensorOf('f32', [2, 3], [1, 2, 3, 4, 5, 6]))
  const bias = graph.constant('weight', tensorOf('f16', [3], [0.5, -0.5, 65504]))
  const y = graph.node('Gemm', [x, weight, bias], { alpha: float(0.5), transB: int(0) })
  graph.output('y', y, 'f32', ['batch', 3])
  return graph.build()
}

it('a model is read back as it was written', () => {
  const model = linear()
  expect(readOnnx(writeOnnx(model))).toEqual(model)
  const [gemm, identity] = model.graph.nodes
  expect(gemm!.inputs).toEqual(['x', 'weight', 'weight_1'])
  expect(identity).toMatchObject({ type: 'Identity', inputs: ['gemm'], outputs: ['y'] })
  expect(attributeOf(gemm!, 'alpha', 'float', 1)).toBe(0.5)
  expect(attributeOf(gemm!, 'beta', 'float', 1)).toBe(1)
  expect(() => attributeOf(gemm!, 'alpha', 'int', 1)).toThrow(
    "Gemm 'gemm': the attribute 'alpha' is of kind float, not int.",
  )
  expect([...numbersOf(model.graph.initializers.get('weight_1')!)]).toEqual([0.5, -0.5, 65504])
})

it('64-bit integers keep their sign and size, and 4-bit ones share bytes', () => {
  const huge = [2 ** 63, -1, -(2 ** 63)]
  const graph = graphBuilder('numbers')
  graph.constant('ends', tensorOf('i64', [3], huge))
  graph.constant('four', { type: 'i4', shape: [3], data: Uint8Array.of(0x7f, 0x08) })
  graph.constant('scalar', scalarOf('i64', 3))
  const { initializers } = readOnnx(writeOnnx(graph.build())).graph
  expect([...numbersOf(initializers.get('ends')!)]).toEqual(huge)
  expect([...numbersOf(initializers.get('four')!)]).toEqual([-1, 7, -8])
  expect(initializers.get('scalar')!.shape).toEqual([])
})

/** A model as text, which is compared much faster than millions of bytes one by one. */
const asText = (model: OnnxModel): string =>
  JSON.stringify(model, (_, value) => {
    if (value instanceof Map) return [...value]
    if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
    if (typeof value === 'bigint') return `${value}n`
    return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value
  })

const FIXTURES = ['examples/model.onnx', 'test/fixtures/models/tiny-bert/onnx/model.onnx']

it.each([...FIXTURES, 'test/fixtures/models/tiny-whisper/onnx/decoder_model_merged.onnx'])(
  '%s is read and written without differences',
  async (path) => {
    const model = readOnnx(new Uint8Array(await readFile(path)))
    expect(model.graph.nodes.length).toBeGreaterThan(0)
    expect(asText(readOnnx(writeOnnx(model)))).toBe(asText(model))
  },
)

it('content that is not a model is refused with the reason', () => {
  expect(() => readOnnx(new TextEncoder().encode('no model at all'))).toThrow(/./)
  expect(() => readOnnx(new Uint8Array(0))).toThrow('Not an ONNX model')
  const bytes = writeOnnx(linear())
  for (let length = 1; length < bytes.length; length += 7) {
    try {
      readOnnx(bytes.subarray(0, length))
    } catch (error) {
      expect(error).toMatchObject({ code: 'bad_request' })
    }
  }
})

it('a size of -1 is dynamic, and others below 0 are refused', () => {
  const model = linear()
  const withSize = (size: number) => {
    const inputs = [{ name: 'x', type: 'f32' as const, shape: [size, 2] }]
    return readOnnx(writeOnnx({ ...model, graph: { ...model.graph, inputs } })).graph.inputs[0]!.shape
  }
  expect(withSize(-1)).toEqual(['', 2])
  expect(() => withSize(-3)).toThrow("The value 'x' has a size of -3 in its declared shape.")
})

it('sparse weights are refused, because they would be lost', () => {
  const proto = decodeMessage(modelProto, writeOnnx(linear()))
  const values = proto.graph!.initializer[0]!
  const graph = { ...proto.graph!, initializer: [], sparseInitializer: [{ values }] }
  const bytes = encodeMessage(modelProto, { ...proto, graph })
  expect(() => readOnnx(bytes)).toThrow(`The weights '${values.name}' are a sparse tensor.`)
})

it('an invalid graph is refused, naming the faulty value', () => {
  const model = linear()
  const { nodes } = model.graph
  const withNodes = (more: readonly OnnxNode[]) => writeOnnx({ ...model, graph: { ...model.graph, nodes: more } })
  const relu: OnnxNode = { name: '', type: 'Relu', domain: '', inputs: ['x'], outputs: ['y'], attributes: {} }
  expect(() => readOnnx(withNodes([...nodes, relu]))).toThrow(
    "the value 'y' is defined twice, by Identity 'y' and by Relu 'y'",
  )
  expect(() => readOnnx(withNodes([...nodes, { ...relu, outputs: ['x'] }]))).toThrow("the value 'x' is defined twice")
  const add = { ...relu, type: 'Add', inputs: ['x', 'b'], outputs: ['a'] }
  expect(() => readOnnx(withNodes([...nodes, add, { ...relu, inputs: ['a'], outputs: ['b'] }]))).toThrow(
    "the value 'a' depends on itself (Add 'a')",
  )
  expect(() => readOnnx(withNodes([...nodes, { ...relu, inputs: ['q'], outputs: ['r'] }]))).toThrow(
    "nothing defines the value 'q', which Relu 'r' needs",
  )
  expect(() => readOnnx(withNodes(nodes.slice(0, 1)))).toThrow("the value 'y', which an output of the graph needs")
  // Their order may be wrong, because onnxruntime sorts nodes.
  expect(readOnnx(withNodes([...nodes].reverse())).graph.nodes).toHaveLength(2)
})
