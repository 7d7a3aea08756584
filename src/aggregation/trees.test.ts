import { readFileSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { frameworkPath, pairFile } from '../../test/fixtures/frameworks/open.ts'
import { strategySettings } from '../domain/strategy-settings.ts'
import { RawValue, type XgboostValue } from '../tensors/xgboost-document.ts'
import { writeTrees } from '../tensors/xgboost-trees.ts'
import { aggregateFiles } from './aggregate-files.ts'
import { inspectFile } from './inspect.ts'
import { readTreeFile } from './trees.ts'
import { jobOf, temporaryFolder } from './weight-samples.fixture.ts'

let files: ReturnType<typeof temporaryFolder>
beforeEach(() => {
  files = temporaryFolder()
})
afterEach(() => files.remove())

const boost = (name: string, extension: string): string => frameworkPath(`boost_${name}.${extension}`)

const combine = (strategy: string, globalPath: string | null, ...paths: string[]) =>
  combineInTurn(0, strategy, globalPath, ...paths)

const combineInTurn = (turn: number, strategy: string, globalPath: string | null, ...paths: string[]) =>
  aggregateFiles(
    jobOf({
      turn,
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

/** A JSON model that another program has changed and written. */
const changed = (name: string, change: (learner: Learner) => void): string => {
  const model = JSON.parse(readFileSync(boost(name, 'json'), 'utf8'))
  change(model.learner)
  return files.write(`${name}.json`, Buffer.from(JSON.stringify(model, null, 1)))
}

interface Learner {
  objective: { reg_loss_param: Record<string, string> }
  learner_model_param: Record<string, string>
  gradient_booster: { model: Record<string, unknown> & { trees: { split_conditions: (number | string)[] }[] } }
}

/** A JSON model as XGBoost 2 and later write it, with the index of each round's first tree. */
const withRounds = (name: string, rounds: readonly number[]): string =>
  changed(name, ({ gradient_booster: { model } }) => {
    model.iteration_indptr = rounds
  })

/** A JSON model as XGBoost 3.1 and later write it, with the categories of its one encoded column. */
const withCategories = (name: string, categories: string | readonly number[]): string =>
  changed(name, ({ gradient_booster: { model } }) => {
    const values = typeof categories === 'string' ? [...Buffer.from(categories)] : categories
    const enc = categories === '' ? [] : [{ offsets: [0, 1, 2], values }]
    model.cats = { enc, feature_segments: categories === '' ? [] : [0, 2], sorted_idx: [] }
  })

/** The model without its trees. */
const withoutTrees = (path: string): string => {
  const { learner, ...rest } = JSON.parse(readFileSync(path, 'utf8'))
  Object.assign(learner.gradient_booster.model, { gbtree_model_param: { num_trees: '0', num_parallel_tree: '1' } })
  Object.assign(learner.gradient_booster.model, { trees: [], tree_info: [] })
  return files.write('empty.json', Buffer.from(JSON.stringify({ learner, ...rest })))
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

it('cyclic training uses one update, which changes with the turn, however many trees a round adds', async () => {
  const [model, a, b] = ['model', 'a', 'b'].map((name) => boost(name, 'ubj')) as [string, string, string]
  for (const [turn, first] of [
    [0, true],
    [1, false],
    [2, true],
    [2 ** 32 + 3, false],
  ] as const) {
    const [one, other] = first ? [1, 0] : [0, 1]
    expect(await combineInTurn(turn, 'xgb_cyclic', model, a, b)).toMatchObject({
      weights: [{ weight: one }, { weight: other }],
    })
    expect(conditions(files.path('out'))).toEqual(conditions(first ? a : b))
  }
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

it('a model that another program has written is continued as well', async () => {
  const rewritten = changed('model', () => undefined)
  expect(readFileSync(rewritten)).not.toEqual(readFileSync(boost('model', 'json')))
  await combine('xgb_bagging', rewritten, boost('a', 'json'), boost('b', 'json'))
  expect(readTreeFile(files.path('out')).trees).toHaveLength(2 + 3 + 3)
  const other = changed('model', ({ gradient_booster: { model } }) => {
    model.trees[1]!.split_conditions[0] = 0.25
  })
  await combine('xgb_bagging', other, boost('a', 'json'))
  expect(readTreeFile(files.path('out')).trees).toHaveLength(2 + 5)
})

it('trees with the same categories are combined, also from a model without trees, which has none yet', async () => {
  const empty = withoutTrees(withCategories('model', ''))
  const [a, b] = [withCategories('a', 'xy'), withCategories('b', 'xy')]
  for (const model of [null, empty]) {
    await combine('xgb_bagging', model, a, b)
    const { trees, root } = readTreeFile(files.path('out'))
    expect(trees).toHaveLength(10)
    const categoriesIn = (path: string) => JSON.parse(readFileSync(path, 'utf8')).learner.gradient_booster.model.cats
    expect(categoriesIn(files.path('out'))).toEqual(categoriesIn(a))
    expect(root.size).toBe(2)
  }
  for (const [model, ...updates] of [
    [empty, a, withCategories('b', 'yx')],
    [a, withCategories('b', '')],
    [boost('model', 'json'), a],
    // Equal as float32.
    [withCategories('model', [20240101, 20240103]), withCategories('b', [20240100, 20240104])],
  ] as const)
    await expect(combine('xgb_bagging', model, ...updates)).rejects.toThrow('its cats is different')
})

it('names what differs, and trees of another version of XGBoost', async () => {
  const refusal = (change: (learner: Learner) => void) =>
    expect(combine('xgb_bagging', boost('a', 'json'), changed('b', change))).rejects
  await refusal(({ learner_model_param: parameters, objective }) => {
    parameters.num_feature = '5'
    objective.reg_loss_param.scale_pos_weight = '2'
  }).toThrow('its num_feature, objective.reg_loss_param.scale_pos_weight are different.')
  await refusal(({ learner_model_param: parameters }) => {
    parameters.boost_from_average = '1'
  }).toThrow('its boost_from_average is different (another version of XGBoost may have written it).')
})

it('leaves that are NaN or infinite are refused, conditions of other nodes are not', async () => {
  const options = { expected: null, rawVectors: 'none', trees: true } as const
  const inspect = (node: number, value: number) => {
    const path = changed('a', ({ gradient_booster: { model } }) => {
      model.trees[3]!.split_conditions[node] = 'number'
    })
    const text = readFileSync(path, 'utf8').replace('"number"', String(value))
    return inspectFile(files.write('a.json', Buffer.from(text)), options)
  }
  const leaf = 'Tree 3 of the XGBoost model contains NaN or infinity in its leaves'
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY, 1e39])
    await expect(inspect(4, value)).rejects.toThrow(leaf)
  for (const value of [Number.NaN, Number.NEGATIVE_INFINITY])
    expect(await inspect(0, value)).toMatchObject({ format: 'xgboost-json' })

  const model = readTreeFile(boost('a', 'ubj'))
  const tree = model.trees[3] as Map<string, XgboostValue>
  const bytes = Uint8Array.from((tree.get('split_conditions') as RawValue).bytes)
  bytes.set([0x7f, 0xc0, 0, 0], bytes.length - 4)
  tree.set('split_conditions', new RawValue(bytes))
  await expect(inspectFile(files.write('a.ubj', writeTrees(model, [])), options)).rejects.toThrow(leaf)
})

it.each([
  ['left_children', 0, 9999, 'node 0 has the child 9999, but there are'],
  ['right_children', 0, -1, 'node 0 has the child -1, but there are'],
  ['left_children', 0, 0, 'node 0 has more than one parent, or is in a cycle'],
  ['right_children', 0, 1, 'node 1 has more than one parent, or is in a cycle'],
  ['split_indices', 0, 500, 'node 0 splits on feature 500, but the model has'],
  ['split_indices', 0, -1, 'node 0 splits on feature -1, but the model has'],
  ['split_conditions', null, null, 'split_conditions has '],
  ['sum_hessian', null, null, 'sum_hessian has '],
] as const)('an update with a damaged tree is refused: %s[%s] is %s', async (list, node, value, reason) => {
  const path = changed('a', ({ gradient_booster: { model } }) => {
    const numbers = (model.trees[3] as unknown as Record<string, number[]>)[list]!
    if (node === null) numbers.pop()
    else numbers[node] = value
  })
  await expect(inspectFile(path, { expected: null, rawVectors: 'none', trees: true })).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringContaining(`Tree 3 of the XGBoost model is damaged: ${reason}`),
  })
})

it('a pruned tree, whose lists still have the nodes that were cut off, is accepted; missing categories and classes are not', async () => {
  const options = { expected: null, rawVectors: 'none', trees: true } as const
  const pruned = changed('a', ({ gradient_booster: { model } }) => {
    const tree = model.trees[3] as unknown as Record<string, number[]>
    Object.assign(tree, { left_children: tree.left_children!.fill(-1), right_children: tree.right_children!.fill(-1) })
    tree.split_indices!.fill(2147483647)
  })
  expect(await inspectFile(pruned, options)).toMatchObject({ format: 'xgboost-json' })
  const cut = changed('a', ({ gradient_booster: { model } }) => {
    const categories = { categories_nodes: [0], categories_segments: [0], categories_sizes: [3], categories: [1] }
    Object.assign(model.trees[3]!, categories)
  })
  await expect(inspectFile(cut, options)).rejects.toThrow('is damaged: the categories of a node are missing')
  const other = changed('a', ({ gradient_booster: { model } }) => {
    ;(model.tree_info as number[])[0] = 7
  })
  await expect(inspectFile(other, options)).rejects.toThrow('tree_info names a class that does not exist (classes: 1)')
})

it('the leaves of trees with several outputs are their weights, not their conditions', async () => {
  const inspect = (weight: number | 'NaN') => {
    const path = changed('a', ({ gradient_booster: { model } }) => {
      const tree = model.trees[3]!
      const one = { left_children: [-1], right_children: [-1], parents: [2147483647], split_conditions: ['NaN'] }
      Object.assign(tree, { split_indices: [0], default_left: [0] })
      Object.assign(tree, one, { base_weights: [0.5, weight], tree_param: { num_nodes: '1', size_leaf_vector: '2' } })
    })
    const text = readFileSync(path, 'utf8').replaceAll('"NaN"', 'NaN')
    const options = { expected: null, rawVectors: 'none', trees: true } as const
    return inspectFile(files.write('a.json', Buffer.from(text)), options)
  }
  expect(await inspect(0.25)).toMatchObject({ format: 'xgboost-json' })
  await expect(inspect('NaN')).rejects.toThrow('Tree 3 of the XGBoost model contains NaN or infinity in its leaves')
})

it('a file that is rewritten is the same model', () => {
  for (const extension of ['json', 'ubj']) {
    const model = readTreeFile(boost('a', extension))
    writeFileSync(files.path('again'), writeTrees(model, []))
    expect(conditions(files.path('again'))).toEqual(conditions(boost('a', extension)))
  }
})

it.each([
  [
    'refused_score.json',
    "The update of device 'd1' cannot be combined with the others: its base_score is different, which XGBoost",
  ],
  ['boost_b.ubj', "The update of device 'd1' cannot be combined with the others: it is UBJSON instead of JSON"],
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
