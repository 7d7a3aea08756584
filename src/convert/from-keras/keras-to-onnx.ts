import { badRequest, ServiceError } from '../../domain/errors.ts'
import type { ByteSource } from '../../tensors/weight-file.ts'
import { graphBuilder } from '../onnx/graph-builder.ts'
import type { OnnxModel } from '../onnx/model.ts'
import {
  damagedKeras,
  isModel,
  isObject,
  type KerasCall,
  type KerasLayer,
  type KerasModel,
  modelOf,
  parseModel,
  type Reference,
} from './keras-config.ts'
import { readKerasTexts } from './keras-file.ts'
import { kerasWeights, type Place, placesIn, ROOT } from './keras-weights.ts'
import { functionName, type Layer, LayerCall, MASK, type Scope, type Value } from './layer-call.ts'
import { ACTIVATION_LAYERS } from './layers/activations.ts'
import { ATTENTION_LAYERS } from './layers/attention.ts'
import { DENSE_LAYERS } from './layers/dense.ts'
import { arithmetic, MERGING_LAYERS } from './layers/merging.ts'
import { NORMALIZATION_LAYERS } from './layers/normalization.ts'
import { RECURRENT_LAYERS } from './layers/recurrent.ts'
import { SPATIAL_LAYERS } from './layers/spatial.ts'
import { declaredInput, inputsOf, isSize } from './model-inputs.ts'

/** A layer around another one, which runs on every step: the steps join the batch for it. */
const timeDistributed: Layer = (call) => {
  const { layer } = call.config
  if (!isObject(layer) || !isObject(layer.config)) throw call.refuse('its layer is missing.')
  const className = functionName(layer.class_name)
  const inner = { className, name: call.layer.name, config: layer.config }
  const place = { ...call.place, path: `${call.place.path}/layer` }
  const value = call.input()
  if (className === 'Dense') return lowered(new LayerCall(call.scope, inner, place, [value]))
  const [steps, ...rest] = call.fixed(value.shape.slice(1), 'the number of its steps')
  const joined = call.result(call.reshape(call.last(value), [-1, ...rest]), ['batch_steps', ...rest])
  const [result] = lowered(new LayerCall(call.scope, inner, place, [joined]))
  if (result === undefined) throw call.refuse('its layer has no result.')
  const after = call.fixed(result.shape.slice(1), 'the shape of its result')
  const shape = [value.shape[0]!, steps!, ...after]
  return call.result(call.reshape(call.last(result), [-1, steps!, ...after]), shape, { mask: value.mask })
}

const LAYERS: ReadonlyMap<string, Layer> = new Map(
  Object.entries({
    ...ACTIVATION_LAYERS,
    ...SPATIAL_LAYERS,
    ...DENSE_LAYERS,
    ...NORMALIZATION_LAYERS,
    ...MERGING_LAYERS,
    ...RECURRENT_LAYERS,
    ...ATTENTION_LAYERS,
    TimeDistributed: timeDistributed,
  }),
)

/** The mask of an embedding or a Masking layer, written out, and what follows from it. */
const masking: Layer = (call) => {
  if (call.inputs.includes(MASK) || ['NotEqual', 'Any'].includes(call.layer.className)) return MASK
  throw call.refuse('it is converted where it makes a mask only.')
}

/** Operators of keras.ops that a functional model writes for `x * 2 + y`. */
const OPERATORS: ReadonlyMap<string, Layer> = new Map([
  ['Add', arithmetic('Add')],
  ['Subtract', arithmetic('Sub')],
  ['Multiply', arithmetic('Mul')],
  ['Divide', arithmetic('Div')],
  ['TrueDivide', arithmetic('Div')],
  // Of these a file makes masks.
  ...['NotEqual', 'Any', 'All', 'ExpandDims', 'LogicalAnd', 'LogicalOr'].map((name) => [name, masking] as const),
])

/** Files in HDF5 do not say which are operators; those have a number among their inputs, or no layer of their name. */
const layerFor = ({
  className,
  isOperator,
  calls,
}: Pick<KerasLayer, 'className' | 'isOperator' | 'calls'>): Layer | undefined =>
  isOperator || !LAYERS.has(className) || calls.some(({ inputs }) => inputs.some((input) => typeof input === 'number'))
    ? OPERATORS.get(className)
    : LAYERS.get(className)

const valuesOf = (result: Value | readonly Value[]): readonly Value[] =>
  Array.isArray(result) ? (result as readonly Value[]) : [result as Value]

const lowered = (call: LayerCall, layer = LAYERS.get(call.layer.className)): readonly Value[] => {
  if (layer === undefined) throw call.refuse('this layer has no conversion.')
  const values = valuesOf(layer(call))
  for (const { shape } of values) {
    if (!shape.every(isSize)) throw call.refuse(`its result would have the shape [${shape.join(', ')}].`)
  }
  return values
}

const unknownIn = ({ layers }: KerasModel): string[] =>
  layers.flatMap((layer) => {
    if (isModel(layer)) return unknownIn(modelOf(layer.className, layer.config))
    return layer.className === 'InputLayer' || layerFor(layer) !== undefined
      ? []
      : [`${layer.className} '${layer.name}'`]
  })

const requireKnown = (model: KerasModel): void => {
  const unknown = [...new Set(unknownIn(model))]
  if (unknown.length === 0) return
  const shown = unknown.slice(0, 5).join(', ') + (unknown.length > 5 ? ` and ${unknown.length - 5} more` : '')
  throw badRequest(
    `The model has layers without a conversion: ${shown}. Layers with Python code of their own (Lambda, custom classes) are ` +
      'not in the file; build the model of standard layers.',
  )
}

interface Run {
  readonly scope: Scope
  /** Results of calls: `layer:call` to its outputs. */
  readonly results: Map<string, readonly Value[]>
}

const keyOf = ({ layer, call }: Pick<Reference, 'layer' | 'call'>): string => `${call}:${layer}`

const resultOf = (run: Run, reference: Reference): Value | undefined =>
  run.results.get(keyOf(reference))?.[reference.output]

/** Layers that take masks as Keras does. */
const SKIP_MASKED: ReadonlySet<string> = new Set([
  ...['LSTM', 'GRU', 'SimpleRNN', 'Bidirectional', 'TimeDistributed', 'BatchNormalization'],
  ...['GlobalAveragePooling1D', 'MultiHeadAttention', 'Sequential', 'Functional', 'Model'],
])

const callLayer = (
  run: Run,
  layer: KerasLayer,
  place: Place,
  inputs: readonly (Value | number)[],
  call?: KerasCall,
): readonly Value[] => {
  if (inputs.includes(MASK)) return [MASK]
  const lacksMask = call?.isMasked && inputs.every((input) => typeof input === 'number' || input.mask === null)
  if (lacksMask || (call?.isMasked && !SKIP_MASKED.has(layer.className)))
    throw badRequest(
      `${layer.className} '${layer.name}' cannot be converted: it is called with a mask that is no padding.`,
    )
  if (isModel(layer)) {
    const values = inputs.filter((input) => typeof input === 'object')
    return runModel(run.scope, modelOf(layer.className, layer.config), { ...place, path: `${place.path}/` }, values)
  }
  return lowered(new LayerCall(run.scope, layer, place, inputs, call?.isCausal), layerFor(layer))
}

const runSequential = (scope: Scope, model: KerasModel, place: Place, inputs: readonly Value[]): readonly Value[] => {
  const run: Run = { scope, results: new Map() }
  const places = placesIn(model.layers, place)
  return model.layers.reduce((values, layer, at) => {
    if (layer.className === 'InputLayer') return values
    return callLayer(run, layer, places[at]!, values)
  }, inputs)
}

/** Keras counts the calls of a functional model inside another from one: it was called when it was made. */
const firstCalls = (model: KerasModel): Map<string, number> => {
  const references = [...model.layers.flatMap(({ calls }) => calls.flatMap(({ inputs }) => inputs)), ...model.outputs]
  const highest = new Map<string, number>()
  for (const reference of references) {
    if (typeof reference === 'object') {
      highest.set(reference.layer, Math.max(highest.get(reference.layer) ?? 0, reference.call))
    }
  }
  return new Map(
    model.layers
      .filter(isModel)
      .map(({ name, calls }) => [name, Math.min(1, Math.max(0, (highest.get(name) ?? 0) + 1 - calls.length))]),
  )
}

/** Calls every layer once its inputs are there. Results of the last calls are the model's. */
const runFunctional = (scope: Scope, model: KerasModel, place: Place, inputs: readonly Value[]): readonly Value[] => {
  const run: Run = { scope, results: new Map() }
  if (model.inputs.length !== inputs.length) {
    throw damagedKeras(`a model with ${model.inputs.length} inputs is called with ${inputs.length}`)
  }
  model.inputs.forEach((reference, at) => {
    run.results.set(keyOf(reference), [inputs[at]!])
  })
  const places = placesIn(model.layers, place)
  const first = firstCalls(model)
  const waiting = model.layers.flatMap((layer, at) =>
    layer.className === 'InputLayer'
      ? []
      : layer.calls.map((call, number) => ({
          layer,
          call,
          number: number + (first.get(layer.name) ?? 0),
          place: places[at]!,
        })),
  )
  for (let left = waiting; left.length > 0; ) {
    const rest = left.filter(({ layer, call, number, place: its }) => {
      const given = call.inputs.map((input) => (typeof input === 'number' ? input : resultOf(run, input)))
      const known = given.filter((value) => value !== undefined)
      if (known.length < given.length) return true
      run.results.set(keyOf({ layer: layer.name, call: number }), callLayer(run, layer, its, known, call))
      return false
    })
    // Calls that the outputs do not need may lack their inputs.
    if (rest.length === left.length) break
    left = rest
  }
  return model.outputs.map((reference) => {
    const value = resultOf(run, reference)
    if (value === undefined) throw damagedKeras(`the output '${reference.layer}' depends on nothing that is there`)
    return value
  })
}

const runModel = (scope: Scope, model: KerasModel, place: Place, inputs: readonly Value[]): readonly Value[] =>
  model.isSequential && model.inputs.length === 0
    ? runSequential(scope, model, place, inputs)
    : runFunctional(scope, model, place, inputs)

export interface KerasOptions {
  /** Of the first input, the batch included: fixes its dynamic sizes. */
  readonly inputShape?: readonly number[]
  /** Another file of the same architecture, whose weights are taken. */
  readonly weights?: ByteSource
}

const convert = (source: ByteSource, options: KerasOptions): { model: OnnxModel; notes: string[] } => {
  const { config, version } = readKerasTexts(source)
  const model = parseModel(config)
  requireKnown(model)
  const builder = graphBuilder('keras')
  const scope: Scope = {
    builder,
    weights: kerasWeights(options.weights ?? source),
    isKeras2: /^2\./.test(version),
    notes: new Set(),
  }
  const inputs = inputsOf(model).map((input, at) => declaredInput(scope, input, at, options.inputShape))
  const outputs = runModel(scope, model, ROOT, inputs)
  outputs.forEach((value, at) => {
    const asked = outputs.length === 1 ? 'output' : `output_${at}`
    const name = inputs.some((input) => input.name === asked) ? `${asked}_` : asked
    const last = new LayerCall(scope, { className: 'Model', name: 'output', config: {} }, ROOT, []).last(value)
    const shape = value.shape.map((size) => (typeof size === 'number' || size === 'batch' ? size : ''))
    builder.output(name, last, value.type, shape)
  })
  return { model: builder.build(), notes: [...scope.notes] }
}

/**
 * A Sequential or functional Keras model (`.keras`, `.h5` of Keras 2 and 3) as ONNX, with the inputs and outputs that it has in
 * Keras, channels last. Nothing in the file is run. Throws bad_request naming the layer, and what would work.
 */
export const kerasToOnnx = (source: ByteSource, options: KerasOptions = {}): { model: OnnxModel; notes: string[] } => {
  try {
    return convert(source, options)
  } catch (error) {
    if (error instanceof ServiceError || (error instanceof Error && 'syscall' in error)) throw error
    throw new ServiceError('bad_request', 'The Keras file is damaged. Save the model again with model.save(path).', {
      cause: error,
    })
  }
}
