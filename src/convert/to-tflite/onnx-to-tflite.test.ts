import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { randomFrom } from '../../../test/random.ts'
import { type GraphTensors, runGraph } from '../../inference/engines/onnx/run-graph.ts'
import { tfliteEngines, WITHOUT_LITERT } from '../../inference/engines/optional/test-engines.fixture.ts'
import { graphBuilder } from '../onnx/graph-builder.ts'
import { type Attribute, int, text, texts } from '../onnx/model.ts'
import { readOnnx } from '../onnx/read-onnx.ts'
import { stringTensorOf, tensorOf } from '../onnx/tensors.ts'
import { onnxToTflite } from './onnx-to-tflite.ts'
import { OPERATORS } from './operator-names.ts'
import { isLitertBundle, isTflite, readTflite, writeTflite } from './tflite-file.ts'
import { tfliteGraph } from './tflite-graph.ts'

const FOLDER = 'test/fixtures/tflite'

interface Values {
  readonly shape: readonly number[]
  readonly data: readonly number[]
}
interface Recorded {
  readonly inputs: Readonly<Record<string, Values>>
  readonly onnx: Readonly<Record<string, Values>>
  readonly tflite: Readonly<Record<string, Values>>
  readonly sha256: string
}

const converted = async (name: string) => {
  const recorded: Recorded = JSON.parse(await readFile(`${FOLDER}/${name}.json`, 'utf8'))
  const inputShape = Object.fromEntries(Object.entries(recorded.inputs).map(([key, { shape }]) => [key, shape]))
  return { recorded, ...onnxToTflite(readOnnx(await readFile(`${FOLDER}/${name}.onnx`)), { inputShape }) }
}

/** Counts an operator in a file. */
const count = (bytes: Uint8Array, name: keyof typeof OPERATORS): number => {
  const { operatorCodes, subgraphs } = readTflite(bytes)
  return subgraphs![0]!.operators!.filter(
    ({ opcodeIndex }) => operatorCodes![opcodeIndex!]!.builtinCode === OPERATORS[name],
  ).length
}

// The interpreter is not a dependency, so its outputs are recorded with the hash of the model that it ran.
it.each(['image', 'text', 'series', 'forest', 'boosting'])(
  "%s: the interpreter's outputs for the same bytes equal onnxruntime's",
  async (name) => {
    const { recorded, bytes } = await converted(name)
    const changed = `run test/fixtures/tflite/interpret.ts: ${name}.tflite is not what the interpreter ran`
    expect(createHash('sha256').update(bytes).digest('hex'), changed).toBe(recorded.sha256)
    expect(Object.keys(recorded.tflite)).toEqual(Object.keys(recorded.onnx))
    for (const [output, { shape, data }] of Object.entries(recorded.onnx)) {
      const found = recorded.tflite[output]!
      expect(found.shape).toEqual(shape)
      expect(Math.max(...data.map((value, at) => Math.abs(value - found.data[at]!)))).toBeLessThan(1e-5)
    }
  },
)

it.skipIf(tfliteEngines === null)(`LiteRT accepts and returns all types of tensors (${WITHOUT_LITERT})`, async () => {
  const graph = graphBuilder('types')
  const whole = graph.input('whole', 'i64', [2, 2])
  const rows = graph.input('rows', 'f64', [3])
  graph.output(
    'large',
    graph.node('Mul', [whole, graph.constant('factor', tensorOf('i64', [1], [2 ** 40]))]),
    'i64',
    [2, 2],
  )
  graph.output('not', graph.node('Not', [graph.input('flags', 'bool', [2])]), 'bool', [2])
  graph.output('narrow', graph.node('Cast', [rows], { to: int(6) }), 'i32', [3])
  graph.output('same', graph.node('Neg', [rows]), 'f64', [3])
  const { bytes } = onnxToTflite(graph.build())
  const sample = {
    whole: { type: 'int64', dims: [2, 2], data: BigInt64Array.from([1n, -2n, 3n, 4n]) },
    flags: { type: 'bool', dims: [2], data: Uint8Array.from([1, 0]) },
    rows: { type: 'float64', dims: [3], data: Float64Array.from([1.5, -2.5, 7]) },
  }
  const run = (model: Uint8Array, given: GraphTensors) =>
    runGraph(model, [given], { format: 'tflite', engines: tfliteEngines! })
  expect(await run(bytes, sample)).toMatchObject({
    outputs: [
      {
        large: { type: 'int64', dims: [2, 2], data: BigInt64Array.from([1n, -2n, 3n, 4n], (value) => value << 40n) },
        not: { type: 'bool', dims: [2], data: Uint8Array.from([0, 1]) },
        narrow: { type: 'int32', dims: [3], data: Int32Array.from([1, -2, 7]) },
        same: { type: 'float32', dims: [3], data: Float32Array.from([-1.5, 2.5, -7]) },
      },
    ],
  })
  const refused = (message: string) => ({ code: 'invalid_model', message: expect.stringContaining(message) })
  const long = { ...sample.rows, dims: [4] }
  await expect(run(bytes, { ...sample, rows: long })).rejects.toMatchObject(
    refused("LiteRT cannot run the model: the input 'rows' has the shape [3], not [4]"),
  )
  await expect(run(bytes.subarray(0, 300), sample)).rejects.toMatchObject(refused('Failed to load model'))
})

const ELEMENTS = {
  i8: ['int8', Int8Array],
  u8: ['uint8', Uint8Array],
  i16: ['int16', Int16Array],
  i32: ['int32', Int32Array],
  i64: ['int64', BigInt64Array],
} as const

type IntegerCase = readonly [string, readonly number[], Record<string, Attribute>?, (readonly number[])?]

/** Of the numbers 9 1 0 3 5 100, as [2, 3]. */
const INTEGER_CASES: readonly IntegerCase[] = [
  ['Abs', [9, 1, 0, 3, 5, 100]],
  ['Sign', [1, 1, 0, 1, 1, 1]],
  ['Relu', [9, 1, 0, 3, 5, 100]],
  ['ArgMax', [0, 2], { axis: int(1), keepdims: int(0) }],
  ['ArgMin', [2, 0], { axis: int(1), keepdims: int(0) }],
  ['ReduceSum', [118], { keepdims: int(0) }],
  ['ReduceL1', [118], { keepdims: int(0) }],
  ['ReduceL2', [100], { keepdims: int(0) }],
  ['ReduceMean', [19], { keepdims: int(0) }],
  ['ReduceMax', [100], { keepdims: int(0) }],
  ['Div', [3, 0, 0, 1, 1, 33], {}, [3]],
  ['Pow', [81, 1, 0, 9, 25, 10000], {}, [2]],
]

it.skipIf(tfliteEngines === null)('LiteRT computes with integers of all types as with other numbers', async () => {
  const graph = graphBuilder('integers')
  const sample: Record<string, GraphTensors[string]> = {}
  const expected: Record<string, unknown> = {}
  for (const type of Object.keys(ELEMENTS) as (keyof typeof ELEMENTS)[]) {
    const [name, TypedArray] = ELEMENTS[type]
    const typed = (values: readonly number[]) =>
      type === 'i64' ? BigInt64Array.from(values, BigInt) : (TypedArray as typeof Int32Array).from(values)
    const x = graph.input(type, type, [2, 3])
    sample[type] = { type: name, dims: [2, 3], data: typed([9, 1, 0, 3, 5, 100]) }
    for (const [operator, values, attributes = {}, constant] of INTEGER_CASES) {
      const others = constant === undefined ? [] : [graph.constant('c', tensorOf(type, [], constant))]
      const y = graph.node(operator, [x, ...others], attributes)
      const isIndex = operator.startsWith('Arg')
      graph.output(`${operator} ${type}`, y, isIndex ? 'i64' : type, null)
      expected[`${operator} ${type}`] = isIndex ? BigInt64Array.from(values, BigInt) : typed(values)
    }
  }
  const options = { format: 'tflite', engines: tfliteEngines! } as const
  const ran = await runGraph(onnxToTflite(graph.build()).bytes, [sample], options)
  if ('notRun' in ran) throw new Error(ran.notRun)
  const found = Object.entries(ran.outputs[0]!).map(([output, { data }]) => [output, data])
  expect(Object.fromEntries(found)).toEqual(expected)
})

it.skipIf(tfliteEngines === null)('int64 beyond 32 bits is divided, compared, and made positive', async () => {
  const graph = graphBuilder('wide')
  const [x, y] = [graph.input('x', 'i64', [6]), graph.input('y', 'i64', [6])]
  graph.output('quotient', graph.node('Div', [x, y]), 'i64', [6])
  graph.output('size', graph.node('Abs', [x]), 'i64', [6])
  graph.output('most', graph.node('ArgMax', [x], { axis: int(0), keepdims: int(0) }), 'i64', [])
  const a = [9_000_000_000_000_000_001n, -9_000_000_000_000_000_001n, 2n ** 53n + 1n, -7n, 7n, -(2n ** 40n)]
  const b = [7n, 3n, -(2n ** 33n), 2n, -2n, 2n ** 20n]
  const given = [a, b].map((values) => ({ type: 'int64', dims: [6], data: BigInt64Array.from(values) }))
  const options = { format: 'tflite', engines: tfliteEngines! } as const
  const ran = await runGraph(onnxToTflite(graph.build()).bytes, [{ x: given[0]!, y: given[1]! }], options)
  expect(ran).toMatchObject({
    outputs: [
      {
        quotient: { data: BigInt64Array.from(a, (value, at) => value / b[at]!) },
        size: { data: BigInt64Array.from(a, (value) => (value < 0n ? -value : value)) },
        most: { data: BigInt64Array.from([0n]) },
      },
    ],
  })
})

it.skipIf(tfliteEngines === null)('a model whose operator LiteRT cannot run fails, and gives no numbers', async () => {
  const graph = tfliteGraph('unsupported')
  const outputs = [{ name: 'y', tensor: graph.operator('ABS', [graph.input('x', 'i64', [2])]) }]
  const sample = { x: { type: 'int64', dims: [2], data: BigInt64Array.from([-1n, 2n]) } }
  const running = runGraph(graph.bytes(outputs), [sample], { format: 'tflite', engines: tfliteEngines! })
  await expect(running).rejects.toMatchObject({
    code: 'invalid_model',
    message: expect.stringContaining('Node number 0 (ABS) failed to prepare'),
  })
})

/** The constant indices of a GATHER or GATHER_ND. */
const placesOf = (bytes: Uint8Array): number[] => {
  const { operatorCodes, subgraphs, buffers } = readTflite(bytes)
  const { operators, tensors } = subgraphs![0]!
  const gather = operators!.find(({ opcodeIndex }) =>
    [OPERATORS.GATHER, OPERATORS.GATHER_ND].includes(operatorCodes![opcodeIndex!]!.builtinCode!),
  )!
  const places = gather.inputs![1]!
  const reshape = operators!.find(({ outputs }) => outputs![0] === places)
  const data = buffers![tensors![reshape === undefined ? places : reshape.inputs![0]!]!.buffer!]!.data!
  return [...new Int32Array(data.slice().buffer)]
}

it.each([
  // 17 / 1.7 is 10 in float32.
  ['asymmetric', 'floor', 12, 1.7, [0, 0, 1, 1, 2, 2, 3, 4, 4, 5, 5, 6, 7, 7, 8, 8, 9, 10, 10, 11]],
  // The size of the result counts, not 0.75 times 6.
  ['align_corners', 'ceil', 6, 0.75, [0, 2, 4, 5]],
  ['align_corners', 'floor', 13, 0.3, [0, 6, 12]],
  // onnxruntime treats 7.4999995 and 14.5000005 as halves.
  ['asymmetric', 'round_prefer_ceil', 17, 1.2, [0, 1, 2, 3, 3, 4, 5, 6, 7, 8, 8, 9, 10, 11, 12, 13, 13, 14, 15, 16]],
  ['half_pixel', 'round_prefer_ceil', 34, 0.3, [1, 5, 8, 11, 15, 18, 21, 24, 28, 31]],
] as const)('a nearest Resize (%s, %s, %i by %d) selects the same elements as onnxruntime', (...given) => {
  const [transformation, rounding, size, scale, expected] = given
  const graph = graphBuilder('resize')
  const scales = graph.constant('scales', tensorOf('f32', [2], [1, scale]))
  const attributes = {
    mode: text('nearest'),
    coordinate_transformation_mode: text(transformation),
    nearest_mode: text(rounding),
  }
  const y = graph.node('Resize', [graph.input('x', 'f32', [1, size]), '', scales], attributes)
  graph.output('y', y, 'f32', [1, expected.length])
  expect(placesOf(onnxToTflite(graph.build()).bytes)).toEqual(expected)
})

it.each([
  [0, [2, 1], [-1, 0], [1, 0]],
  [0, [2, 2], [0, -1, -1, -3], [0, 2, 1, 0]],
  [1, [2, 1], [0, -1], [0, 2]],
] as const)(
  'GatherND with batch_dims %i counts negative indices from the end',
  (batchDims, shape, indices, expected) => {
    const graph = graphBuilder('rows')
    const places = graph.constant('places', tensorOf('i64', shape, indices))
    const y = graph.node('GatherND', [graph.input('x', 'f32', [2, 3]), places], { batch_dims: int(batchDims) })
    graph.output('y', y, 'f32', [2])
    expect(placesOf(onnxToTflite(graph.build()).bytes)).toEqual(expected)
  },
)

it('an image model is transposed only at its beginning and end, not between layers', async () => {
  // At the input, before flattening the features, and at the output with channels first.
  expect(count((await converted('image')).bytes, 'TRANSPOSE')).toBeLessThanOrEqual(3)
})

it('the weights of a recurrent layer are stored once for any number of steps', () => {
  const bytesFor = (steps: number) => {
    const graph = graphBuilder('sequence')
    const x = graph.input('x', 'f32', [steps, 1, 16])
    const weights = [16, 48].map((width, at) =>
      graph.constant(`w${at}`, tensorOf('f32', [1, 192, width], Float32Array.from({ length: 192 * width }, Math.sin))),
    )
    const [, last] = graph.nodes('LSTM', [x, ...weights], ['all', 'last'], { hidden_size: int(48) })
    graph.output('y', last!, 'f32', [1, 1, 48])
    return onnxToTflite(graph.build()).bytes.length
  }
  const weights = 4 * 192 * (16 + 48)
  expect(bytesFor(2)).toBeGreaterThan(weights)
  // A step adds operators and tensors, but none of the 36 kB of weights.
  expect((bytesFor(12) - bytesFor(2)) / 10).toBeLessThan(6000)
})

it('a file is read back as it was written, and written to the same bytes', async () => {
  const { bytes, notes } = await converted('forest')
  expect(isTflite(bytes)).toBe(true)
  expect(notes).toEqual([
    'TFLite models have fixed shapes: dynamic dimensions take their sizes from the input shape, or are 1.',
  ])
  expect(Buffer.compare(writeTflite(readTflite(bytes)), bytes)).toBe(0)
})

it('an operator that TFLite lacks is named with its node', () => {
  const graph = graphBuilder('unknown')
  const x = graph.input('x', 'f32', [1, 4])
  graph.output('y', graph.node('Det', [x], {}, { output: 'determinant' }), 'f32', [1])
  expect(() => onnxToTflite(graph.build())).toThrow(
    "Det 'determinant': the operator Det cannot be converted to TFLite; deliver this model as ONNX instead.",
  )
  const words = graphBuilder('words')
  const word = words.input('word', 'string', [1])
  words.output('y', words.node('StringNormalizer', [word], { stopwords: texts(['a']) }), 'string', [1])
  expect(() => onnxToTflite(words.build())).toThrow("The input 'word' is of type string")
  const pad = graphBuilder('computed')
  const size = pad.input('size', 'i64', [2])
  const data = pad.constant('data', tensorOf('f32', [1], [1]))
  pad.output('y', pad.node('Pad', [data, size]), 'f32', null)
  expect(() => onnxToTflite(pad.build())).toThrow(
    "'size' is not a constant. TFLite needs it when the model is converted.",
  )
})

it('text labels become class numbers, and a note lists them', () => {
  const graph = graphBuilder('labels')
  const best = graph.node('ArgMax', [graph.input('x', 'f32', [2, 3])], { axis: int(1), keepdims: int(0) })
  const names = graph.constant('names', stringTensorOf([3], ['ham', 'spam', 'eggs']))
  graph.output('label', graph.node('Gather', [names, best]), 'string', [2])
  const { bytes, notes } = onnxToTflite(graph.build())
  expect(notes).toEqual(['label: the number of the class, not its name: 0 ham, 1 spam, 2 eggs.'])
  expect(count(bytes, 'ARG_MAX')).toBe(1)
})

it('.litertlm bundles and other files are recognized and refused', () => {
  const bundle = new TextEncoder().encode('LITERTLM and more')
  expect(isLitertBundle(bundle)).toBe(true)
  expect(() => readTflite(bundle)).toThrow('A .litertlm bundle contains several models')
  expect(() => readTflite(new Uint8Array(3))).toThrow("Not a TFLite model: 'TFL3' is expected at the 5th byte.")
})

it('damaged files and models always result in bad requests', async () => {
  const onnx = await readFile(`${FOLDER}/series.onnx`)
  const { bytes } = await converted('forest')
  const random = randomFrom(1)
  const isBadRequest = (run: () => unknown) => {
    try {
      run()
    } catch (error) {
      expect(error).toMatchObject({ code: 'bad_request' })
    }
  }
  for (let round = 0; round < 50; round++) {
    for (const file of [onnx, bytes]) {
      const damaged = Uint8Array.from(file)
      for (let change = 0; change < 4; change++) damaged[random(damaged.length)] = random(256)
      isBadRequest(() => (file === onnx ? onnxToTflite(readOnnx(damaged)) : readTflite(damaged)))
    }
  }
})
