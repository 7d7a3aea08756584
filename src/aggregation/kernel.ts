import type { DType } from '../tensors/weight-file.ts'
import { KERNEL_WASM } from './kernel.gen.ts'

/** Named in every receipt: the version rises whenever the same input could give other bytes. */
export const KERNEL = { name: 'wasm-f64', version: '1' } as const

export type FloatType = 'f64' | 'f32' | 'f16' | 'bf16'

export const isFloat = (dtype: DType): dtype is FloatType =>
  dtype === 'f64' || dtype === 'f32' || dtype === 'f16' || dtype === 'bf16'

/**
 * The arithmetic, on addresses in its own linear memory. Rows hold little-endian elements as they lie in a file; sums
 * are f64. Buffers have room for `padded(length)` elements, because the vector loops work on whole vectors, and what
 * lies behind `length` in a row of floats must be zero.
 */
export interface Kernel {
  /** 16-byte aligned and never freed: a kernel lives as long as one job. Throws RangeError beyond 4 GiB. */
  allocate(bytes: number): number
  /** A view of the memory, valid until the next `allocate`. */
  bytes(address: number, length: number): Uint8Array<ArrayBuffer>
  /** Sets `length` sums to -0, the neutral element of addition. */
  clear(sums: number, length: number): void
  /** sums[i] += weight * row[i]. Returns the largest magnitude in the row for integers, 0 for floats. */
  add(dtype: DType, row: number, sums: number, length: number, weight: number): number
  /** out[i] = sums[i] / total, rounded to `dtype`, ties to even. False when a float came out infinite or NaN. */
  finish(dtype: DType, sums: number, total: number, out: number, length: number): boolean
  /** Index of the first infinite or NaN element, or -1. */
  firstNonFinite(dtype: FloatType, row: number, length: number): number
}

/** Elements that a buffer for `length` of them must have room for. */
export const padded = (length: number): number => Math.ceil(length / 8) * 8

const PAGE = 65_536
const FIRST_FREE = 1024

type Operation = (...operands: number[]) => number | undefined

const ADD: Readonly<Record<DType, string>> = {
  f64: 'addF64',
  f32: 'addF32',
  f16: 'addF16',
  bf16: 'addBf16',
  i64: 'addI64',
  i32: 'addI32',
  i16: 'addI16',
  i8: 'addI8',
  u64: 'addU64',
  u32: 'addU32',
  u16: 'addU16',
  u8: 'addU8',
  bool: 'addBool',
}

// Unsigned results share the signed stores: the low bits of a mean in range are the same.
const FINISH: Readonly<Record<DType, string>> = {
  f64: 'finishF64',
  f32: 'finishF32',
  f16: 'finishF16',
  bf16: 'finishBf16',
  i64: 'finishI64',
  i32: 'finishI32',
  i16: 'finishI16',
  i8: 'finishI8',
  u64: 'finishI64',
  u32: 'finishI32',
  u16: 'finishI16',
  u8: 'finishI8',
  bool: 'finishI8',
}

const SCAN: Readonly<Record<FloatType, string>> = { f64: 'scanF64', f32: 'scanF32', f16: 'scanF16', bf16: 'scanBf16' }

let compiled: WebAssembly.Module | undefined

/** A fresh kernel with 64 KiB of memory of its own, growing by `allocate`. The module is compiled once per thread. */
export const createKernel = (): Kernel => {
  compiled ??= new WebAssembly.Module(Uint8Array.from(atob(KERNEL_WASM), (char) => char.charCodeAt(0)))
  const memory = new WebAssembly.Memory({ initial: 1 })
  const exported = new WebAssembly.Instance(compiled, { env: { memory } }).exports as Record<string, unknown>
  const operation = (name: string): Operation => exported[name] as Operation
  const clear = operation('clear')
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
    clear: (sums, length) => void clear(sums, length),
    add: (dtype, row, sums, length, weight) => operation(ADD[dtype])(row, sums, length, weight) ?? 0,
    finish: (dtype, sums, total, out, length) => operation(FINISH[dtype])(sums, total, out, length) !== 1,
    firstNonFinite: (dtype, row, length) => operation(SCAN[dtype])(row, length) ?? -1,
  }
}
