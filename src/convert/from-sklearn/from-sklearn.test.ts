import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { bytesSource } from '../../tensors/sources.ts'
import { mutationsOf } from '../mutations.fixture.ts'
import { evaluate } from '../onnx/evaluate.fixture.ts'
import type { Value } from '../onnx/evaluate-operators.fixture.ts'
import type { OnnxModel } from '../onnx/model.ts'
import { readOnnx } from '../onnx/read-onnx.ts'
import { writeOnnx } from '../onnx/write-onnx.ts'
import { sklearnToOnnx } from './sklearn-to-onnx.ts'

type Cell = number | string | boolean | null
interface Case {
  X: number
  label?: Cell[]
  probabilities?: number[][]
  scores?: number[][]
  variable?: number[][]
}

// What scikit-learn itself predicts: see make.py there.
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

/** The rows as the graph's inputs: one of all columns, or one for each. */
const inputsOf = ({ graph }: OnnxModel, rows: Cell[][]): Record<string, Value> =>
  graph.inputs.length === 1
    ? { [graph.inputs[0]!.name]: tableOf(rows) }
    : Object.fromEntries(
        graph.inputs.map(({ name }) => [name, tableOf(rows.map((row) => [row[Number(name.slice(1))]!]))]),
      )

it.each(cases)('$path predicts what scikit-learn does', ({ path, rows, wanted }) => {
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

it('labels are integers or texts, probabilities a tensor', () => {
  const { graph } = convert(fixture('1.9/forest.joblib')).model
  expect(graph.inputs).toEqual([{ name: 'X', type: 'f32', shape: ['batch', 4] }])
  expect(graph.outputs).toEqual([
    { name: 'label', type: 'string', shape: ['batch'] },
    { name: 'probabilities', type: 'f32', shape: ['batch', 3] },
  ])
})

it('columns that nothing uses are no inputs beside texts', () => {
  const { graph } = convert(fixture('1.9/columns-union.pkl')).model
  expect(graph.inputs.map(({ name, type }) => `${name}: ${type}`)).toEqual(['X0: string', 'X2: f32'])
})

it('columns of numbers and texts are inputs of their own, which a note names', () => {
  const { model, notes } = convert(fixture('1.9/columns-mixed.joblib'))
  expect(model.graph.inputs.map(({ name, type }) => `${name}: ${type}`)).toEqual(['X0: string', 'X1: f32', 'X2: f32'])
  expect(notes).toEqual(['Each column is a separate input: X0, X1, X2.'])
})

/** A pickle from text, of which each character is a byte. */
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

it('damaged files are converted or refused, and never fail in any other way', () => {
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
