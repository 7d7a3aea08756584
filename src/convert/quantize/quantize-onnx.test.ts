import { beforeAll, describe, expect, it, test } from 'vitest'
import { runGraph } from '../../inference/engines/onnx/run-graph.ts'
import { testEngines, WITHOUT } from '../../inference/engines/optional/test-engines.fixture.ts'
import { graphBuilder } from '../onnx/graph-builder.ts'
import { int, ints, type OnnxModel } from '../onnx/model.ts'
import { readOnnx } from '../onnx/read-onnx.ts'
import { numbersOf, tensorOf } from '../onnx/tensors.ts'
import { writeOnnx } from '../onnx/write-onnx.ts'
import { foldWeights } from './fold-weights.ts'
import { generateSamples } from './generate-samples.ts'
import { classifierOutputs, compareOutputs, qualityOf } from './quality.ts'
import { calibrationModel, ONNX_METHODS, quantizeOnnx, rangesNeeded } from './quantize-onnx.ts'
import { toBytes, toNibbles } from './round-weights.ts'
import { samplesFromArrays, samplesFromLines } from './samples.ts'

/** Numbers similar to weights, the same each time. */
const wave = (count: number, step = 0.37): number[] =>
  Array.from({ length: count }, (_, at) => Math.sin(at * step) * Math.cos(at * 0.011))

/** An embedding, a convolution, an LSTM, and two layers, as exporters write them. */
const everything = (): OnnxModel => {
  const graph = graphBuilder('everything')
  const ids = graph.input('input_ids', 'i64', ['batch', 16])
  const table = graph.constant('table', tensorOf('f32', [50, 32], wave(1600)))
  const rows = graph.node('Gather', [table, ids])
  const turned = graph.node('Transpose', [rows], { perm: ints([0, 2, 1]) })
  const kernel = graph.constant('kernel', tensorOf('f32', [24, 32, 3], wave(2304)))
  const bias = graph.constant('bias', tensorOf('f32', [24], wave(24)))
  const found = graph.node('Conv', [turned, kernel, bias], { pads: ints([1, 1]) })
  const positive = graph.node('Relu', [found])
  const sequence = graph.node('Transpose', [positive], { perm: ints([2, 0, 1]) })
  const w = graph.constant('w', tensorOf('f32', [1, 64, 24], wave(1536)))
  const r = graph.constant('r', tensorOf('f32', [1, 64, 16], wave(1024, 0.53)))
  const [, last] = graph.nodes('LSTM', [sequence, w, r], ['sequence', 'last'], { hidden_size: int(16) })
  const axis = graph.constant('axis', tensorOf('i64', [1], [0]))
  const state = graph.node('Squeeze', [last!, axis])
  const layer = graph.constant('layer', tensorOf('f32', [40, 16], wave(640, 0.71)))
  const hidden = graph.node('Gemm', [state, layer, graph.constant('c', tensorOf('f32', [40], wave(40)))], {
    transB: int(1),
  })
  const matrix = graph.constant('matrix', tensorOf('f32', [40, 10], wave(400, 0.3)))
  const scores = graph.node('Softmax', [graph.node('MatMul', [graph.node('Relu', [hidden]), matrix])])
  graph.output('probabilities', scores, 'f32', ['batch', 10])
  return graph.build()
}

const typesOf = ({ graph }: OnnxModel): string[] => [...new Set(graph.nodes.map(({ type }) => type))].sort()

describe('weights as integers', () => {
  it('bytes have a scale per channel and round ties to even', () => {
    const { values, scales } = toBytes(Float32Array.from([127, -2.5, 3.5, 0, 0.5, -1]), [2, 3], 0)
    expect([...values]).toEqual([127, -2, 4, 0, 64, -127])
    expect(scales[0]).toBe(1)
    const columns = toBytes(Float32Array.from([1, 4, -2, 2]), [2, 2], 1)
    expect([...columns.values]).toEqual([64, 127, -127, 64])
  })
  it('non-finite weights and all-zero channels cause no errors', () => {
    const { values, scales } = toBytes(Float32Array.from([Number.NaN, 1, Infinity, 0, 0, 0]), [2, 3], 0)
    expect([...values]).toEqual([0, 127, 127, 0, 0, 0])
    expect(scales.every((scale) => scale > 0)).toBe(true)
  })
  it('nibbles go down each column in blocks, low half first, padded with the zero point', () => {
    // One column of three weights from -7 to 8: scale 1, zero point 7.
    const made = toNibbles(Float32Array.from([-7, 8, 1]), { rows: 3, columns: 1, transposed: false }, 4)
    expect({ ...made, values: [...made.values], scales: [...made.scales], zeroPoints: [...made.zeroPoints] }).toEqual({
      values: [0xf0, 0x78],
      scales: [1],
      zeroPoints: [7],
      blocks: 1,
    })
    const turned = toNibbles(Float32Array.from([-7, 0, 8, 15]), { rows: 2, columns: 2, transposed: true }, 2)
    expect([[...turned.values], [...turned.scales].map((scale) => Math.round(scale * 15))]).toEqual([
      [0xf0, 0xf8],
      [7, 15],
    ])
  })
})

it.each([
  ['float16', 'Cast Conv Gather Gemm Identity LSTM MatMul Relu Softmax Squeeze Transpose'],
  [
    'dynamic',
    'Add Cast ConvInteger DequantizeLinear DynamicQuantizeLinear Gather Identity LSTM MatMulInteger Mul Relu Reshape Softmax Squeeze Transpose',
  ],
  ['int8', 'Cast Conv DequantizeLinear Gather Gemm Identity LSTM MatMul Mul Relu Softmax Squeeze Transpose'],
  ['int4', 'Add Cast Conv DequantizeLinear Gather Identity LSTM MatMulNBits Mul Relu Softmax Squeeze Transpose'],
] as const)('%s makes the model smaller, and it can be read back', (method, types) => {
  const model = everything()
  const bytes = writeOnnx(quantizeOnnx(model, method).model)
  expect(typesOf(readOnnx(bytes)).join(' ')).toBe(types)
  expect(bytes.length).toBeLessThan(writeOnnx(model).length * (method === 'float16' ? 0.65 : 0.5))
})

it('weights that exporters transpose, split, or join at run time are quantized too', () => {
  const graph = graphBuilder('exported')
  const x = graph.input('x', 'f32', ['batch', 32])
  const wide = graph.constant('wide', tensorOf('f32', [64, 32], wave(2048)))
  const rows = graph.node('MatMul', [x, graph.node('Transpose', [wide], { perm: ints([1, 0]) })])
  const sizes = graph.constant('sizes', tensorOf('i64', [2], [24, 40]))
  const halves = graph.nodes('Split', [graph.constant('joined', tensorOf('f32', [64, 16], wave(1024)))], ['a', 'b'], {
    split: ints([24, 40]),
  })
  const turned = graph.node('Concat', [...halves].reverse(), { axis: int(0) })
  graph.output('y', graph.node('MatMul', [rows, turned]), 'f32', ['batch', 16])
  graph.output('kept', graph.node('Identity', [sizes]), 'i64', [2])
  const model = { ...graph.build(), opsets: { '': 12 } }
  const folded = foldWeights(model)
  expect(typesOf(folded)).toEqual(['Identity', 'MatMul'])
  const second = folded.graph.nodes.find(({ inputs }) => inputs[0] === rows)!
  const joined = numbersOf(folded.graph.initializers.get(second.inputs[1]!)!)
  expect([...joined.slice(0, 3)]).toEqual([...Float32Array.from(wave(1024).slice(384, 387))])
  const dynamic = quantizeOnnx(folded, 'dynamic').model
  expect(typesOf(dynamic)).toContain('MatMulInteger')
  expect(writeOnnx(dynamic).length).toBeLessThan(0.4 * writeOnnx(model).length)
})

it('a weight with two names is folded and stored once', () => {
  const graph = graphBuilder('tied')
  const x = graph.input('x', 'f32', ['batch', 32])
  const weight = graph.constant('weight', tensorOf('f32', [32, 32], wave(1024)))
  const rows = graph.node('MatMul', [x, weight])
  graph.output('y', graph.node('MatMul', [rows, graph.node('Identity', [weight])]), 'f32', ['batch', 32])
  expect([...foldWeights(graph.build()).graph.initializers.keys()]).toEqual(['weight'])
})

it('a model whose weights cannot be folded stays unchanged', () => {
  const graph = graphBuilder('broken')
  const weight = graph.constant('weight', tensorOf('f32', [4, 8], wave(32)))
  const turned = graph.node('Transpose', [weight], { perm: ints([0, 7]) })
  graph.output('y', graph.node('MatMul', [graph.input('x', 'f32', [1, 8]), turned]), 'f32', [1, 4])
  const model = graph.build()
  expect(foldWeights(model)).toBe(model)
})

it('float16 keeps the names and types of inputs and outputs', () => {
  const { graph } = quantizeOnnx(everything(), 'float16').model
  expect(graph.outputs).toEqual([{ name: 'probabilities', type: 'f32', shape: ['batch', 10] }])
  expect(graph.initializers.get('table_f16')?.type).toBe('f16')
  expect(graph.initializers.has('table')).toBe(false)
})

it('models with nothing to quantize or with too old operators are refused with advice', () => {
  const graph = graphBuilder('sum')
  const x = graph.input('x', 'i64', [2])
  graph.output('y', graph.node('Add', [x, x]), 'i64', [2])
  const tiny = graph.build()
  expect(() => quantizeOnnx(tiny, 'float16')).toThrow('no float32 operators')
  expect(() => quantizeOnnx(tiny, 'int8')).toThrow('no float32 weights of 1 kB or more')
  expect(() => quantizeOnnx({ ...everything(), opsets: { '': 9 } }, 'int8')).toThrow(
    'int8 needs ONNX operator set 13 or newer; this model has 9. Export it with a newer one, or use float16.',
  )
})

const product = (weights: readonly number[], shape: readonly number[] = [32, 32]): OnnxModel => {
  const graph = graphBuilder('product')
  const x = graph.input('x', 'f32', [...shape.slice(0, -2), 4, shape.at(-2)!])
  const y = graph.node('MatMul', [x, graph.constant('w', tensorOf('f32', shape, weights))])
  graph.output('y', y, 'f32', [...shape.slice(0, -2), 4, shape.at(-1)!])
  return graph.build()
}

it.each(ONNX_METHODS)('%s refuses a weight that is not finite', (method) => {
  for (const value of [Number.NaN, Number.NEGATIVE_INFINITY]) {
    expect(() => quantizeOnnx(product([value, ...wave(1023)]), method)).toThrow(
      "The weight 'w' is NaN or infinite somewhere. A model with such weights does not work: export it again.",
    )
  }
})

it.each([1e-30, 1e6])('float16 leaves weights unchanged that it cannot represent (%d)', (factor) => {
  const graph = graphBuilder('mixed')
  const weight = (scale: number) =>
    graph.constant(
      'w',
      tensorOf(
        'f32',
        [32, 32],
        wave(1024).map((one) => one * scale),
      ),
    )
  const inner = graph.node('MatMul', [graph.input('x', 'f32', [1, 32]), weight(factor)])
  graph.output('y', graph.node('MatMul', [inner, weight(1)]), 'f32', [1, 32])
  const { initializers } = quantizeOnnx(graph.build(), 'float16').model.graph
  expect([...initializers].map(([name, { type }]) => [name, type])).toEqual([
    ['w', 'f32'],
    ['w_1_f16', 'f16'],
  ])
})

it('int8 uses one scale for a stack of matrices, as onnxruntime requires', () => {
  const { nodes, initializers } = quantizeOnnx(product(wave(2048), [2, 32, 32]), 'int8').model.graph
  const dequantize = nodes.find(({ type }) => type === 'DequantizeLinear')!
  expect(dequantize.attributes).toEqual({})
  expect(dequantize.inputs.slice(1).map((name) => initializers.get(name)!.shape)).toEqual([[], []])
})

it('int8 needs the ranges of the inputs and outputs of products', () => {
  const model = everything()
  expect(rangesNeeded(model)).toEqual(['transpose', 'relu', 'squeeze', 'relu_1', 'matmul'])
  const ranges = new Map(rangesNeeded(model).map((name) => [name, { min: -1, max: 3 }]))
  const { graph } = quantizeOnnx(model, 'int8', { ranges }).model
  expect(graph.nodes.filter(({ type }) => type === 'QuantizeLinear').map(({ inputs }) => inputs[0])).toEqual([
    ...ranges.keys(),
  ])
  expect(calibrationModel(model, ['relu']).graph.outputs.map(({ name }) => name)).toEqual([
    'calibration_0_Min',
    'calibration_0_Max',
  ])
})

it.each(['int8', 'dynamic', 'int4'] as const)('%s makes a constant first factor smaller too', async (method) => {
  const graph = graphBuilder('left')
  const values = Float32Array.from({ length: 64 * 64 }, (_, at) => Math.sin(at))
  const weight = graph.constant('weight', tensorOf('f32', [64, 64], values))
  const x = graph.input('x', 'f32', [64, 3])
  graph.output('matmul', graph.node('MatMul', [weight, x]), 'f32', [64, 3])
  graph.output('gemm', graph.node('Gemm', [weight, x], { transA: int(1) }), 'f32', [64, 3])
  const model = graph.build()
  const { model: quantized, notes } = quantizeOnnx(model, method)
  expect(notes).toEqual([])
  expect(writeOnnx(quantized).length).toBeLessThan(writeOnnx(model).length * 0.6)
  if (testEngines === null) return
  const samples = generateSamples(model, 1)
  const [before, after] = await Promise.all(
    [model, quantized].map(async (one) => {
      const ran = await runGraph(writeOnnx(one), samples, { engines: testEngines! })
      if ('notRun' in ran) throw new Error(ran.notRun)
      return ran.outputs[0]!
    }),
  )
  for (const name of ['matmul', 'gemm']) {
    const [wanted, found] = [before, after].map((outputs) => outputs![name]!.data as Float32Array)
    const largest = Math.max(...wanted!.map((value, at) => Math.abs(value - found![at]!)))
    expect(largest).toBeLessThan(0.3)
  }
})

describe('samples', () => {
  it('are the same each time, with integers within the table that they index', () => {
    const [first, ...others] = generateSamples(everything(), 3)
    expect(first!.input_ids).toMatchObject({ type: 'int64', dims: [1, 16] })
    expect(generateSamples(everything(), 3)).toEqual([first, ...others])
    const ids = [first, ...others].flatMap((sample) => Array.from(sample!.input_ids!.data, Number))
    expect(Math.max(...ids)).toBeLessThan(50)
    expect(new Set(ids).size).toBeGreaterThan(10)
  })
  it('come from arrays and from JSON lines, with a batch dimension added if missing', () => {
    const model = everything()
    const row = Array.from({ length: 16 }, (_, at) => at)
    const expected = [{ input_ids: { type: 'int64', dims: [1, 16], data: BigInt64Array.from(row.map(BigInt)) } }]
    expect(samplesFromLines(model, `${JSON.stringify(row)}\n`, 8)).toEqual(expected)
    expect(samplesFromLines(model, JSON.stringify({ input_ids: [row] }), 8)).toEqual(expected)
    expect(samplesFromArrays(model, new Map([['arr_0', { shape: [1, 16], values: row }]]), 8)).toEqual(expected)
  })
  it.each([
    ['', 'There are no samples'],
    ['{', 'Line 1 is not JSON.'],
    ['{"x": [1]}', "Line 1 has no 'input_ids', which is an input of the model."],
    ['[1, 2]', "Line 1: 'input_ids' has the shape [2]; the model takes [batch, 16]."],
    ['[[1, 2], [3]]', "Line 1: 'input_ids' is not numbers in lists of equal length."],
    ['["a"]', "Line 1: 'input_ids' is not numbers in lists of equal length."],
  ])('%s is refused', (text, message) => {
    expect(() => samplesFromLines(everything(), text, 8)).toThrow(message)
  })
})

it('the quality is the lower of cosine similarity and class agreement', () => {
  const row = (...data: number[]) => ({ probabilities: { type: 'float32', dims: [1, data.length], data } })
  const classifiers = classifierOutputs(everything())
  expect([...classifiers]).toEqual(['probabilities'])
  const quality = compareOutputs([row(1, 0), row(0, 1)], [row(2, 0), row(1, 0)], classifiers)
  expect([quality, qualityOf(quality)]).toEqual([{ cosine: 0.5, agreement: 0.5 }, 0.5])
  expect(compareOutputs([row(1, 2)], [row(Number.NaN, 1)], new Set())).toEqual({ cosine: 0, agreement: null })
})

describe.skipIf(testEngines === null)(`in onnxruntime (${testEngines === null ? WITHOUT : 'installed'})`, () => {
  const options = { engines: testEngines!, threads: 1 }
  const run = async (model: OnnxModel) => {
    const ran = await runGraph(writeOnnx(model), generateSamples(everything(), 16), options)
    if ('notRun' in ran) throw new Error(ran.notRun)
    return ran.outputs
  }
  const model = everything()
  let original: Awaited<ReturnType<typeof run>>
  let ranges: ReadonlyMap<string, { min: number; max: number }>
  beforeAll(async () => {
    const names = rangesNeeded(model)
    const measured = await run(calibrationModel(model, names))
    ranges = new Map(
      names.map((name, index) => {
        const of = (which: string) =>
          measured.map((outputs) => Number(outputs[`calibration_${index}_${which}`]!.data[0]))
        return [name, { min: Math.min(...of('Min')), max: Math.max(...of('Max')) }] as const
      }),
    )
    original = await run(model)
  })

  test.each(ONNX_METHODS)('%s produces nearly the same outputs as the original', async (method) => {
    for (const made of [quantizeOnnx(model, method), quantizeOnnx(model, method, { ranges })]) {
      expect(compareOutputs(original, await run(made.model), new Set()).cosine).toBeGreaterThan(
        method === 'int4' ? 0.97 : 0.999,
      )
    }
  })
})
