import { badRequest } from '../domain/errors.ts'
import { MAX_DIMENSIONS } from './limits.ts'
import { isKind, type PickleObject, type PickleValue } from './pickle-value.ts'
import type { DType } from './weight-file.ts'

// The objects that a checkpoint's pickle may build, as plain data.

/** A storage class or a dtype. Types that cannot be aggregated keep their torch name for messages. */
export interface TorchType extends PickleObject {
  readonly kind: 'type'
  /** null for UntypedStorage, whose tensors give the type. */
  readonly dtype: DType | null
  readonly torchName: string
  readonly bytes: number
}

/** A reference to a storage; its bytes are elsewhere in the file. */
export interface TorchStorage extends PickleObject {
  readonly kind: 'storage'
  readonly key: string
  readonly type: TorchType
  readonly elements: number
  /** Elements of the root storage before this one (legacy files had views of storages). */
  readonly offset: number
}

export interface TorchTensor extends PickleObject {
  readonly kind: 'tensor'
  readonly storage: TorchStorage
  readonly type: TorchType
  readonly offset: number
  readonly shape: readonly number[]
  readonly strides: readonly number[]
}

/** A value that is harmless next to the weights but cannot be a weight. */
export interface Unusable extends PickleObject {
  readonly kind: 'unusable'
  readonly what: string
}

/** A global that may be called; `name` is its full name. */
export interface Callable extends PickleObject {
  readonly kind: 'callable'
  readonly name: string
}

export type TorchObject = TorchType | TorchStorage | TorchTensor | Unusable | Callable | { readonly kind: 'inert' }

export const INERT: TorchObject = { kind: 'inert' }

const type = (torchName: string, bytes: number, dtype: DType | null = null): TorchType => ({
  kind: 'type',
  dtype,
  torchName,
  bytes,
})

export const UNTYPED = type('untyped', 1)

/** Storage classes of torch and torch.cuda. */
export const STORAGES: ReadonlyMap<string, TorchType> = new Map([
  ['DoubleStorage', type('float64', 8, 'f64')],
  ['FloatStorage', type('float32', 4, 'f32')],
  ['HalfStorage', type('float16', 2, 'f16')],
  ['BFloat16Storage', type('bfloat16', 2, 'bf16')],
  ['LongStorage', type('int64', 8, 'i64')],
  ['IntStorage', type('int32', 4, 'i32')],
  ['ShortStorage', type('int16', 2, 'i16')],
  ['CharStorage', type('int8', 1, 'i8')],
  ['ByteStorage', type('uint8', 1, 'u8')],
  ['BoolStorage', type('bool', 1, 'bool')],
  ['ComplexFloatStorage', type('complex64', 8)],
  ['ComplexDoubleStorage', type('complex128', 16)],
  ['QInt8Storage', type('qint8', 1)],
  ['QUInt8Storage', type('quint8', 1)],
  ['QInt32Storage', type('qint32', 4)],
  ['QUInt4x2Storage', type('quint4x2', 1)],
  ['QUInt2x4Storage', type('quint2x4', 1)],
])

/** `torch.<name>` dtypes. Those without a matching DType may occur next to weights but are refused as a weight's type. */
export const DTYPES: ReadonlyMap<string, TorchType> = new Map([
  ...[...STORAGES.values()].map((storage) => [storage.torchName, storage] as const),
  ['uint16', type('uint16', 2, 'u16')],
  ['uint32', type('uint32', 4, 'u32')],
  ['uint64', type('uint64', 8, 'u64')],
  ...['complex32', 'float8_e4m3fn', 'float8_e5m2', 'float8_e4m3fnuz', 'float8_e5m2fnuz', 'float8_e8m0fnu'].map(
    (name) => [name, type(name, 1)] as const,
  ),
])

const sizes = (value: PickleValue | undefined): readonly number[] => {
  if (!Array.isArray(value) || value.length > MAX_DIMENSIONS || !value.every((size) => typeof size === 'number'))
    throw badRequest('The pickle rebuilds a tensor whose shape or strides are not a list of numbers.')
  // Copied because the pickle may modify the list later.
  return [...(value as number[])]
}

export const isTensor = (value: unknown): value is TorchTensor => isKind<TorchTensor>(value, 'tensor')
export const isUnusable = (value: unknown): value is Unusable => isKind<Unusable>(value, 'unusable')
export const isType = (value: unknown): value is TorchType => isKind<TorchType>(value, 'type')
export const isCallable = (value: unknown): value is Callable => isKind<Callable>(value, 'callable')

/** Creates a tensor from the arguments of torch._utils._rebuild_tensor*: storage, offset, shape, strides. */
export const tensorOf = (args: readonly PickleValue[], dtype?: PickleValue): TorchTensor => {
  const [storage, offset, shape, strides] = args
  if (
    !isKind<TorchStorage>(storage, 'storage') ||
    typeof offset !== 'number' ||
    (dtype !== undefined && !isType(dtype))
  )
    throw badRequest('The pickle rebuilds a tensor from something that is not a storage.')
  return {
    kind: 'tensor',
    storage,
    type: dtype === undefined ? storage.type : (dtype as TorchType),
    offset,
    shape: sizes(shape),
    strides: sizes(strides),
  }
}
