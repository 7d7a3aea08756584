import { type ContainerPlan, fillPlan, type TensorData } from './container-plan.ts'
import type { Layout, LayoutEntry } from './layout.ts'
import { requireSoundLayout } from './shape.ts'
import { BYTES_OF, byteLength, type DType, directTensor, elementCount, rowMajorStrides } from './weight-file.ts'
import { type PlannedMember, planZip } from './zip-plan.ts'

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
/** The alignment of storages in torch.save. */
const ALIGNMENT = 64

const text = new TextEncoder()

// A pickle is built as a string with one character per byte. Opcodes: CPython, Lib/pickletools.py.

/** Encodes an integer in `bytes` bytes, little-endian; exact to 2^53. */
const little = (value: number, bytes: 4 | 8): string => {
  let out = ''
  for (let i = 0, rest = value; i < bytes; i++, rest = Math.floor(rest / 256)) out += String.fromCharCode(rest % 256)
  return out
}

const textOf = (value: string): string => {
  let out = ''
  for (const byte of text.encode(value)) out += String.fromCharCode(byte)
  return `X${little(out.length, 4)}${out}`
}
const int = (value: number): string => (value < 2 ** 31 ? `J${little(value, 4)}` : `\x8a\x08${little(value, 8)}`)
const tuple = (...items: readonly string[]): string => `(${items.join('')}t`
const global = (module: string, name: string): string => `c${module}\n${name}\n`
const call = (callable: string, ...args: readonly string[]): string => `${callable}${tuple(...args)}R`
const PROTOCOL_2 = '\x80\x02'
const FALSE = '\x89'
const ORDERED_DICT = call(global('collections', 'OrderedDict'))

/** torch has storage classes only for its older types; the newer unsigned types are views of untyped storages. */
const tensorOf = ({ dtype, shape }: LayoutEntry, key: number): string => {
  const typed = dtype === 'u16' || dtype === 'u32' || dtype === 'u64' ? null : STORAGE[dtype]
  const count = elementCount(shape)
  const [storage, size] =
    typed === null
      ? [global('torch.storage', 'UntypedStorage'), count * BYTES_OF[dtype]]
      : [global('torch', typed), count]
  const reference = `${tuple(textOf('storage'), storage, textOf(String(key)), textOf('cpu'), int(size))}Q`
  const view = [reference, int(0), tuple(...shape.map(int)), tuple(...rowMajorStrides(shape).map(int))]
  if (typed !== null) return call(global('torch._utils', '_rebuild_tensor_v2'), ...view, FALSE, ORDERED_DICT)
  const type = global('torch', `uint${dtype.slice(1)}`)
  return call(global('torch._utils', '_rebuild_tensor_v3'), ...view, FALSE, ORDERED_DICT, type)
}

const pickleOf = (layout: Layout): Uint8Array => {
  const items = layout.map((entry, key) => textOf(entry.name) + tensorOf(entry, key)).join('')
  const pickle = `${PROTOCOL_2}${ORDERED_DICT}(${items}u.`
  return Uint8Array.from(pickle, (char) => char.charCodeAt(0))
}

/**
 * Plans a PyTorch file (zip format) of this layout: a state dict that `torch.load(weights_only=True)` opens, one storage per
 * tensor. For results that cannot be patched in place (expanded views). Throws bad_request for invalid layouts.
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
  const tensors = layout.map((entry, key) => directTensor(entry, storages[key]!.dataOffset))
  return { file: { tensors, members: storages }, size, pieces }
}

/** Writes a whole PyTorch file in memory. Throws bad_request if a tensor's data does not match its shape and type. */
export const writeTorch = (tensors: readonly TensorData[]): Uint8Array<ArrayBuffer> =>
  fillPlan(planTorch(tensors), tensors)
