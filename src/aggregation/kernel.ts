import { BYTES_OF, type DType } from '../tensors/weight-file.ts'
import { KERNEL_WASM } from './kernel.gen.ts'

/** Recorded in every receipt. The version increases whenever the same input could give different bytes. */
export const KERNEL = { name: 'wasm-f64', version: '1' } as const

export type FloatType = 'f64' | 'f32' | 'f16' | 'bf16'

export const isFloat = (dtype: DType): dtype is FloatType =>
  dtype === 'f64' || dtype === 'f32' || dtype === 'f16' || dtype === 'bf16'

/**
 * The arithmetic, on addresses in the kernel's linear memory. Rows hold little-endian elements as they are in files; sums
 * are f64. Buffers must have room for `padded(length)` elements, because loops process whole vectors; in rows of floats, the
 * elements after `length` must be zero.
 */
export interface Kernel {
  /** Returns a 16-byte aligned address. Never freed: a kernel lives as long as one job. Throws RangeError beyond 4 GiB. */
  allocate(bytes: number): number
  /** A view of the memory, valid until the next `allocate`. */
  bytes(address: number, length: number): Uint8Array<ArrayBuffer>
  /** A view of f64 elements, valid until the next `allocate`. */
  doubles(address: number, length: number): Float64Array<ArrayBuffer>
  /** Sets `length` sums to -0, the neutral element of addition. */
  clear(sums: number, length: number): void
  /** sums[i] += weight * row[i]. Returns the largest magnitude in the row for integers, 0 for floats. */
  add(dtype: DType, row: number, sums: number, length: number, weight: number): number
  /** out[i] = sums[i] / total, rounded to `dtype`, ties to even. Returns false if a float is infinite or NaN. */
  finish(dtype: DType, sums: number, total: number, out: number, length: number): boolean
  /** Returns the index of the first infinite or NaN element, or -1. */
  firstNonFinite(dtype: FloatType, row: number, length: number): number
  /** out[i] = row[i] as f64. Returns the largest magnitude in the row for integers, 0 for floats. */
  decode(dtype: DType, row: number, out: number, length: number): number
  /** out[i] = row[i] as f32, for 16-bit floats. */
  widen(dtype: 'f16' | 'bf16', row: number, out: number, length: number): void
  /** sum((a[i] - b[i])^2) of f64 vectors. */
  squaredDistance(a: number, b: number, length: number): number
  /** sum((a[i] - b[i]) * c[i]) of f64 vectors. */
  projection(a: number, b: number, c: number, length: number): number
  /** sums[i] += weight * (a[i] - b[i]) of f64 vectors. */
  addDelta(a: number, b: number, sums: number, length: number, weight: number): void
  /**
   * out[i * rows + j] += sum((row_i - row_j)^2) for all i < j; row k is at base + k * stride. With f32 lanes, the
   * differences and sums of 64 squares at a time are f32; the rest is f64.
   */
  pairs(lanes: 'f32' | 'f64', base: number, stride: number, rows: number, length: number, out: number): void
  /** Sorts each column over all rows with the comparators of `table` (see kernel/ranks.as). */
  sortRows(lanes: 'f32' | 'f64', base: number, length: number, table: number, comparators: number): void
  /** Links another module that uses this memory, imported as env.memory, and returns its function `run`. */
  link(module: WebAssembly.Module): (...operands: number[]) => number
}

/** The number of elements that a buffer for `length` of them must have room for. */
export const padded = (length: number): number => Math.ceil(length / 8) * 8

const PAGE = 65_536
const FIRST_FREE = 1024

type Operation = (...operands: number[]) => number | undefined

/** The names of a function that exists for each element type: `addF64`, `addBool`. */
const namesOf = (verb: string): Readonly<Record<DType, string>> =>
  Object.fromEntries(
    Object.keys(BYTES_OF).map((dtype) => [dtype, `${verb}${dtype[0]!.toUpperCase()}${dtype.slice(1)}`]),
  ) as Record<DType, string>

const ADD = namesOf('add')
const SCAN = namesOf('scan')
// Unsigned results use the signed stores, because the low bits of a mean in range are the same.
const [I64, I32, I16, I8] = ['finishI64', 'finishI32', 'finishI16', 'finishI8'] as const
const FINISH = { ...namesOf('finish'), u64: I64, u32: I32, u16: I16, u8: I8, bool: I8 }

let compiled: WebAssembly.Module | undefined

/** Creates a kernel with its own 64 KiB of memory, which `allocate` grows. The module is compiled once per thread. */
export const createKernel = (): Kernel => {
  compiled ??= new WebAssembly.Module(Uint8Array.from(atob(KERNEL_WASM), (char) => char.charCodeAt(0)))
  const memory = new WebAssembly.Memory({ initial: 1 })
  const exported = new WebAssembly.Instance(compiled, { env: { memory } }).exports as Record<string, unknown>
  const operation = (name: string): Operation => exported[name] as Operation
  const clear = operation('clear')
  const squaredDistance = operation('squaredDistance')
  const projection = operation('projection')
  const add = (dtype: DType, row: number, sums: number, length: number, weight: number): number =>
    operation(ADD[dtype])(row, sums, length, weight) ?? 0
  let free = FIRST_FREE
  return {
    allocate: (bytes) => {
      const address = free
      free += Math.ceil(bytes / 16) * 16
      const missing = free - memory.buffer.byteLength
      if (missing > 0) memory.grow(Math.ceil(missing / PAGE))
      return address
    },
    bytes: (address, length) => new Uint8Array(memory.buffer, address, length),
    doubles: (address, length) => new Float64Array(memory.buffer, address, length),
    clear: (sums, length) => void clear(sums, length),
    add,
    finish: (dtype, sums, total, out, length) => operation(FINISH[dtype])(sums, total, out, length) !== 1,
    firstNonFinite: (dtype, row, length) => operation(SCAN[dtype])(row, length) ?? -1,
    decode: (dtype, row, out, length) => {
      clear(out, length)
      return add(dtype, row, out, length, 1)
    },
    widen: (dtype, row, out, length) => void operation(dtype === 'f16' ? 'widenF16' : 'widenBf16')(row, out, length),
    squaredDistance: (a, b, length) => squaredDistance(a, b, length) ?? 0,
    projection: (a, b, c, length) => projection(a, b, c, length) ?? 0,
    addDelta: (a, b, sums, length, weight) => void operation('addDelta')(a, b, sums, length, weight),
    pairs: (lanes, base, stride, rows, length, out) =>
      void operation(lanes === 'f32' ? 'pairsF32' : 'pairsF64')(base, stride, rows, length, out),
    sortRows: (lanes, base, length, table, comparators) =>
      void operation(lanes === 'f32' ? 'sortRowsF32' : 'sortRowsF64')(base, length, table, comparators),
    link: (module) =>
      new WebAssembly.Instance(module, { env: { memory } }).exports.run as (...operands: number[]) => number,
  }
}
