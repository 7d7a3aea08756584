// Converts the layers of a Keras model to an ONNX graph, call by call.
import { badRequest } from '../../domain/errors.ts'
import {
  damagedKeras,
  isModel,
  isReference,
  type KerasCall,
  type KerasLayer,
  type KerasModel,
  maskOf,
  modelOf,
  type Reference,
} from './keras-config.ts'
import { innerOf, type Place, placesIn } from './keras-weights.ts'
import { type Layer, LayerCall, type Scope, type Value } from './layer-call.ts'
import { ACTIVATION_LAYERS } from './layers/activations.ts'
import { ATTENTION_LAYERS } from './layers/attention.ts'
import { DENSE_LAYERS } from './layers/dense.ts'
import { MERGING_LAYERS } from './layers/merging.ts'
import { NORMALIZATION_LAYERS } from './layers/normalization.ts'
import { operatorNamed } from './layers/operators.ts'
import { RECURRENT_LAYERS } from './layers/recurrent.ts'
import { SPATIAL_LAYERS } from './layers/spatial.ts'
import { constantValue, isSize } from './model-inputs.ts'

/** Applies an inner layer to every step by merging the steps into the batch. */
const timeDistributed: Layer = (call) => {
  const inner = innerOf(call.config, 'layer')
  if (inner === null) throw call.refuse('its layer is missing.')
  const layer = { ...inner, name: call.layer.name }
  const place = { ...call.place, path: `${call.place.path}/layer` }
  const value = call.input()
  const [steps, ...rest] = call.fixed(value.shape.slice(1), 'the number of its steps')
  const joined =
    inner.className === 'Dense'
      ? value
      : call.result(call.reshape(call.last(value), [-1, ...rest]), ['batch_steps', ...rest], { type: value.type })
  const [result] = runLayer(call.scope, layer, place, [joined])
  if (result === undefined) throw call.refuse('its layer has no result.')
  if (inner.className === 'Dense') return result
  const after = call.fixed(result.shape.slice(1), 'the shape of its result')
  const shape = [value.shape[0]!, steps!, ...after]
  return call.result(call.reshape(call.last(result), [-1, steps!, ...after]), shape, { mask: value.mask })
}

/** Scales the weights only in training; they are saved scaled. */
const spectral: Layer = (call) => {
  const inner = innerOf(call.config, 'layer')
  if (inner === null) throw call.refuse('its layer is missing.')
  const place = { ...call.place, path: `${call.place.path}/layer` }
  return runLayer(call.scope, { ...inner, name: call.layer.name }, place, call.inputs)
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
    SpectralNormalization: spectral,
  }),
)

/** Undefined for a layer that cannot be converted. */
export const layerFor = ({ className, isOperator }: Pick<KerasLayer, 'className' | 'isOperator'>): Layer | undefined =>
  (isOperator ? operatorNamed(className) : undefined) ?? LAYERS.get(className)

const lowered = (call: LayerCall, layer: Layer | undefined): readonly Value[] => {
  if (layer === undefined) throw call.refuse('this layer has no conversion.')
  const values = [inLayout(layer)(call)].flat()
  for (const { shape } of values) {
    if (!shape.every(isSize)) throw call.refuse(`its result would have the shape [${shape.join(', ')}].`)
  }
  return values
}

/** Runs a layer with channels first on a value that is channels first in ONNX too. */
const inLayout =
  (layer: Layer): Layer =>
  (call) => {
    if (call.config.data_format !== 'channels_first' || call.input().shape.length < 3) return layer(call)
    const value = call.input()
    const [batch, channels, ...rest] = value.shape
    const inner = { ...value, name: call.last(value), shape: [batch!, ...rest, channels!], channelsFirst: true }
    const { scope, place, written } = call
    const settings = { ...call.layer, config: { ...call.config, data_format: 'channels_last' } }
    const [result] = [layer(new LayerCall(scope, settings, place, [inner], written))].flat()
    if (result!.shape.length < 3) return result!
    const shape = [result!.shape[0]!, result!.shape.at(-1)!, ...result!.shape.slice(1, -1)]
    return { ...result!, name: call.first(result!), shape, channelsFirst: false }
  }

const keyOf = ({ layer, call }: Pick<Reference, 'layer' | 'call'>): string => `${call}:${layer}`

type NamedLayer = Pick<KerasLayer, 'className' | 'name' | 'config'> & { readonly isOperator?: boolean }

/** Layers that accept masks as in Keras. */
const TAKE_MASKS: ReadonlySet<string> = new Set([
  ...['LSTM', 'GRU', 'SimpleRNN', 'RNN', 'Bidirectional', 'TimeDistributed', 'BatchNormalization', 'Attention'],
  ...['GlobalAveragePooling1D', 'MultiHeadAttention', 'AdditiveAttention', 'Sequential', 'Functional', 'Model'],
])

const MASKS = ['query_mask', 'value_mask', 'key_mask']

const runLayer = (
  scope: Scope,
  layer: NamedLayer,
  place: Place,
  inputs: readonly (Value | number)[],
  call?: KerasCall,
  attentionMask?: Value,
): readonly Value[] => {
  if (isModel(layer)) {
    const values = inputs.filter((input) => typeof input === 'object')
    return runModel(scope, modelOf(layer.className, layer.config), { ...place, path: `${place.path}/` }, values)
  }
  const found = layerFor({ className: layer.className, isOperator: layer.isOperator ?? false })
  return lowered(new LayerCall(scope, layer, place, inputs, call, attentionMask), found)
}

/** Runs a call of a functional model: finds its inputs and applies the masks that it names. */
const runCall = (
  scope: Scope,
  layer: KerasLayer,
  place: Place,
  call: KerasCall,
  find: (reference: Reference) => Value,
): readonly Value[] => {
  const named = (name: string, at?: number) => maskOf(call, name, at)
  const inputs = call.inputs.map((input, at) => {
    if (typeof input === 'number') return input
    if (!isReference(input)) return constantValue(scope, layer.name, input)
    const value = find(input)
    const mask = value.mask === null ? (named('mask', at) ?? named(MASKS[at] ?? '')) : undefined
    if (mask === undefined) return value
    if (!TAKE_MASKS.has(layer.className))
      throw badRequest(
        `${layer.className} '${layer.name}' cannot be converted: it is called with a mask, which cannot be converted for this layer.`,
      )
    return { ...value, mask: find(mask).name }
  })
  const attentionMask = named('attention_mask')
  return runLayer(scope, layer, place, inputs, call, attentionMask && find(attentionMask))
}

const runSequential = (scope: Scope, model: KerasModel, place: Place, inputs: readonly Value[]): readonly Value[] => {
  const places = placesIn(model.layers, place)
  return model.layers.reduce(
    (values, layer, at) => (layer.className === 'InputLayer' ? values : runLayer(scope, layer, places[at]!, values)),
    inputs,
  )
}

/** Runs the calls that the outputs depend on, each after its inputs. */
const runFunctional = (scope: Scope, model: KerasModel, place: Place, inputs: readonly Value[]): readonly Value[] => {
  if (model.inputs.length !== inputs.length) {
    throw damagedKeras(`a model with ${model.inputs.length} inputs is called with ${inputs.length}`)
  }
  const results = new Map(model.inputs.map((reference, at) => [keyOf(reference), [inputs[at]!] as readonly Value[]]))
  const places = placesIn(model.layers, place)
  const waiting = new Map(
    model.layers.flatMap((layer, at) =>
      layer.calls.map((call, number) => {
        const key = keyOf({ layer: layer.name, call: number + model.firstCall(layer) })
        return [key, { layer, call, place: places[at]! }] as const
      }),
    ),
  )
  const find = (reference: Reference): Value => {
    const key = keyOf(reference)
    const next = results.has(key) ? undefined : waiting.get(key)
    if (next !== undefined) {
      waiting.delete(key)
      results.set(key, runCall(scope, next.layer, next.place, next.call, find))
    }
    const value = results.get(key)?.[reference.output]
    if (value === undefined) throw damagedKeras(`a layer takes an output that '${reference.layer}' does not have`)
    return value
  }
  const needed = new Set<string>()
  for (let left = model.outputs.map(keyOf); left.length > 0; ) {
    const key = left.pop()!
    if (needed.has(key) || results.has(key)) continue
    needed.add(key)
    left.push(...(waiting.get(key)?.call.inputs ?? []).filter(isReference).map(keyOf))
  }
  // In file order, in which layers follow their inputs, so that `find` does not recurse deeply.
  for (const [key, { layer }] of [...waiting]) {
    if (needed.has(key)) find({ layer: layer.name, call: Number.parseInt(key, 10), output: 0 })
  }
  return model.outputs.map(find)
}

/** Returns the model's outputs. Throws bad_request naming the layer that cannot be converted. */
export const runModel = (scope: Scope, model: KerasModel, place: Place, inputs: readonly Value[]): readonly Value[] =>
  model.isSequential && model.inputs.length === 0
    ? runSequential(scope, model, place, inputs)
    : runFunctional(scope, model, place, inputs)
