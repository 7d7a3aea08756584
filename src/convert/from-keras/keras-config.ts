// The architecture of a Keras 2 or 3 model: its layers and how they are connected.
import { badRequest } from '../../domain/errors.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

/** An output of a layer call. */
export interface Reference {
  readonly layer: string
  readonly call: number
  readonly output: number
}

/** A tensor stored in the architecture. */
export interface KerasConstant {
  readonly value: Json
  readonly dtype: string
}

/** An input of a call: a tensor of another layer, a number, or a constant. */
export type CallInput = Reference | KerasConstant | number

export interface KerasCall {
  readonly inputs: readonly CallInput[]
  /** The arguments as stored in the file: positional and named ones. */
  readonly args: readonly Json[]
  readonly kwargs: JsonObject
}

export const isReference = (input: CallInput): input is Reference => typeof input === 'object' && 'layer' in input

export interface KerasLayer {
  readonly className: string
  readonly name: string
  readonly config: JsonObject
  /** True for an operator of `keras.ops`, which is a call without weights. */
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
  /** Set for a Sequential model without an input layer. */
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

/** The values of a dictionary sorted by key, as Keras flattens it. */
const sortedValues = (value: JsonObject): Json[] =>
  Object.keys(value)
    .sort()
    .map((key) => value[key]!)

/** All tensors in nested lists and dictionaries, in order; in arguments, also numbers. */
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

/** Named arguments in their positional order. */
const NAMED = ['query', 'value', 'key']

const callOf = (node: Json): KerasCall => {
  // Keras 2 lists the tensors; Keras 3 lists the arguments of the call.
  if (!isObject(node)) return { inputs: inputsIn(node, false), args: [], kwargs: {} }
  const kwargs = isObject(node.kwargs) ? node.kwargs : {}
  const args = Array.isArray(node.args) ? (node.args as readonly Json[]) : []
  const named = Object.entries(kwargs)
    .filter(([name]) => !/(^|_)mask$/.test(name))
    .sort(([one], [other]) => NAMED.indexOf(one) - NAMED.indexOf(other))
  return { inputs: [...inputsIn(args, true), ...named.flatMap(([, value]) => inputsIn(value, false))], args, kwargs }
}

/** The tensor passed as a mask: Keras stores the masks of a call's inputs. */
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
    // HDF5 files do not store the module, but their layers store whether they are trainable.
    isOperator:
      typeof layer.module === 'string'
        ? layer.module.includes('.ops.')
        : isObject(calls[0] ?? null) && config.trainable === undefined && !('layers' in config),
    calls: calls.map(callOf),
  }
}

const referencesIn = (value: Json | undefined): Reference[] => inputsIn(value ?? [], false).filter(isReference)

/** True if the layer is itself a model. */
export const isModel = ({ className, config }: Pick<KerasLayer, 'className' | 'config'>): boolean =>
  ['Sequential', 'Functional', 'Model'].includes(className) && Array.isArray(config.layers)

/**
 * In Keras 2, the calls of a nested functional model are numbered from one, because building it was the first call. Keras 3
 * does that only in the list of outputs.
 */
const firstCallsOf = (layers: readonly KerasLayer[], outputs: readonly Reference[]): Map<string, number> => {
  const highest = new Map<string, number>()
  for (const reference of [...layers.flatMap(({ calls }) => calls.flatMap(({ inputs }) => inputs)), ...outputs]) {
    if (isReference(reference))
      highest.set(reference.layer, Math.max(highest.get(reference.layer) ?? 0, reference.call))
  }
  return new Map(
    layers
      .filter(isModel)
      .map(({ name, calls }) => [name, Math.min(1, Math.max(0, (highest.get(name) ?? 0) + 1 - calls.length))]),
  )
}

/** Reads a model's config. In Keras 2.2, the config of a Sequential model is a list of layers. */
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

/** Reads the model in `model_config` or `config.json`. Throws bad_request for subclassed models. */
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

/** All numbers in nested lists; true is 1. */
export const numbersIn = (value: Json | undefined): number[] => {
  if (typeof value === 'number' || typeof value === 'boolean') return [Number(value)]
  return Array.isArray(value) ? value.flatMap(numbersIn) : []
}
