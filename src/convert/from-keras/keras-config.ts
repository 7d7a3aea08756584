// The architecture of a Keras model: layers and how they are connected, of Keras 2 and 3.
import { badRequest } from '../../domain/errors.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

/** An output of a call of a layer. */
export interface Reference {
  readonly layer: string
  readonly call: number
  readonly output: number
}

/** A tensor that is written in the architecture. */
export interface KerasConstant {
  readonly value: Json
  readonly dtype: string
}

/** An input of a call: a tensor of another layer, a number, or a constant. */
export type CallInput = Reference | KerasConstant | number

export interface KerasCall {
  readonly inputs: readonly CallInput[]
  /** Arguments as the file has them: those in order, and those with names. */
  readonly args: readonly Json[]
  readonly kwargs: JsonObject
}

export const isReference = (input: CallInput): input is Reference => typeof input === 'object' && 'layer' in input

export interface KerasLayer {
  readonly className: string
  readonly name: string
  readonly config: JsonObject
  /** Operators of `keras.ops` are calls without weights. */
  readonly isOperator: boolean
  readonly calls: readonly KerasCall[]
}

export interface KerasModel {
  readonly layers: readonly KerasLayer[]
  readonly isSequential: boolean
  readonly inputs: readonly Reference[]
  readonly outputs: readonly Reference[]
  /** The number of a layer's first call. */
  readonly firstCall: (layer: KerasLayer) => number
  /** Of a Sequential model without an input layer. */
  readonly builtShape: Json
}

const MAX_LAYERS = 5000
const MAX_DEPTH = 16

export const damagedKeras = (what: string) =>
  badRequest(`The architecture in the Keras file is damaged: ${what}. Save the model again with model.save(path).`)

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const asObject = (value: Json | undefined, what: string): JsonObject => {
  if (!isObject(value)) throw damagedKeras(`${what} is missing`)
  return value
}

const asList = (value: Json | undefined, what: string): readonly Json[] => {
  if (!Array.isArray(value) || value.length > MAX_LAYERS) throw damagedKeras(`${what} is not a list, or too long`)
  return value
}

const asText = (value: Json | undefined, what: string): string => {
  if (typeof value !== 'string') throw damagedKeras(`${what} is not text`)
  return value
}

const isHistory = (value: Json): value is readonly [string, number, number] =>
  Array.isArray(value) && typeof value[0] === 'string' && typeof value[1] === 'number' && typeof value[2] === 'number'

const referenceOf = ([layer, call, output]: readonly [string, number, number]): Reference => ({ layer, call, output })

const isNumeric = (value: Json): boolean =>
  typeof value === 'number' || (Array.isArray(value) && value.length > 0 && value.every(isNumeric))

/** The values of a dictionary in the order of its keys, as Keras flattens it. */
const sortedValues = (value: JsonObject): Json[] =>
  Object.keys(value)
    .sort()
    .map((key) => value[key]!)

/** All tensors in a structure of lists and dictionaries, in order; numbers too where they are arguments. */
const inputsIn = (value: Json, isArgument: boolean, depth = 0): CallInput[] => {
  if (depth > MAX_DEPTH) throw damagedKeras('the inputs of a layer nest too deep')
  if (isHistory(value)) {
    const kwargs = value[3 as number]
    return [referenceOf(value), ...(isObject(kwargs) ? inputsIn(Object.values(kwargs), false, depth + 1) : [])]
  }
  if (isArgument && depth > 0 && Array.isArray(value) && isNumeric(value)) {
    return [{ value, dtype: numbersIn(value).every(Number.isInteger) ? 'int32' : 'float32' }]
  }
  if (Array.isArray(value)) return value.flatMap((item: Json) => inputsIn(item, isArgument, depth + 1))
  if (typeof value === 'number') return isArgument ? [value] : []
  if (!isObject(value)) return []
  if (value.class_name === '__keras_tensor__') {
    const history = asObject(value.config, 'a tensor').keras_history ?? null
    if (!isHistory(history)) throw damagedKeras('a tensor belongs to no layer')
    return [referenceOf(history)]
  }
  if (value.class_name === '__numpy__' || value.class_name === '__tensor__') {
    const { value: numbers = null, dtype = null } = asObject(value.config, 'a constant')
    return [{ value: numbers, dtype: asText(dtype, 'the type of a constant') }]
  }
  return sortedValues(value).flatMap((item) => inputsIn(item, false, depth + 1))
}

/** Named arguments in the order in which they can be given without a name. */
const NAMED = ['query', 'value', 'key']

const callOf = (node: Json): KerasCall => {
  // Keras 2 lists the tensors; Keras 3 the arguments of the call.
  if (!isObject(node)) return { inputs: inputsIn(node, false), args: [], kwargs: {} }
  const kwargs = isObject(node.kwargs) ? node.kwargs : {}
  const args = Array.isArray(node.args) ? (node.args as readonly Json[]) : []
  const named = Object.entries(kwargs)
    .filter(([name]) => !/(^|_)mask$/.test(name))
    .sort(([one], [other]) => NAMED.indexOf(one) - NAMED.indexOf(other))
  return { inputs: [...inputsIn(args, true), ...named.flatMap(([, value]) => inputsIn(value, false))], args, kwargs }
}

/** The tensor that a call is given as a mask: Keras writes out those that its inputs have. */
export const maskOf = ({ kwargs }: KerasCall, name: string, at = 0): Reference | undefined => {
  const mask = kwargs[name] ?? null
  const [found] = inputsIn(Array.isArray(mask) ? (mask[at] ?? null) : mask, false)
  return found !== undefined && isReference(found) ? found : undefined
}

const layerOf = (value: Json): KerasLayer => {
  const layer = asObject(value, 'a layer')
  const config = asObject(layer.config ?? {}, 'the config of a layer')
  const calls = layer.inbound_nodes === undefined ? [] : asList(layer.inbound_nodes, 'the inputs of a layer')
  return {
    className: asText(layer.class_name, 'the class of a layer'),
    name: asText(layer.name ?? config.name, 'the name of a layer'),
    config,
    // Files in HDF5 do not name the module; layers say there whether they are trained.
    isOperator:
      typeof layer.module === 'string'
        ? layer.module.includes('.ops.')
        : isObject(calls[0] ?? null) && config.trainable === undefined && !('layers' in config),
    calls: calls.map(callOf),
  }
}

const referencesIn = (value: Json | undefined): Reference[] => inputsIn(value ?? [], false).filter(isReference)

/** Whether the layer is a model of its own. */
export const isModel = ({ className, config }: Pick<KerasLayer, 'className' | 'config'>): boolean =>
  ['Sequential', 'Functional', 'Model'].includes(className) && Array.isArray(config.layers)

/**
 * Keras 2 counts the calls of a functional model inside another from one: it was called when it was made. Keras 3 does where it
 * lists the outputs.
 */
const firstCallsOf = (layers: readonly KerasLayer[], outputs: readonly Reference[]): Map<string, number> => {
  const highest = new Map<string, number>()
  for (const reference of [...layers.flatMap(({ calls }) => calls.flatMap(({ inputs }) => inputs)), ...outputs]) {
    if (typeof reference === 'object' && isReference(reference)) {
      highest.set(reference.layer, Math.max(highest.get(reference.layer) ?? 0, reference.call))
    }
  }
  return new Map(
    layers
      .filter(isModel)
      .map(({ name, calls }) => [name, Math.min(1, Math.max(0, (highest.get(name) ?? 0) + 1 - calls.length))]),
  )
}

/** The layers of a model's config. Keras 2.2 has a list in place of a Sequential's config. */
export const modelOf = (className: string, config: JsonObject | readonly Json[]): KerasModel => {
  const isList = Array.isArray(config)
  const object = isList ? {} : (config as JsonObject)
  const listed = asList(isList ? config : object.layers, 'the list of layers')
  const layers = listed.map(layerOf)
  const functional = new Set(
    layers.filter((layer) => isModel(layer) && layer.className !== 'Sequential').map(({ name }) => name),
  )
  const isKeras3 = listed.some(
    (layer) => isObject(layer) && Array.isArray(layer.inbound_nodes) && isObject(layer.inbound_nodes[0] ?? null),
  )
  const outputs = referencesIn(object.output_layers)
  const first = isKeras3 ? new Map<string, number>() : firstCallsOf(layers, outputs)
  return {
    layers,
    isSequential: className === 'Sequential',
    inputs: referencesIn(object.input_layers),
    outputs: outputs.map((each) => (isKeras3 && functional.has(each.layer) ? { ...each, call: each.call - 1 } : each)),
    firstCall: ({ name }) => first.get(name) ?? 0,
    builtShape: object.build_input_shape ?? null,
  }
}

/** The model of `model_config` or `config.json`. Throws bad_request for subclassed models. */
export const parseModel = (json: string): KerasModel => {
  let value: Json
  try {
    value = JSON.parse(
      json.replace(/"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b/g, (part) =>
        part[0] === '"' ? part : part === 'NaN' ? 'null' : part.replace('Infinity', '1e999'),
      ),
    )
  } catch {
    throw damagedKeras('it is not JSON')
  }
  const root = asObject(value, 'the model')
  const className = asText(root.class_name, 'the class of the model')
  const config = Array.isArray(root.config) ? (root.config as readonly Json[]) : asObject(root.config, 'the config')
  const known = ['Sequential', 'Functional', 'Model'].includes(className)
  if (!known || (!Array.isArray(config) && !Array.isArray((config as JsonObject).layers))) {
    throw badRequest(
      `The model is of the class ${className}, whose computation is Python code and not in the file. ` +
        'Build it as keras.Sequential or with the functional API, keras.Model(inputs, outputs).',
    )
  }
  return modelOf(className, config)
}

/** All numbers in nested lists; 1 for true. */
export const numbersIn = (value: Json | undefined): number[] => {
  if (typeof value === 'number' || typeof value === 'boolean') return [Number(value)]
  return Array.isArray(value) ? value.flatMap(numbersIn) : []
}
