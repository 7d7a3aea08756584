import { badRequest } from '../domain/errors.ts'
import { detectFormat } from './detect.ts'
import { showName } from './shape.ts'
import { readExactly } from './sources.ts'
import type { ByteSource } from './weight-file.ts'
import { integersOf, meaningOf, type XgboostCodec, type XgboostValue } from './xgboost-document.ts'
import { XGBOOST_JSON } from './xgboost-json.ts'
import { requireSoundTree } from './xgboost-nodes.ts'
import { XGBOOST_UBJ } from './xgboost-ubj.ts'

const MAX_MODEL_BYTES = 256 * 1024 * 1024
const MAX_TREES = 1_000_000
const MAX_DIFFERENCES = 5
/** Attributes that count boosting rounds on one device; predictions would stop at them. */
const OF_ONE_TRAINING = ['best_iteration', 'best_score', 'best_ntree_limit']

/** The trees of an XGBoost model (booster gbtree) and the rest of its file. */
export interface TreeModel {
  readonly format: 'xgboost-json' | 'xgboost-ubj'
  readonly trees: readonly XgboostValue[]
  /** The class of each tree. */
  readonly groups: readonly number[]
  /** The index of each boosting round's first tree, then the number of trees; null before version 2. */
  readonly rounds: readonly number[] | null
  readonly root: Map<string, XgboostValue>
}

const CODECS: Readonly<Record<TreeModel['format'], XgboostCodec>> = {
  'xgboost-json': XGBOOST_JSON,
  'xgboost-ubj': XGBOOST_UBJ,
}

const SAVE = 'Save it with booster.save_model("model.json") or "model.ubj".'

const mapIn = (value: XgboostValue | undefined, ...path: readonly string[]): Map<string, XgboostValue> => {
  let found = value
  for (const name of path) found = found instanceof Map ? found.get(name) : undefined
  if (!(found instanceof Map)) throw badRequest(`The XGBoost model has no ${path.join('.') || 'learner'}. ${SAVE}`)
  return found
}

const modelIn = (root: Map<string, XgboostValue>) => mapIn(root, 'learner', 'gradient_booster', 'model')

/** Throws bad_request for other content, boosters without trees, trees that do not match the model's counts, and damaged trees. */
export const readTrees = (source: ByteSource): TreeModel => {
  const format = detectFormat(source)
  if (format !== 'xgboost-json' && format !== 'xgboost-ubj')
    throw badRequest(`The file is not an XGBoost model in JSON or UBJSON. ${SAVE}`)
  if (source.size > MAX_MODEL_BYTES)
    throw badRequest(`The XGBoost model has ${source.size} bytes; at most ${MAX_MODEL_BYTES} are read.`)
  const codec = CODECS[format]
  const root = mapIn(codec.read(readExactly(source, 0, source.size, 'the model')))
  const booster = mapIn(root, 'learner', 'gradient_booster').get('name')
  if (booster !== 'gbtree')
    throw badRequest(
      `The XGBoost model's booster is ${JSON.stringify(booster ?? null)}; only the trees of "gbtree" can be combined.`,
    )
  const model = modelIn(root)
  const trees = model.get('trees')
  const groups = integersOf(codec, model.get('tree_info'))
  const indices = model.get('iteration_indptr')
  const rounds = indices === undefined ? null : integersOf(codec, indices)
  const declared = Number(mapIn(model, 'gbtree_model_param').get('num_trees'))
  if (!Array.isArray(trees) || trees.length !== groups.length || trees.length !== declared || trees.length > MAX_TREES)
    throw badRequest(`The XGBoost model is damaged: it does not have as many trees as it declares. ${SAVE}`)
  const isRising = rounds?.every((offset, i) => offset >= (rounds[i - 1] ?? 0)) ?? true
  if (!trees.every((tree) => tree instanceof Map) || !isRising || (rounds?.at(-1) ?? trees.length) !== trees.length)
    throw badRequest(`The XGBoost model is damaged: its trees or boosting rounds are malformed. ${SAVE}`)
  const parameters = mapIn(root, 'learner', 'learner_model_param')
  const classes = Math.max(1, ...['num_class', 'num_target'].map((name) => Number(parameters.get(name) ?? 1)))
  if (!groups.every((group) => group >= 0 && group < classes))
    throw badRequest(
      `The XGBoost model is damaged: tree_info names a class that does not exist (classes: ${classes}). ${SAVE}`,
    )
  const features = Number(parameters.get('num_feature'))
  for (const [index, tree] of (trees as Map<string, XgboostValue>[]).entries())
    requireSoundTree(codec, tree, { index, features })
  return { format, trees, groups, rounds, root }
}

const sameBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, at) => byte === b[at])

/** A model that is not from XGBoost's own writer (json.dumps) has the same trees in other bytes. */
const sameTree = (codec: XgboostCodec, a: XgboostValue, b: XgboostValue): boolean =>
  sameBytes(codec.write(a), codec.write(b)) || meaningOf(codec, a, Math.fround) === meaningOf(codec, b, Math.fround)

const withId = (tree: XgboostValue, id: number): Map<string, XgboostValue> => new Map(mapIn(tree)).set('id', id)

/** The categories by which XGBoost 3.1 and later encode a data frame; undefined if the model has none. */
const categoriesOf = (root: Map<string, XgboostValue>): XgboostValue | undefined => {
  const categories = modelIn(root).get('cats')
  const columns = categories instanceof Map ? categories.get('enc') : undefined
  return Array.isArray(columns) && columns.length > 0 ? categories : undefined
}

/** The members of a value, by path. */
const membersOf = (path: string, value: XgboostValue | undefined): [string, XgboostValue | undefined][] =>
  value instanceof Map
    ? [...value].flatMap(([name, member]) => membersOf(path === '' ? name : `${path}.${name}`, member))
    : [[path, value]]

/** What models must have in common for their trees to be combined: the format, and values as text by name. */
export interface TreeLayout {
  readonly format: TreeModel['format']
  readonly values: Readonly<Record<string, string>>
}

/** A model without trees may be from before its categories were known. */
export const treeLayoutOf = ({ format, trees, root }: TreeModel): TreeLayout => {
  const codec = CODECS[format]
  const learner = mapIn(root, 'learner')
  const categories = categoriesOf(root)
  const values: [string, XgboostValue | undefined][] = [
    ...membersOf('', mapIn(learner, 'learner_model_param')),
    ...['objective', 'feature_names', 'feature_types'].flatMap((name) => membersOf(name, learner.get(name))),
    ['num_parallel_tree', mapIn(modelIn(root), 'gbtree_model_param').get('num_parallel_tree')],
  ]
  if (categories !== undefined || trees.length > 0) values.push(['cats', categories])
  return { format, values: Object.fromEntries(values.map(([name, value]) => [name, meaningOf(codec, value)])) }
}

/** Describes what prevents combining the trees of two models, as a clause; null if nothing does. */
export const treesDiffer = (expected: TreeLayout, actual: TreeLayout): string | null => {
  if (expected.format !== actual.format)
    return actual.format === 'xgboost-ubj' ? 'it is UBJSON instead of JSON' : 'it is JSON instead of UBJSON'
  const [one, other] = [expected.values, actual.values]
  const names = Object.keys({ ...one, ...other }).filter((name) => one[name] !== other[name])
  const different = names.filter((name) => name !== 'cats' || Object.hasOwn(one, name))
  if (different.length === 0) return null
  if (different.join() === 'base_score')
    return 'its base_score is different, which XGBoost estimates from the data unless it is set'
  const hint = different.includes('boost_from_average') ? ' (another version of XGBoost may have written it)' : ''
  const shown = different.slice(0, MAX_DIFFERENCES).map((name) => (/^[\w.]{1,80}$/.test(name) ? name : showName(name)))
  return `its ${shown.join(', ')} ${shown.length === 1 ? 'is' : 'are'} different${hint}`
}

/** Returns the number of leading trees that `update` shares with `model`: all of `model`'s if it continues it, otherwise 0. */
export const sharedTrees = (model: TreeModel, update: TreeModel): number => {
  const codec = CODECS[model.format]
  const isSame = model.trees.every(
    (tree, i) => i < update.trees.length && sameTree(codec, withId(tree, 0), withId(update.trees[i]!, 0)),
  )
  return isSame ? model.trees.length : 0
}

/** Writes `first`'s file with its trees followed by those of each addition, beginning at tree `from`. */
export const writeTrees = (
  first: TreeModel,
  additions: readonly { readonly model: TreeModel; readonly from: number }[],
): Uint8Array => {
  const codec = CODECS[first.format]
  const trees = [...first.trees]
  const groups = [...first.groups]
  const rounds = first.rounds === null ? null : [...first.rounds]
  for (const { model, from } of additions) {
    const start = trees.length
    // Pushed one by one because the number of arguments of a call is limited.
    for (let i = from; i < model.trees.length; i++) {
      trees.push(withId(model.trees[i]!, trees.length))
      groups.push(model.groups[i]!)
    }
    const ends = model.rounds?.filter((offset) => offset > from) ?? [model.trees.length]
    if (trees.length > start) for (const end of ends) rounds?.push(start + end - from)
  }
  const root = new Map(first.root)
  const learner = new Map(mapIn(root, 'learner'))
  const booster = new Map(mapIn(learner, 'gradient_booster'))
  const model = new Map(mapIn(booster, 'model'))
  const parameters = new Map(mapIn(model, 'gbtree_model_param')).set('num_trees', String(trees.length))
  model.set('gbtree_model_param', parameters).set('trees', trees)
  model.set('tree_info', codec.listLike(model.get('tree_info')!, groups))
  const categories = additions
    .map((addition) => modelIn(addition.model.root).get('cats'))
    .find((each) => each !== undefined)
  if (first.trees.length === 0 && categories !== undefined) model.set('cats', categories)
  if (rounds !== null) model.set('iteration_indptr', codec.listLike(model.get('iteration_indptr')!, rounds))
  const attributes = learner.get('attributes')
  if (attributes instanceof Map)
    learner.set('attributes', new Map([...attributes].filter(([name]) => !OF_ONE_TRAINING.includes(name))))
  learner.set('gradient_booster', booster.set('model', model))
  return codec.write(root.set('learner', learner))
}
