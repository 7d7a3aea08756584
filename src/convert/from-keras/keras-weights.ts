import { badRequest } from '../../domain/errors.ts'
import { ownEntry } from '../../domain/own-entry.ts'
import { readTensorBytes } from '../../tensors/elements.ts'
import { ExpandedHdf5 } from '../../tensors/hdf5-chunks.ts'
import { readWeights } from '../../tensors/read-weights.ts'
import type { ByteSource, Tensor } from '../../tensors/weight-file.ts'
import type { OnnxTensor } from '../onnx/model.ts'
import { isModel, type Json, type JsonObject, type KerasLayer, modelOf } from './keras-config.ts'

/** The names of a layer's weights in the order in which Keras creates them; a weight may have several names, by version. */
type Names = readonly (readonly string[])[]

const given = (config: JsonObject, ...names: readonly (readonly [string, string])[]): Names =>
  names.flatMap(([flag, name]) => (config[flag] === false ? [] : [[name]]))

const withBias =
  (...names: Names) =>
  (config: JsonObject): Names => [...names, ...given(config, ['use_bias', 'bias'])]

const cell = withBias(['kernel'], ['recurrent_kernel'])
const kernel = withBias(['kernel'])
const depthwise = withBias(['depthwise_kernel', 'kernel'])
const scale = (config: JsonObject): Names => (config.use_scale === true ? [['scale']] : [])
const gammaBeta = (config: JsonObject): Names => given(config, ['scale', 'gamma'], ['center', 'beta'])
const projections = (config: JsonObject): Names => [1, 2, 3, 4].flatMap(() => kernel(config))
const separable = withBias(['depthwise_kernel'], ['pointwise_kernel'])

const isGiven = (mean: Json | undefined): boolean => Array.isArray(mean) || typeof mean === 'number'

const CLASSES: readonly (readonly [string, (config: JsonObject) => Names])[] = [
  ['Dense Conv1D Conv2D Conv3D Conv1DTranspose Conv2DTranspose Conv3DTranspose', kernel],
  ['DepthwiseConv1D DepthwiseConv2D', depthwise],
  ['SeparableConv1D SeparableConv2D', separable],
  ['LSTM LSTMCell GRU GRUCell SimpleRNN SimpleRNNCell', cell],
  ['BatchNormalization', (config) => [...gammaBeta(config), ['moving_mean'], ['moving_variance']]],
  ['GroupNormalization', gammaBeta],
  ['RMSNormalization', () => [['scale']]],
  ['EinsumDense', (config) => kernel(config.bias_axes === null ? { use_bias: false } : config)],
  ['Attention AdditiveAttention', scale],
  ['LayerScale', () => [['gamma', 'variable']]],
  ['MultiHeadAttention GroupQueryAttention GroupedQueryAttention', projections],
  ['LayerNormalization', (config) => gammaBeta(config.rms_scaling === true ? { ...config, center: false } : config)],
  ['Embedding', () => [['embeddings']]],
  ['PReLU', () => [['alpha']]],
  ['Normalization', ({ mean }) => (isGiven(mean) ? [] : [['mean'], ['variance'], ['count']])],
]

/** By layer class. */
const WEIGHTS = new Map(CLASSES.flatMap(([names, weights]) => names.split(' ').map((name) => [name, weights])))

/** The position of a layer's weights. */
export interface Place {
  /** In files of Keras 3: `layers/dense_1`. */
  readonly path: string
  /** In `.h5` files: the group, and the names of the layers inside it. */
  readonly names: readonly string[]
  /** In lists of arrays: the number of weights before those of the layer. */
  readonly before: number
}

/** `Conv2D` becomes `conv2d`, `BatchNormalization` `batch_normalization`, as in keras.src.utils.naming.to_snake_case. */
export const snakeCase = (name: string): string =>
  name
    .replace(/\W+/g, '')
    .replace(/(.)([A-Z][a-z]+)/g, '$1_$2')
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()

const namesOf = ({ className, config }: Pick<KerasLayer, 'className' | 'config'>): Names =>
  WEIGHTS.get(className)?.(config) ?? []

/** The layer stored in a setting. */
export const innerOf = (config: JsonObject, key: string): Pick<KerasLayer, 'className' | 'config'> | null => {
  const inner = config[key] as JsonObject | undefined
  if (typeof inner?.class_name !== 'string') return null
  return { className: inner.class_name, config: (inner.config ?? {}) as JsonObject }
}

const countIn = (layer: Pick<KerasLayer, 'className' | 'config'>): number => {
  const sum = (layers: readonly Pick<KerasLayer, 'className' | 'config'>[]) =>
    layers.reduce((all, each) => all + countIn(each), 0)
  if (isModel(layer)) return sum(modelOf(layer.className, layer.config).layers)
  const [cell, inner] = [innerOf(layer.config, 'cell'), innerOf(layer.config, 'layer')]
  const stacked = cell?.config.cells
  const cells = Array.isArray(stacked) ? stacked.map((item: Json) => innerOf({ item }, 'item')!) : cell ? [cell] : []
  return namesOf(layer).length + sum(cells) + sum(inner ? [inner] : []) * (layer.className === 'Bidirectional' ? 2 : 1)
}

/** Classes whose folder has another name. */
const FOLDERS: Readonly<Record<string, string>> = {
  Model: 'Functional',
  GroupQueryAttention: 'GroupedQueryAttention',
}

/** The places of a model's layers, in order. */
export const placesIn = (layers: readonly KerasLayer[], { path, names, before }: Place): Place[] => {
  const used = new Map<string, number>()
  let count = before
  return layers.map((layer) => {
    if (layer.isOperator) return { path: '', names: [], before: count }
    const name = snakeCase(ownEntry(FOLDERS, layer.className) ?? layer.className)
    const seen = used.get(name) ?? 0
    used.set(name, seen + 1)
    const folder = seen === 0 ? name : `${name}_${seen}`
    const place = { path: `${path}layers/${folder}`, names: [...names, layer.name], before: count }
    count += countIn(layer)
    return place
  })
}

export const ROOT: Place = { path: '', names: [], before: 0 }

/** Returns the weights of a layer by their primary names. */
export type LayerWeights = (layer: Pick<KerasLayer, 'className' | 'config'>, place: Place) => Map<string, OnnxTensor>

/**
 * Finds a weight by the layer names below the outermost group; folders between are named after the layer's first call.
 * Weight names may end in a number.
 */
const byName = (group: readonly Tensor[], { names }: Place, wanted: readonly string[]): Tensor | undefined => {
  const inner = names.slice(1)
  const within = (name: string): number => {
    const last = name.slice(name.lastIndexOf('/') + 1).replace(/(_\d+)?(:\d+)?$/, '')
    if (!wanted.includes(last)) return -1
    const folders = `/${name.slice(0, name.lastIndexOf('/'))}/`
    const has = inner.map((part) => folders.includes(part.endsWith('_') ? `/${part}` : `/${part}/`))
    return has.at(-1) === false ? -1 : has.filter(Boolean).length
  }
  let best: Tensor | undefined
  let most = -1
  for (const tensor of group) {
    const count = within(tensor.name)
    if (count > most) [best, most] = [tensor, count]
  }
  return best
}

const lookup = (
  tensors: readonly Tensor[],
): ((place: Place, at: number, names: readonly string[]) => Tensor | undefined) => {
  // In TensorFlow's Keras 2.12 to 2.15, the folder of layers had another name.
  const all = new Map(
    tensors.map((tensor) => [tensor.name.replaceAll('_layer_checkpoint_dependencies/', 'layers/'), tensor]),
  )
  if (tensors.some(({ name }) => /(^|\/)vars\/\d+$/.test(name))) {
    return ({ path }, at) => all.get(`${path}/vars/${at}`) ?? all.get(`${path}/cell/vars/${at}`)
  }
  if (tensors.every(({ name }) => /^arr_\d+$/.test(name))) return ({ before }, at) => all.get(`arr_${before + at}`)
  // Layer names may contain slashes too.
  const groups = new Map<string, Tensor[]>()
  return (place, _, names) => {
    const [group = ''] = place.names
    const found = groups.get(group) ?? tensors.filter(({ name }) => name.startsWith(`${group}/`))
    groups.set(group, found)
    return byName(found, place, names)
  }
}

/**
 * Finds the weights of a Keras file: in Keras 3 files by the position of the layer, in `.h5` by its name, in `.npz` (saved
 * from model.get_weights()) by order. Throws bad_request naming the layer if one is missing.
 */
export const kerasWeights = (file: ByteSource): LayerWeights => {
  const source = new ExpandedHdf5(file)
  let find: ReturnType<typeof lookup> | undefined
  return (layer, place) => {
    const weights = new Map<string, OnnxTensor>()
    namesOf(layer).forEach((names, at) => {
      // Opened lazily: models without weights have no tensors to read.
      find ??= lookup(readWeights(source).tensors)
      const tensor = find(place, at, names)
      if (tensor === undefined) {
        throw badRequest(
          `The file has no weight '${names[0]}' of the layer '${place.names.join('/')}' (${layer.className}).`,
        )
      }
      weights.set(names[0]!, { type: tensor.dtype, shape: tensor.shape, data: readTensorBytes(source, tensor) })
    })
    return weights
  }
}
