import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runGraph } from '../../inference/engines/onnx/run-graph.ts'
import { testEngines } from '../../inference/engines/optional/test-engines.fixture.ts'
import { bytesSource } from '../../tensors/sources.ts'
import { mutationsOf } from '../mutations.fixture.ts'
import { evaluate } from '../onnx/evaluate.fixture.ts'
import type { Value } from '../onnx/evaluate-operators.fixture.ts'
import { graphBuilder } from '../onnx/graph-builder.ts'
import type { OnnxModel } from '../onnx/model.ts'
import { readOnnx } from '../onnx/read-onnx.ts'
import { writeOnnx } from '../onnx/write-onnx.ts'
import { onnxToTflite } from '../to-tflite/onnx-to-tflite.ts'
import { squaredDistances } from './distances.ts'
import { sklearnToOnnx } from './sklearn-to-onnx.ts'
import { TableGraph } from './table.ts'

type Cell = number | string | boolean | null
interface Case {
  X: number
  label?: Cell[]
  probabilities?: number[][]
  scores?: number[][]
  variable?: number[][]
}

// Predictions of scikit-learn itself: see make.py there.
const FOLDER = 'test/fixtures/sklearn'
const expected = ['1.2', '1.6', '1.9'].map((version) => ({
  version,
  ...(JSON.parse(readFileSync(join(FOLDER, version, 'expected.json'), 'utf8')) as {
    inputs: Cell[][][]
    cases: Record<string, Case>
  }),
}))
const cases = expected.flatMap(({ version, inputs, cases }) =>
  Object.entries(cases).map(([name, wanted]) => ({ path: `${version}/${name}`, rows: inputs[wanted.X]!, wanted })),
)
const convert = (bytes: Uint8Array) => sklearnToOnnx(bytesSource(bytes))
const fixture = (path: string) => readFileSync(join(FOLDER, path))

const tableOf = (rows: Cell[][]): Value => ({
  shape: [rows.length, rows[0]!.length],
  data: rows.flat().map((value) => (value === null ? Number.NaN : (value as number | string))),
})

/** The rows as the graph's inputs: one for all columns, or one per column. */
const inputsOf = ({ graph }: OnnxModel, rows: Cell[][]): Record<string, Value> =>
  graph.inputs.length === 1
    ? { [graph.inputs[0]!.name]: tableOf(rows) }
    : Object.fromEntries(
        graph.inputs.map(({ name }) => [name, tableOf(rows.map((row) => [row[Number(name.slice(1))]!]))]),
      )

it.each(cases)('$path predicts the same as scikit-learn', ({ path, rows, wanted }) => {
  const model = readOnnx(writeOnnx(convert(fixture(path)).model))
  const outputs = evaluate(model, inputsOf(model, rows))
  for (const name of ['probabilities', 'scores', 'variable'] as const) {
    if (wanted[name] === undefined) continue
    expect(outputs[name]!.shape).toEqual([rows.length, wanted[name][0]!.length])
    const apart = wanted[name].flat().map((value, at) => {
      const difference = Math.abs(value - (outputs[name]!.data[at] as number))
      return difference / Math.max(1, Math.abs(value))
    })
    expect(Math.max(...apart)).toBeLessThan(1e-5)
  }
  if (wanted.label !== undefined)
    expect(outputs.label!.data).toEqual(
      wanted.label.map((label) => (typeof label === 'boolean' ? Number(label) : label)),
    )
})

const differenceOf = (found: ArrayLike<number | bigint>, wanted: readonly number[]): number =>
  wanted.reduce((most, value, at) => {
    const difference = Math.abs(Number(found[at]) - value) / Math.max(1, Math.abs(value))
    return difference > most || Number.isNaN(difference) ? difference : most
  }, 0)

const far = cases.filter(({ path }) => path.includes('-far.'))

it.skipIf(testEngines === null).each(far)('$path predicts it in float32 too', async ({ path, rows, wanted }) => {
  const { bytes } = onnxToTflite(convert(fixture(path)).model, { inputShape: [rows.length, rows[0]!.length] })
  const data = Float32Array.from(rows.flat().map(Number))
  const sample = { X: { type: 'float32', dims: [rows.length, rows[0]!.length], data } }
  const ran = await runGraph(bytes, [sample], { format: 'tflite', engines: testEngines! })
  if ('notRun' in ran) throw new Error(ran.notRun)
  const [outputs] = ran.outputs
  const of = (name: string) => outputs![name]!.data as ArrayLike<number>
  for (const name of ['probabilities', 'scores', 'variable'] as const)
    if (wanted[name] !== undefined) expect(differenceOf(of(name), wanted[name].flat())).toBeLessThan(1e-4)
  if (wanted.label !== undefined) expect(differenceOf(of('label'), wanted.label.map(Number))).toBe(0)
})

/** A model with squared distances of 2 rows to the points. */
const distancesModel = (
  columns: number,
  points: ArrayLike<number>,
  options: Parameters<typeof squaredDistances>[5],
) => {
  const builder = graphBuilder('distances')
  const graph = new TableGraph(builder)
  const count = points.length / columns
  const x = graph.castTo(builder.input('x', 'f32', [2, columns]), 'f64')
  const distances = squaredDistances(graph, x, columns, count, points, options)
  builder.output('y', graph.castTo(distances, 'f32'), 'f32', [2, count])
  return builder.build()
}

it.skipIf(testEngines === null)(
  'distances to many points far from the origin keep their digits in float32',
  async () => {
    const points = Array.from({ length: 1200 }, (_, at) => [4.485e6 + (at % 41) / 4, 48.85 + (at % 37) / 400]).flat()
    const model = distancesModel(2, points, {})
    expect(model.graph.nodes.some(({ type }) => type === 'MatMul')).toBe(true)
    const data = Float32Array.from([4.485e6 + 1, 48.85, 4.485e6 + 8, 48.9])
    const sample = { x: { type: 'float32', dims: [2, 2], data } }
    const { bytes } = onnxToTflite(model)
    const ran = await runGraph(bytes, [sample], { format: 'tflite', engines: testEngines! })
    if ('notRun' in ran) throw new Error(ran.notRun)
    const wanted = [0, 1].flatMap((row) =>
      Array.from(
        { length: 1200 },
        (_, at) => (data[row * 2]! - points[at * 2]!) ** 2 + (data[row * 2 + 1]! - points[at * 2 + 1]!) ** 2,
      ),
    )
    expect(differenceOf(ran.outputs[0]!.y!.data as Float32Array, wanted)).toBeLessThan(1e-4)
  },
)

it.each([
  ['of clusters of images', 60, 784, {}, false],
  ['of few points', 100, 20, {}, true],
  ['of more points', 101, 20, {}, false],
  ['with ties', 60, 784, { ties: true }, true],
  ['with ties of very many points', 70, 784, { ties: true }, false],
  ['in a smooth kernel', 1000, 20, { weight: 0.05 }, false],
  ['in a steep kernel', 1000, 20, { weight: 500 }, true],
  ['in a steep kernel with very many vectors', 1001, 20, { weight: 500 }, false],
])('distances %s: %i x %i, case %#', (_, points, columns, options, isIndividual) => {
  const data = Array.from({ length: points * columns }, (__, at) => (at * 7919) % 11)
  const types = distancesModel(columns, data, options).graph.nodes.map(({ type }) => type)
  // A matrix product needs no numbers for each coordinate of each point and row.
  expect(types.includes('MatMul')).toBe(!isIndividual)
  expect(types.includes('Unsqueeze')).toBe(isIndividual)
})

it.skipIf(testEngines === null)('no rows have no neighbors', async () => {
  const { model } = convert(fixture('1.9/neighbors.pkl'))
  const none = { X: { type: 'float32', dims: [0, 4], data: new Float32Array(0) } }
  const ran = await runGraph(writeOnnx(model), [none], { engines: testEngines! })
  expect(ran).toMatchObject({ outputs: [{ label: { dims: [0] }, probabilities: { dims: [0, 3] } }] })
})

it('rows like the training data come with a model that keeps its statistics', () => {
  const rowsOf = (path: string) => convert(fixture(path)).typicalRows
  const quantiles = far.find(({ path }) => path.includes('quantile'))!.path
  for (const path of [quantiles, '1.9/svc-rbf.joblib', '1.9/robust.joblib', '1.9/bins.joblib']) {
    const rows = rowsOf(path)?.X
    expect(rows).toHaveLength(32)
    expect(rowsOf(path)?.X).toEqual(rows)
  }
  const [longitudes, years] = [0, 1].map((at) => rowsOf(quantiles)!.X!.map((row) => row[at]!))
  expect(longitudes!.every((value) => value > 48.5 && value < 49.2)).toBe(true)
  expect(years!.every((value) => value > 1900 && value < 2120)).toBe(true)
  expect(Object.keys(rowsOf('1.9/columns-mixed.joblib')!)).toEqual(['X0', 'X1', 'X2'])
  expect(rowsOf('1.9/linear.pkl')).toBeUndefined()
})

it('rows for distances to clusters are near their centers, not at them', () => {
  const { model, typicalRows } = convert(fixture('1.9/kmeans-unscaled.joblib'))
  const { scores } = evaluate(model, { X: tableOf(typicalRows!.X!.map((row) => [...row])) })
  const distances = scores!.data as number[]
  expect(distances).toHaveLength(32 * 6)
  expect(Math.min(...distances)).toBeGreaterThan(100)
  expect(Math.min(...distances)).toBeLessThan(2000)
})

it('labels are integers or strings, probabilities a tensor', () => {
  const { graph } = convert(fixture('1.9/forest.joblib')).model
  expect(graph.inputs).toEqual([{ name: 'X', type: 'f32', shape: ['batch', 4] }])
  expect(graph.outputs).toEqual([
    { name: 'label', type: 'string', shape: ['batch'] },
    { name: 'probabilities', type: 'f32', shape: ['batch', 3] },
  ])
})

it('unused columns are not inputs if there are text columns', () => {
  const { graph } = convert(fixture('1.9/columns-union.pkl')).model
  expect(graph.inputs.map(({ name, type }) => `${name}: ${type}`)).toEqual(['X0: string', 'X2: f32'])
})

it('columns of numbers and texts are separate inputs, named in a note', () => {
  const { model, notes } = convert(fixture('1.9/columns-mixed.joblib'))
  expect(model.graph.inputs.map(({ name, type }) => `${name}: ${type}`)).toEqual(['X0: string', 'X1: f32', 'X2: f32'])
  expect(notes).toEqual(['Each column is a separate input: X0, X1, X2.'])
})

/** A pickle from a string with one byte per character. */
const pickle = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0))

it.each<[string, string, RegExp]>([
  [
    'an estimator that is not known',
    '\x80\x02csklearn.x\nOther\n)\x81.',
    /Other cannot be converted. Supported are linear models/,
  ],
  ['what was not fitted', '\x80\x02csklearn.linear_model\nRidge\n)\x81.', /Ridge: it is not fitted/],
  [
    'a pipeline inside of itself',
    '\x80\x02csklearn.pipeline\nPipeline\n)\x81q\0}(X\x05\0\0\0steps]X\x01\0\0\0ah\0\x86aX\x0e\0\0\0n_features_in_K\x02ub.',
    /more than 16 levels/,
  ],
  ['what is no estimator', '\x80\x02].', /The object in the file is not an estimator/],
])('%s is refused', (_, text, message) => {
  expect(() => convert(pickle(text))).toThrow(message)
})

it('categories that a string input cannot tell apart are refused', () => {
  expect(() => convert(fixture('unreadable/ordinal-ambiguous.pkl'))).toThrow(
    "OrdinalEncoder: categories_[0] contains more than one of '', None, and NaN",
  )
})

it('damaged files are converted or refused and never fail in any other way', () => {
  const names = [
    'forest.pkl',
    'boosting-zero.pkl',
    'svc-probability.pkl',
    'hist.pkl',
    'mlp.pkl',
    'columns.pkl',
    'voting.pkl',
  ]
  const paths = cases
    .map(({ path }) => path)
    .filter((path) => names.some((name) => path.startsWith(`1.9/${name.slice(0, -4)}.`)))
  expect(paths).toHaveLength(names.length)
  for (const path of paths)
    for (const bytes of mutationsOf(fixture(path), 60)) {
      try {
        writeOnnx(convert(bytes).model)
      } catch (error) {
        if ((error as { code?: string }).code !== 'bad_request')
          throw new Error(`A mutation of ${path}`, { cause: error })
      }
    }
})
