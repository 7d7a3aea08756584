import type { DType } from '../tensors/weight-file.ts'
import type { FloatType, Kernel } from './kernel.ts'
import type { Chunk } from './strategy.ts'

/**
 * Below this bound on sum(n_k * |v_k|) every f64 sum of integers is exact, and rounding the f64 quotient to a whole
 * number gives the same as rounding the true quotient: its distance from a tie is at least 1 / (2 * total), more than
 * half a unit in the last place of a quotient below 2^51 / total.
 */
export const EXACT_SUM = 2 ** 51

type IntegerArray =
  | BigInt64Array
  | BigUint64Array
  | Int32Array
  | Uint32Array
  | Int16Array
  | Uint16Array
  | Int8Array
  | Uint8Array

type IntegerType = Exclude<DType, FloatType>

const ARRAYS: Readonly<Record<IntegerType, new (memory: ArrayBuffer, at: number, length: number) => IntegerArray>> = {
  i64: BigInt64Array,
  u64: BigUint64Array,
  i32: Int32Array,
  u32: Uint32Array,
  i16: Int16Array,
  u16: Uint16Array,
  i8: Int8Array,
  u8: Uint8Array,
  bool: Uint8Array,
}

const integersAt = (kernel: Kernel, dtype: DType, address: number, length: number): IntegerArray =>
  new ARRAYS[dtype as IntegerType](kernel.bytes(address, 0).buffer, address, length)

/** Divides and rounds to the nearest integer, ties to even; the denominator is positive. */
export const divideToNearestEven = (numerator: bigint, denominator: bigint): bigint => {
  let quotient = numerator / denominator
  let rest = numerator % denominator
  if (rest < 0n) {
    quotient -= 1n
    rest += denominator
  }
  const twice = rest * 2n
  const up = twice > denominator || (twice === denominator && quotient % 2n !== 0n)
  return up ? quotient + 1n : quotient
}

/** Writes the weighted mean of a chunk of integers of any size to `out`, using exact but slow big-integer sums. */
export const meanOfLargeIntegers = (
  kernel: Kernel,
  chunk: Chunk,
  weights: readonly number[],
  row: number,
  out: number,
): void => {
  const sums = new Array<bigint>(chunk.length).fill(0n)
  let total = 0n
  weights.forEach((weight, k) => {
    chunk.load(k, row)
    const values = integersAt(kernel, chunk.dtype, row, chunk.length)
    const factor = BigInt(weight)
    total += factor
    for (let i = 0; i < chunk.length; i++) sums[i]! += factor * BigInt(values[i]!)
  })
  writeIntegers(kernel, chunk, out, (i) => divideToNearestEven(sums[i]!, total))
}

/** Writes the mean of ranks [from, to) of each column of a chunk of integers of any size to `out`. */
export const meanOfLargeRanks = (
  kernel: Kernel,
  chunk: Chunk,
  { from, to }: { readonly from: number; readonly to: number },
  row: number,
  out: number,
): void => {
  const columns = Array.from({ length: chunk.length }, () => [] as bigint[])
  for (let k = 0; k < chunk.rows; k++) {
    chunk.load(k, row)
    const values = integersAt(kernel, chunk.dtype, row, chunk.length)
    for (const [i, column] of columns.entries()) column.push(BigInt(values[i]!))
  }
  writeIntegers(kernel, chunk, out, (i) => {
    const middle = columns[i]!.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)).slice(from, to)
    return divideToNearestEven(
      middle.reduce((sum, value) => sum + value, 0n),
      BigInt(to - from),
    )
  })
}

const writeIntegers = (kernel: Kernel, chunk: Chunk, out: number, valueAt: (i: number) => bigint): void => {
  const values = integersAt(kernel, chunk.dtype, out, chunk.length)
  for (let i = 0; i < chunk.length; i++)
    values[i] = values instanceof BigInt64Array || values instanceof BigUint64Array ? valueAt(i) : Number(valueAt(i))
}
