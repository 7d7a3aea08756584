import { readFileSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { frameworkPath, pairFile } from '../../test/fixtures/frameworks/open.ts'
import { strategySettings } from '../domain/strategy-settings.ts'
import { writeTrees } from '../tensors/xgboost-trees.ts'
import { aggregateFiles } from './aggregate-files.ts'
import { inspectFile } from './inspect.ts'
import { readTreeFile } from './trees.ts'
import { jobOf, temporaryFolder } from './weight-samples.fixture.ts'

let files = temporaryFolder()
beforeEach(() => {
  files = temporaryFolder()
})
afterEach(() => files.remove())

const boost = (name: string, extension: string): string => frameworkPath(`boost_${name}.${extension}`)

const combine = (strategy: string, globalPath: string | null, ...paths: string[]) =>
  aggregateFiles(
    jobOf({
      strategy: strategySettings(strategy),
      globalPath,
      updates: paths.map((path, k) => ({ id: `d${k}`, path, numSamples: 1 + k })),
      outputPath: files.path('out'),
    }),
  )

/** The leaves and conditions of every tree, one string each. */
const conditions = (path: string): string[] => {
  const { trees } = readTreeFile(path)
  return trees.map((tree) =>
    JSON.stringify([...(tree as ReadonlyMap<string, unknown>)].filter(([name]) => name !== 'id')),
  )
}

/** A JSON model as XGBoost 2 and later write it, with the index of each round's first tree. */
const withRounds = (name: string, rounds: readonly number[]): string => {
  const model = JSON.parse(readFileSync(boost(name, 'json'), 'utf8'))
  model.learner.gradient_booster.model.iteration_indptr = rounds
  return files.write(`${name}.json`, Buffer.from(JSON.stringify(model)))
}

it.each(['json', 'ubj'])(
  'bagging unites the trees from whole models or from new trees alone: %s',
  async (extension) => {
    const [model, a, b] = ['model', 'a', 'b'].map((name) => boost(name, extension)) as [string, string, string]
    const union = [...conditions(a), ...conditions(b).slice(2)]
    const result = await combine('xgb_bagging', model, a, b)
    expect(result).toMatchObject({ format: `xgboost-${extension}`, weights: [{ weight: 0.5 }, { weight: 0.5 }] })
    expect(conditions(files.path('out'))).toEqual(union)
    expect(
      readTreeFile(files.path('out')).trees.map((tree) => (tree as ReadonlyMap<string, unknown>).get('id')),
    ).toEqual([...union.keys()])
    await combine('xgb_bagging', model, boost('a_new', extension), boost('b_new', extension))
    expect(conditions(files.path('out'))).toEqual(union)
    const alone = [boost('a_alone', extension), boost('b_alone', extension)] as const
    await combine('xgb_bagging', null, ...alone)
    expect(conditions(files.path('out'))).toEqual(alone.flatMap(conditions))
  },
)

it('cyclic training uses one update, which changes as the model grows', async () => {
  const [model, a, b] = ['model', 'a', 'b'].map((name) => boost(name, 'ubj')) as [string, string, string]
  expect(await combine('xgb_cyclic', model, a, b)).toMatchObject({ weights: [{ weight: 1 }, { weight: 0 }] })
  expect(conditions(files.path('out'))).toEqual(conditions(a))
  // The model now has five trees.
  expect(await combine('xgb_cyclic', a, a, b)).toMatchObject({ weights: [{ weight: 0 }, { weight: 1 }] })
  await combine('xgb_cyclic', model, boost('b_new', 'ubj'))
  expect(conditions(files.path('out'))).toEqual(conditions(b))
})

it('boosting rounds continue the count', async () => {
  const paths = [withRounds('model', [0, 1, 2]), withRounds('a', [0, 1, 2, 5]), withRounds('b', [0, 1, 2, 3, 4, 5])]
  await combine('xgb_bagging', paths[0]!, paths[1]!, paths[2]!)
  expect(readTreeFile(files.path('out')).rounds).toEqual([0, 1, 2, 5, 6, 7, 8])
  await combine('xgb_bagging', null, withRounds('a_new', [0, 1, 2, 3]), withRounds('b_new', [0, 3]))
  expect(readTreeFile(files.path('out')).rounds).toEqual([0, 1, 2, 3, 6])
})

it('a file that is rewritten is the same model', () => {
  for (const extension of ['json', 'ubj']) {
    const model = readTreeFile(boost('a', extension))
    writeFileSync(files.path('again'), writeTrees(model, []))
    expect(conditions(files.path('again'))).toEqual(conditions(boost('a', extension)))
  }
})

it.each([
  ['refused_score.json', 'base_score, which XGBoost estimates from the data'],
  ['boost_b.ubj', "The update of device 'd1' cannot be combined with the others: it is UBJSON, the others are JSON"],
  ['refused_linear.json', 'booster is "gblinear"'],
  ['linear_a.pkl', 'not an XGBoost model in JSON or UBJSON'],
])('%s is refused in combination with other trees: %s', async (name, reason) => {
  await expect(combine('xgb_bagging', null, boost('a', 'json'), frameworkPath(name))).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining(reason),
  })
})

it('names the strategies that combine trees if another one was requested', async () => {
  await expect(combine('fedavg', null, boost('a', 'json'), boost('b', 'json'))).rejects.toThrow(
    'strategies xgb_bagging and xgb_cyclic combine them',
  )
  const options = { expected: null, rawVectors: 'none', trees: true } as const
  await expect(inspectFile(pairFile('raw.onnx', 'a'), options)).rejects.toThrow('not an XGBoost model')
  expect(await inspectFile(boost('a', 'json'), options)).toMatchObject({ format: 'xgboost-json', warning: null })
})
