// Converts one call of a Keras layer to ONNX.
import { badRequest } from '../../domain/errors.ts'
import type { DType } from '../../tensors/weight-file.ts'
import { OnnxEmitter } from '../onnx/emitter.ts'
import type { GraphBuilder } from '../onnx/graph-builder.ts'
import type { OnnxTensor } from '../onnx/model.ts'
import { numbersOf, scalarOf, tensorOf } from '../onnx/tensors.ts'
import { isObject, type Json, type JsonObject, type KerasCall, type KerasLayer, numbersIn } from './keras-config.ts'
import type { LayerWeights, Place } from './keras-weights.ts'

/** A size: a number, or the name of a dynamic size. */
export type Size = number | string

/** A tensor of the model. Keras has channels last; between convolutions they stay first, as in ONNX. */
export interface Value {
  readonly name: string
  /** The shape in Keras, channels last. */
  readonly shape: readonly Size[]
  readonly type: DType
  /** True if the ONNX value has its channels first. */
  readonly channelsFirst: boolean
  /** Booleans [batch, steps] that are false for padding, which later layers skip; null if there is no padding. */
  readonly mask: string | null
}

export interface Scope {
  readonly builder: GraphBuilder
  readonly weights: LayerWeights
  /** A few functions have other definitions in Keras 2. */
  readonly isKeras2: boolean
  readonly notes: Set<string>
}

const toFirst = (rank: number): number[] => [0, rank - 1, ...Array.from({ length: rank - 2 }, (_, at) => at + 1)]
const toLast = (rank: number): number[] => [0, ...Array.from({ length: rank - 2 }, (_, at) => at + 2), 1]

export class LayerCall extends OnnxEmitter {
  readonly scope: Scope
  readonly layer: Pick<KerasLayer, 'className' | 'name' | 'config'>
  readonly place: Place
  readonly inputs: readonly (Value | number)[]
  /** The call as stored in the file, in functional models. */
  readonly written: KerasCall | undefined
  /** The value of `attention_mask`. */
  readonly attentionMask: Value | undefined
  private loaded: Map<string, OnnxTensor> | undefined

  constructor(
    scope: Scope,
    layer: Pick<KerasLayer, 'className' | 'name' | 'config'>,
    place: Place,
    inputs: readonly (Value | number)[],
    written?: KerasCall,
    attentionMask?: Value,
  ) {
    super(scope.builder)
    this.scope = scope
    this.layer = layer
    this.place = place
    this.inputs = inputs
    this.written = written
    this.attentionMask = attentionMask
  }

  refuse(reason: string): Error {
    return badRequest(`${this.layer.className} '${this.layer.name}' cannot be converted: ${reason}`)
  }

  // Settings.

  get config(): JsonObject {
    return this.layer.config
  }

  number(name: string, absent?: number): number {
    const value = this.config[name]
    if (typeof value === 'number') return value
    if (absent !== undefined && (value === undefined || value === null)) return absent
    throw this.refuse(`its setting '${name}' is not a number.`)
  }

  flag(name: string, absent = false): boolean {
    const value = this.config[name]
    return typeof value === 'boolean' ? value : absent
  }

  text(name: string, absent: string): string {
    const value = this.config[name]
    return typeof value === 'string' ? value : absent
  }

  /** Integers, one per axis; a single number applies to all. */
  sizes(name: string, axes: number, absent?: number): number[] {
    const value: Json = this.config[name] ?? absent ?? null
    const list = typeof value === 'number' ? new Array<number>(axes).fill(value) : value
    if (!Array.isArray(list) || list.length !== axes || !list.every((size) => Number.isSafeInteger(size))) {
      throw this.refuse(`its setting '${name}' is not ${axes} whole numbers.`)
    }
    return list as number[]
  }

  /** The axis or axes of a setting; negative ones count from the end. null means all. */
  axes(name: string, rank: number, absent: Json = null): number[] {
    const value = this.config[name] ?? absent
    const axes = value === null ? [...Array(rank).keys()] : numbersIn(value)
    return axes.map((axis) => {
      const at = axis < 0 ? axis + rank : axis
      if (!Number.isInteger(at) || at < 0 || at >= rank)
        throw this.refuse(`its ${name} ${axis} is not one of its ${rank} axes.`)
      return at
    })
  }

  axis(name: string, rank: number, absent: Json = null): number {
    return this.axes(name, rank, absent)[0]!
  }

  /** True if the call has this argument set to true, such as `use_causal_mask`. */
  isSet(argument: string): boolean {
    return this.written?.kwargs[argument] === true
  }

  // Inputs.

  input(at = 0): Value {
    const value = this.inputs[at]
    if (typeof value !== 'object') throw this.refuse(`it has no input ${at}.`)
    return value
  }

  /** The input, which must have this number of axes. */
  inputOfRank(rank: number): Value {
    const value = this.input()
    if (value.shape.length !== rank) {
      throw this.refuse(`its input has ${value.shape.length} axes, not ${rank} (the batch included).`)
    }
    return value
  }

  fixed(shape: readonly Size[], what: string): number[] {
    return shape.map((size) => {
      if (typeof size !== 'number') throw this.refuse(`${what} is not fixed; give a fixed input shape.`)
      return size
    })
  }

  /** A size computed from another one; a dynamic size gets a name of its own. */
  sized(size: Size, compute: (size: number) => number): Size {
    return typeof size === 'number' ? compute(size) : `${size}_${this.layer.name}`
  }

  /** The ONNX value with its channels last, as in Keras. */
  last(value: Value): string {
    if (!value.channelsFirst) return value.name
    return this.transpose(value.name, toLast(value.shape.length))
  }

  /** The ONNX value with its channels first. */
  first(value: Value): string {
    if (value.channelsFirst || value.shape.length < 3) return value.name
    return this.transpose(value.name, toFirst(value.shape.length))
  }

  // ONNX.

  protected override outputName(): string {
    return this.layer.name
  }

  protected override constantName(kind: string): string {
    return `${this.layer.name}_${kind}`
  }

  /** A value with the shape and layout of another. */
  like(value: Value, name: string, changes: Partial<Value> = {}): Value {
    return { ...value, name, ...changes }
  }

  result(name: string, shape: readonly Size[], changes: Partial<Value> = {}): Value {
    return { name, shape, type: 'f32', channelsFirst: false, mask: null, ...changes }
  }

  scalar(value: number, type: DType = 'f32'): string {
    return this.builder.constant(this.constantName('value'), scalarOf(type, value))
  }

  constant(name: string, tensor: OnnxTensor): string {
    return this.builder.constant(`${this.layer.name}/${name}`, tensor)
  }

  vector(name: string, values: ArrayLike<number>): string {
    return this.constant(name, tensorOf('f32', [values.length], values))
  }

  cast(value: Value, type: DType): Value {
    if (value.type === type) return value
    return { ...value, type, name: this.castTo(value.name, type) }
  }

  // Weights.

  weight(name: string): OnnxTensor {
    const tensor = this.optionalWeight(name)
    if (tensor === undefined) throw this.refuse(`it has no weight '${name}'.`)
    return tensor
  }

  optionalWeight(name: string): OnnxTensor | undefined {
    this.loaded ??= this.scope.weights(this.layer, this.place)
    return this.loaded.get(name)
  }

  /** A weight as float32 with this number of axes. */
  weightOfRank(name: string, rank: number): OnnxTensor {
    const tensor = this.weight(name)
    if (tensor.shape.length !== rank) {
      throw this.refuse(`its weight '${name}' has the shape [${tensor.shape.join(', ')}], not ${rank} axes.`)
    }
    return tensor.type === 'f32' ? tensor : tensorOf('f32', tensor.shape, numbersOf(tensor))
  }
}

export type Layer = (call: LayerCall) => Value | readonly Value[]

/** The name of a function in a config, which is a string or an object with a class. */
export const functionName = (value: Json | undefined): string => {
  if (typeof value === 'string') return value
  if (!isObject(value)) return 'linear'
  const name = value.registered_name ?? (typeof value.config === 'string' ? value.config : value.class_name)
  return typeof name === 'string' ? name : 'linear'
}
