import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { bytesSource } from '../../tensors/sources.ts'
import { mutationsOf } from '../mutations.fixture.ts'
import { evaluate } from '../onnx/evaluate.fixture.ts'
import type { Value } from '../onnx/evaluate-operators.fixture.ts'
import { readOnnx } from '../onnx/read-onnx.ts'
import { writeOnnx } from '../onnx/write-onnx.ts'
import { xgboostToOnnx } from './xgboost-to-onnx.ts'

// Predictions of XGBoost itself: see make.py there.
const FOLDER = 'test/fixtures/xgboost'
const expected = JSON.parse(readFileSync(join(FOLDER, 'expected.json'), 'utf8')) as {
  X: (number | null)[][]
  cases: Record<string, { objective: string; predict: number[] | number[][] }>
}
const X: Value = {
  shape: [expected.X.length, expected.X[0]!.length],
  data: expected.X.flat().map((value) => value ?? Number.NaN),
}
const convert = (bytes: Uint8Array) => xgboostToOnnx(bytesSource(bytes))

const largestDifference = (found: Value, wanted: readonly number[]): number => {
  expect(found.data.length).toBe(wanted.length)
  return Math.max(...wanted.map((value, at) => Math.abs(value - (found.data[at] as number))))
}

it.each(Object.entries(expected.cases))('%s predicts the same as XGBoost', (name, { objective, predict }) => {
  const { model } = convert(readFileSync(join(FOLDER, name)))
  const outputs = evaluate(readOnnx(writeOnnx(model)), { X })
  const wanted = predict.flat()
  if (outputs.variable !== undefined) expect(largestDifference(outputs.variable, wanted)).toBeLessThan(1e-5)
  else if (objective === 'multi:softmax') expect(outputs.label!.data).toEqual(wanted)
  else if (objective.startsWith('multi')) {
    expect(largestDifference(outputs.probabilities!, wanted)).toBeLessThan(1e-5)
    expect(outputs.label!.data).toEqual((predict as number[][]).map((row) => row.indexOf(Math.max(...row))))
  } else {
    const positive = { shape: [], data: outputs.probabilities!.data.filter((_, at) => at % 2 === 1) }
    expect(largestDifference(positive, wanted)).toBeLessThan(1e-5)
    expect(outputs.label!.data).toEqual(wanted.map((value) => Number(value > 0.5)))
  }
})

it('uses the best iteration of a wrapper that stopped early and says so', () => {
  expect(convert(readFileSync(join(FOLDER, 'stopped.json'))).notes).toEqual([
    expect.stringMatching(/^Only the first \d+ of \d+ trees are used, up to the best iteration of early stopping\.$/),
  ])
})

/** The model with one member of its learner, named by its path, changed. */
const edited = (path: string, value: unknown): Uint8Array => {
  const file = JSON.parse(readFileSync(join(FOLDER, 'squarederror.json'), 'utf8'))
  const names = path.split('.')
  const last = names.pop()!
  names.reduce((part, name) => part[name], file.learner)[last] = value
  return new TextEncoder().encode(JSON.stringify(file))
}
const TREE = 'gradient_booster.model.trees.0'

it.each([
  ['a custom objective', 'objective.name', 'mine', /The XGBoost objective 'mine' cannot be converted/],
  ['another booster', 'gradient_booster.name', 'x', /booster 'x' cannot be converted; only gbtree/],
  ['a cycle', `${TREE}.left_children.1`, 0, /Tree 0 is damaged: a node has several parents/],
  ['a node that is not there', `${TREE}.left_children.0`, 99, /has no node 99/],
  ['a feature that is not there', `${TREE}.split_indices.0`, 9, /feature 9 of 5/],
  ['a column that is too short', `${TREE}.split_indices`, [1], /split_indices has 1 of \d+ nodes/],
  ['a base score that is no number', 'learner_model_param.base_score', 'x', /base_score is not a number/],
  ['a model without trees', 'gradient_booster.model.trees', [], /has no trees/],
])('%s is refused', (_, path, value, message) => {
  expect(() => convert(edited(path, value))).toThrow(message)
})

it('a split by many categories is one node at any depth', () => {
  const depth = 12
  const own = [0, 2, 4, 6, 8, 10, 12, 14, 16, 18]
  const nodes = Array.from({ length: 2 * depth + 1 }, (_, id) => ({ id, isSplit: id % 2 === 0 && id < 2 * depth }))
  const splits = nodes.filter(({ isSplit }) => isSplit).map(({ id }) => id)
  const tree = {
    left_children: nodes.map(({ id, isSplit }) => (isSplit ? id + 1 : -1)),
    right_children: nodes.map(({ id, isSplit }) => (isSplit ? id + 2 : -1)),
    split_conditions: nodes.map(({ id }) => id),
    split_indices: nodes.map(({ id, isSplit }) => (isSplit ? (id / 2) % 5 : 0)),
    split_type: nodes.map(({ isSplit }) => Number(isSplit)),
    default_left: nodes.map(() => 1),
    categories: splits.flatMap(() => own),
    categories_nodes: splits,
    categories_segments: splits.map((_, at) => at * own.length),
    categories_sizes: splits.map(() => own.length),
    tree_param: {},
  }
  const one = edited('gradient_booster.model', { trees: [tree], tree_info: [0], gbtree_model_param: {} })
  const { variable } = evaluate(convert(one).model, {
    // All known categories, then the third one unknown, too large, missing, and negative.
    X: {
      shape: [5, 5],
      data: [
        [2, 4, 6, 8, 18],
        [2, 4, 5, 8, 0],
        [99, 0, 0, 0, 0],
        [0, Number.NaN, 0, 0, 0],
        [0, 0, 0, -1, 0],
      ].flat(),
    },
  })
  const [base] = evaluate(convert(one).model, { X: { shape: [1, 5], data: [1, 0, 0, 0, 0] } }).variable!
    .data as number[]
  expect(variable!.data.map((value) => (value as number) - base! + 1)).toEqual([24, 5, 1, 3, 7])
})

it('a file that is not a model is refused with advice', () => {
  expect(() => convert(new TextEncoder().encode('binf\0\0'))).toThrow('booster.save_model("model.json")')
  expect(() => convert(Uint8Array.of(0x7b, 0x5b, 0x24, 0x5a, 0x23, 0x4c))).toThrow(/bad_request|damaged|not a length/)
})

it('damaged files are converted or refused and never fail in any other way', () => {
  const names = readdirSync(FOLDER).filter((name) => /^(binary|linear|onehot|dart|targets)\.(json|ubj)$/.test(name))
  for (const name of names)
    for (const bytes of mutationsOf(readFileSync(join(FOLDER, name)), 80)) {
      try {
        writeOnnx(convert(bytes).model)
      } catch (error) {
        if ((error as { code?: string }).code !== 'bad_request')
          throw new Error(`A mutation of ${name}`, { cause: error })
      }
    }
})
