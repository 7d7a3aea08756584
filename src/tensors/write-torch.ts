import { type ContainerPlan, fillPlan, type TensorData } from './container-plan.ts'
import type { Layout, LayoutEntry } from './layout.ts'
import { requireSoundLayout } from './shape.ts'
import { BYTES_OF, byteLength, type DType, elementCount, rowMajorStrides } from './weight-file.ts'
import { type PlannedMember, planZip } from './zip-plan.ts'
import { joinBytes } from './zip-records.ts'

const STORAGE: Readonly<Record<Exclude<DType, 'u16' | 'u32' | 'u64'>, string>> = {
  f64: 'DoubleStorage',
  f32: 'FloatStorage',
  f16: 'HalfStorage',
  bf16: 'BFloat16Storage',
  i64: 'LongStorage',
  i32: 'IntStorage',
  i16: 'ShortStorage',
  i8: 'CharStorage',
  u8: 'ByteStorage',
  bool: 'BoolStorage',
}

const ARCHIVE = 'archive'
/** What torch.save aligns storages to. */
const ALIGNMENT = 64

const text = new TextEncoder()

/** A whole number in `bytes` bytes; exact to 2^53. */
const little = (value: number, bytes: 4 | 8): number[] =>
  Array.from({ length: bytes }, (_, i) => Math.floor(value / 256 ** i) % 256)

/** Pickle opcodes by what they push. Source: CPython, Lib/pickletools.py. */
const pushText = (value: string): number[] => {
  const bytes = text.encode(value)
  return [0x58, ...little(bytes.length, 4), ...bytes]
}
const pushInt = (value: number): number[] =>
  value < 2 ** 31 ? [0x4a, ...little(value, 4)] : [0x8a, 8, ...little(value, 8)]
const pushTuple = (...items: readonly number[][]): number[] => [0x28, ...items.flat(), 0x74]
const pushGlobal = (module: string, name: string): number[] => [...text.encode(`c${module}\n${name}\n`)]
const call = (callable: number[], ...args: readonly number[][]): number[] => [...callable, ...pushTuple(...args), 0x52]
const FALSE = [0x89]
const BINPERSID = 0x51
const STORAGE_TAG = pushText('storage')
const CPU = pushText('cpu')
const REBUILD = pushGlobal('torch._utils', '_rebuild_tensor_v2')
const REBUILD_UNTYPED = pushGlobal('torch._utils', '_rebuild_tensor_v3')
const ORDERED_DICT = call(pushGlobal('collections', 'OrderedDict'))

/** torch has storages of their own for its older types; the newer unsigned ones view untyped bytes. */
const pushTensor = ({ dtype, shape }: LayoutEntry, key: number): number[] => {
  const typed = dtype === 'u16' || dtype === 'u32' || dtype === 'u64' ? null : STORAGE[dtype]
  const count = elementCount(shape)
  const storage = [
    ...pushTuple(
      STORAGE_TAG,
      typed === null ? pushGlobal('torch.storage', 'UntypedStorage') : pushGlobal('torch', typed),
      pushText(String(key)),
      CPU,
      pushInt(typed === null ? count * BYTES_OF[dtype] : count),
    ),
    BINPERSID,
  ]
  const view = [pushInt(0), pushTuple(...shape.map(pushInt)), pushTuple(...rowMajorStrides(shape).map(pushInt))]
  if (typed !== null) return call(REBUILD, storage, ...view, FALSE, ORDERED_DICT)
  const type = pushGlobal('torch', `uint${dtype.slice(1)}`)
  return call(REBUILD_UNTYPED, storage, ...view, FALSE, ORDERED_DICT, type)
}

const pickleOf = (layout: Layout): Uint8Array => {
  const parts = layout.map((entry, key) => Uint8Array.from([...pushText(entry.name), ...pushTensor(entry, key)]))
  const start = Uint8Array.from([0x80, 2, ...ORDERED_DICT, 0x28])
  const end = Uint8Array.from([0x75, 0x2e])
  return joinBytes([start, ...parts, end])
}

/**
 * A PyTorch file (zip form) of this layout: a state dict that `torch.load(weights_only=True)` opens, one storage per
 * tensor. For templates that cannot be patched, such as those with expanded views. Throws bad_request for unsound layouts.
 */
export const planTorch = (layout: Layout): ContainerPlan => {
  requireSoundLayout(layout)
  const known = (name: string, start: Uint8Array): PlannedMember => ({
    name: `${ARCHIVE}/${name}`,
    start,
    tail: 0,
    align: ALIGNMENT,
  })
  const planned = [
    known('data.pkl', pickleOf(layout)),
    known('byteorder', text.encode('little')),
    ...layout.map((entry, key) => ({ ...known(`data/${key}`, new Uint8Array(0)), tail: byteLength(entry) })),
    known('version', text.encode('3\n')),
  ]
  const { size, pieces, members } = planZip(planned)
  const storages = members.slice(2, -1)
  const tensors = layout.map(({ name, dtype, shape }, key) => ({
    name,
    dtype,
    shape,
    strides: rowMajorStrides(shape),
    byteOffset: storages[key]!.dataOffset,
    bigEndian: false,
    deflated: null,
  }))
  return { file: { format: 'torch-zip', tensors, members: storages }, size, pieces }
}

/** A whole PyTorch file in memory. Throws bad_request when a tensor's data does not fit its shape and type. */
export const writeTorch = (tensors: readonly TensorData[]): Uint8Array => fillPlan(planTorch(tensors), tensors)
