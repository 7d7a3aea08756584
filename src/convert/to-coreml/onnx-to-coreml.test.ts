import { readdir, readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { ServiceError } from '../../domain/errors.ts'
import { runGraph } from '../../inference/engines/onnx/run-graph.ts'
import { testEngines, WITHOUT } from '../../inference/engines/optional/test-engines.fixture.ts'
import { mutationsOf } from '../mutations.fixture.ts'
import { graphBuilder } from '../onnx/graph-builder.ts'
import { float, int, ints, type OnnxModel, text, texts } from '../onnx/model.ts'
import { readOnnx } from '../onnx/read-onnx.ts'
import { tensorOf } from '../onnx/tensors.ts'
import { writeOnnx } from '../onnx/write-onnx.ts'
import { decodeMessage, encodeMessage } from '../protobuf/message.ts'
import { generateSamples } from '../quantize/generate-samples.ts'
import { compareOutputs } from '../quantize/quality.ts'
import { quantizeCoreml } from '../quantize/quantize-coreml.ts'
import { retyped } from '../quantize/samples.ts'
import { coremlToOnnx } from './coreml-to-onnx.ts'
import { onnxToCoreml } from './onnx-to-coreml.ts'
import { coremlModel } from './schema.ts'
import type { Message } from './schema-fields.ts'

const wave = (count: number): number[] => Array.from({ length: count }, (_, at) => Math.sin(at * 0.37))

interface Layer extends Message {
  readonly input: string[]
  readonly output: string[]
  readonly outputTensor: { rank: number; dimValue: number[] }[]
}

const layersOf = (bytes: Uint8Array): readonly Layer[] =>
  (decodeMessage(coremlModel, bytes).neuralNetwork as { layers: Layer[] }).layers

const kindOf = (layer: Layer): string =>
  Object.keys(layer).find((key) => !['name', 'input', 'output', 'inputTensor', 'outputTensor'].includes(key))!

/** A graph with one input and one node. */
const single = (
  type: string,
  shape: readonly number[],
  rest: Parameters<ReturnType<typeof graphBuilder>['node']>[2] = {},
  constants: readonly (readonly [number[], number[]])[] = [],
  domain = '',
): OnnxModel => {
  const graph = graphBuilder('single')
  const x = graph.input('x', 'f32', shape)
  const inputs = constants.map(([sizes, values], at) => graph.constant(`c${at}`, tensorOf('f32', sizes, values)))
  graph.output('y', graph.node(type, [x, ...inputs], rest, { output: 'y', domain }), 'f32', null)
  return graph.build()
}

it('says that large integers are rounded, and nothing of indices', () => {
  const noteOf = (operator: string, constant: readonly number[]): string[] => {
    const graph = graphBuilder('integers')
    const x = graph.input('x', 'i64', [2])
    const c = graph.constant('c', tensorOf('i64', [constant.length], constant))
    graph.output('y', graph.node(operator, operator === 'Gather' ? [c, x] : [x, c]), 'i64', [2])
    return onnxToCoreml(graph.build()).notes.filter((note) => note.includes('float32'))
  }
  const note = ['Core ML computes integers in float32, so those above 16777216 in size are rounded.']
  expect(noteOf('Add', [1, 2])).toEqual(note)
  expect(noteOf('Gather', [2 ** 40, 3])).toEqual(note)
  expect(noteOf('Gather', [5, 3])).toEqual([])
})

it('a model becomes a network of specification version 4 with fixed shapes and consecutive layers', () => {
  const graph = graphBuilder('net')
  const x = graph.input('image', 'f32', ['batch', 3, 8, 8])
  const found = graph.node('Conv', [x, graph.constant('w', tensorOf('f32', [4, 3, 3, 3], wave(108)))], {
    pads: ints([1, 1, 1, 1]),
  })
  const pooled = graph.node('MaxPool', [graph.node('Relu', [found])], {
    kernel_shape: ints([2, 2]),
    strides: ints([2, 2]),
  })
  const flat = graph.node('Flatten', [graph.node('GlobalAveragePool', [pooled])])
  const layer = graph.node('Gemm', [flat, graph.constant('l', tensorOf('f32', [5, 4], wave(20)))], { transB: int(1) })
  graph.output('scores', graph.node('Softmax', [layer]), 'f32', ['batch', 5])
  const { bytes, notes } = onnxToCoreml(graph.build(), { inputShape: [2, 3, 8, 8] })
  expect(notes).toEqual(["Apple's runtime has not run the result: compare its outputs on a device."])
  const model = decodeMessage(coremlModel, bytes)
  expect(model).toMatchObject({
    specificationVersion: 4,
    description: {
      input: [{ name: 'image', type: { multiArrayType: { shape: [2, 3, 8, 8], dataType: 65568 } } }],
      output: [{ name: 'scores', type: { multiArrayType: { shape: [2, 5], dataType: 65568 } } }],
    },
    neuralNetwork: { arrayInputShapeMapping: 1 },
  })
  const layers = layersOf(bytes)
  expect(layers.map(kindOf)).toEqual([
    'convolution',
    'activation',
    'pooling',
    'reduceMean',
    'reshapeStatic',
    'innerProduct',
    'softmaxND',
    'reshapeStatic',
  ])
  const known = new Set(['image'])
  for (const { input, output } of layers) {
    expect(input.filter((name) => !known.has(name))).toEqual([])
    for (const name of output) known.add(name)
  }
  expect(layers[0]).toMatchObject({
    outputTensor: [{ rank: 4, dimValue: [2, 4, 8, 8] }],
    convolution: {
      outputChannels: 4,
      kernelChannels: 3,
      nGroups: 1,
      kernelSize: [3, 3],
      stride: [1, 1],
      isDeconvolution: false,
    },
  })
})

it('a bidirectional LSTM becomes two layers with reordered gates, and a GRU is unrolled step by step', () => {
  const recurrent = (type: 'LSTM' | 'GRU', gates: number) => {
    const graph = graphBuilder(type)
    const x = graph.input('x', 'f32', [3, 1, 2])
    const w = graph.constant('w', tensorOf('f32', [2, gates * 2, 2], wave(gates * 8)))
    const r = graph.constant('r', tensorOf('f32', [2, gates * 2, 2], wave(gates * 8)))
    const attributes = { hidden_size: int(2), direction: text('bidirectional') }
    const [y] = graph.nodes(type, [x, w, r], ['y', 'h'], attributes)
    graph.output('y', y!, 'f32', [3, 2, 1, 2])
    return layersOf(onnxToCoreml(graph.build()).bytes)
  }
  const layers = recurrent('LSTM', 4).filter((layer) => kindOf(layer) === 'uniDirectionalLSTM')
  expect(layers.map(({ uniDirectionalLSTM }) => (uniDirectionalLSTM as Message).reverseInput)).toEqual([false, true])
  const weights = (layers[0]!.uniDirectionalLSTM as { weightParams: Record<string, { floatValue: Uint8Array }> })
    .weightParams
  const first = (name: string) => new DataView(weights[name]!.floatValue.slice().buffer).getFloat32(0, true)
  expect(['inputGate', 'outputGate', 'forgetGate', 'blockInput'].map((gate) => first(`${gate}WeightMatrix`))).toEqual(
    [0, 4, 8, 12].map((at) => Math.fround(wave(16)[at]!)),
  )
  const kinds = recurrent('GRU', 3).map(kindOf)
  const counts = ['sliceStatic', 'batchedMatmul', 'loadConstantND'].map(
    (kind) => kinds.filter((each) => each === kind).length,
  )
  // Three gates in three steps of two directions; the weights are stored once per direction, in addition to the initial states.
  expect(counts.slice(0, 2)).toEqual([18, 18])
  expect(counts[2]).toBeLessThanOrEqual(8)
})

it('trees become matrix products', () => {
  const model = single(
    'TreeEnsembleRegressor',
    [1, 2],
    {
      n_targets: int(1),
      nodes_treeids: ints([0, 0, 0]),
      nodes_nodeids: ints([0, 1, 2]),
      nodes_featureids: ints([1, 0, 0]),
      nodes_modes: texts(['BRANCH_LEQ', 'LEAF', 'LEAF']),
      nodes_values: { kind: 'floats', value: [0.5, 0, 0] },
      nodes_truenodeids: ints([1, 0, 0]),
      nodes_falsenodeids: ints([2, 0, 0]),
      target_treeids: ints([0, 0]),
      target_nodeids: ints([1, 2]),
      target_ids: ints([0, 0]),
      target_weights: { kind: 'floats', value: [10, 20] },
    },
    [],
    'ai.onnx.ml',
  )
  const kinds = layersOf(onnxToCoreml(model).bytes)
    .map(kindOf)
    .filter((kind) => kind !== 'loadConstantND')
  expect(kinds).toEqual([
    'gather',
    'lessEqual',
    'reshapeStatic',
    'transpose',
    'batchedMatmul',
    'equal',
    'batchedMatmul',
    'reduceSum',
    'reshapeStatic',
    'reshapeStatic',
  ])
})

it('a thresholded ReLU excludes values equal to the threshold, as in ONNX', () => {
  const layers = layersOf(onnxToCoreml(single('ThresholdedRelu', [3], { alpha: float(2) })).bytes)
  expect(layers.map(kindOf).filter((kind) => kind !== 'loadConstantND')).toEqual(['greaterThan', 'whereBroadcastable'])
})

it.each([
  [
    single('Einsum', [2, 2], { equation: text('ij->ji') }),
    "Einsum 'y': Core ML conversion does not support this operator.",
  ],
  [
    single('Conv', [1, 2, 3, 3, 3], {}, [
      [
        [1, 2, 1, 1, 1],
        [1, 1],
      ],
    ]),
    "Conv 'y': Conv over 3 spatial dimensions is not supported",
  ],
  [
    single('MaxPool', [1, 1, 5, 5], { kernel_shape: ints([2, 2]), dilations: ints([2, 2]) }),
    'Dilated pools have no layer',
  ],
  [single('Relu', [1, 2, 1, 1, 1, 1]), "The input 'x' has 6 dimensions; Core ML takes up to 5."],
  [single('Relu', [0, 2]), "The input 'x' is empty: [0, 2]."],
  [single('SpaceToDepth', [1, 4, 4, 4], { blocksize: int(2), mode: text('CRD') }), 'Only the mode DCR is supported.'],
  [single('Elu', [2], { alpha: float(1), beta: float(0) }), null],
] as const)('operators without a layer are refused by name (%#)', (model, message) => {
  if (message === null) expect(onnxToCoreml(model).bytes.length).toBeGreaterThan(50)
  else expect(() => onnxToCoreml(model)).toThrow(message)
})

describe('damaged models', () => {
  it('are converted or refused and cause no other errors', async () => {
    const folder = new URL('../../../test/fixtures/coreml/', import.meta.url)
    const names = (await readdir(folder)).filter((name) => name.endsWith('.onnx'))
    expect(names.length).toBeGreaterThan(0)
    for (const name of names) {
      for (const damaged of mutationsOf(await readFile(new URL(name, folder)), 60)) {
        try {
          onnxToCoreml(readOnnx(damaged))
        } catch (error) {
          expect(error).toBeInstanceOf(ServiceError)
        }
      }
    }
  })
  it('a model is read back as it was written', () => {
    const model = single('Relu', [2, 3])
    expect(layersOf(onnxToCoreml(readOnnx(writeOnnx(model))).bytes).map(kindOf)).toEqual(['activation'])
  })
})

describe('a network is converted back to ONNX', () => {
  const fixture = async (name: string) => onnxToCoreml(readOnnx(await readFile(`test/fixtures/${name}.onnx`))).bytes

  it.skipIf(testEngines === null)(
    `its layers compute the same as the source, and nearly the same with fewer bits (${WITHOUT})`,
    async () => {
      const run = async (model: OnnxModel | Uint8Array, samples: Parameters<typeof runGraph>[1]) => {
        const bytes = model instanceof Uint8Array ? model : writeOnnx(model)
        const done = await runGraph(bytes, samples, { engines: testEngines! })
        if ('notRun' in done) throw new Error(done.notRun)
        return done.outputs
      }
      for (const name of ['coreml/images', 'coreml/words', 'tflite/series']) {
        const bytes = await fixture(name)
        const [model, source] = [coremlToOnnx(bytes), await readFile(`test/fixtures/${name}.onnx`)]
        const samples = generateSamples(model, 2)
        const expected = await run(
          source,
          samples.map((sample) => retyped(sample, readOnnx(source))),
        )
        const found = await run(model, samples)
        for (const [at, outputs] of expected.entries()) {
          for (const [output, { data }] of Object.entries(outputs)) {
            const other = found[at]![output]!.data
            const differences = Array.from(data as Float32Array, (value, i) => Math.abs(value - Number(other[i])))
            expect(Math.max(...differences)).toBeLessThan(1e-5)
          }
        }
        if (name !== 'coreml/images') continue
        const cosines = []
        for (const method of ['float16', 'int8', 'int4'] as const) {
          const outputs = await run(coremlToOnnx(quantizeCoreml(bytes, method).bytes), samples)
          cosines.push(compareOutputs(expected, outputs, new Set()).cosine)
        }
        expect(cosines).toEqual([...cosines].sort((one, other) => other - one))
        expect(cosines[2]).toBeGreaterThan(0.99)
      }
    },
  )

  it('unsupported layers are refused by name, and so are damaged files', async () => {
    const bytes = await fixture('coreml/images')
    const model = decodeMessage(coremlModel, bytes)
    const network = model.neuralNetwork as Message
    const changed = (more: Message) => encodeMessage(coremlModel, { ...model, neuralNetwork: { ...network, ...more } })
    const [first, ...rest] = network.layers as Layer[]
    const { name, input, output, inputTensor, outputTensor } = first!
    const unknown = { name, input, output, inputTensor, outputTensor }
    expect(() => coremlToOnnx(changed({ layers: [unknown, ...rest] }))).toThrow(
      `Layer '${String(name)}' of the Core ML network: it is of a type that is not computed here.`,
    )
    expect(() => coremlToOnnx(changed({ arrayInputShapeMapping: 0 }))).toThrow('five dimensions of older versions')
    expect(() => coremlToOnnx(encodeMessage(coremlModel, { specificationVersion: 7 }))).toThrow('has no neural network')
    for (const damaged of mutationsOf(bytes, 60)) {
      try {
        coremlToOnnx(damaged)
      } catch (error) {
        expect(error).toBeInstanceOf(ServiceError)
      }
    }
  })
})
