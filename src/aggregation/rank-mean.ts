import type { DType } from '../tensors/weight-file.ts'
import { EXACT_SUM, meanOfLargeRanks } from './exact-integers.ts'
import { isFloat, type Kernel, padded } from './kernel.ts'
import { firstNonFinite, nonFiniteError } from './non-finite.ts'
import { networkModule, rankNetwork } from './sorting-network.ts'
import type { Chunk } from './strategy.ts'

/** With more rows, straight-line code no longer fits the instruction cache. */
const MAX_STRAIGHT_ROWS = 28
/** 32 KiB of float32 per row, so that twenty rows fit the L2 cache. */
const MAX_COLUMNS = 8192
/** All rows of a chunk are in memory at once, as f64 in the worst case. */
const ROW_BYTES = 16 * 1024 * 1024

type Lanes = 'f32' | 'f64'

/** Integers are sorted as f64 and 16-bit floats as f32; both are exact (large 64-bit integers are handled separately). */
const lanesOf = (dtype: DType): Lanes => (dtype === 'f32' || dtype === 'f16' || dtype === 'bf16' ? 'f32' : 'f64')

/** The columns per chunk, at most `most`, such that `rows` rows of f64 fit the memory limit. */
export const columnsFor = (rows: number, most: number): number =>
  Math.max(64, Math.min(most, Math.floor(ROW_BYTES / (rows * 8) / 64) * 64))

/** Loads all rows of a chunk as f32 or f64; returns the largest magnitude for integers. */
export const loadRows = (
  kernel: Kernel,
  chunk: Chunk,
  lanes: Lanes,
  at: { readonly base: number; readonly stride: number; readonly scratch: number },
): number => {
  const { dtype, length, rows } = chunk
  let largest = 0
  for (let k = 0; k < rows; k++) {
    const address = at.base + k * at.stride
    if (dtype === lanes) chunk.load(k, address)
    else {
      chunk.load(k, at.scratch)
      if (lanes === 'f64') largest = Math.max(largest, kernel.decode(dtype, at.scratch, address, length))
      else kernel.widen(dtype as 'f16' | 'bf16', at.scratch, address, length)
    }
  }
  return largest
}

/**
 * The mean of ranks [from, to) of every column over `rows` rows: a median (one or two middle ranks) or a trimmed mean. Sums
 * run in f64 in the order of ranks; a zero result is positive. Integers become the exact mean rounded to nearest, ties to
 * even. Memory is bounded for up to about 30,000 rows.
 */
export const rankMean = (kernel: Kernel, rows: number, from: number, to: number) => {
  const columns = columnsFor(rows, MAX_COLUMNS)
  const stride = (lanes: Lanes): number => columns * (lanes === 'f32' ? 4 : 8)
  const base = kernel.allocate(rows * stride('f64'))
  const scratch = kernel.allocate(columns * 8)
  const out = kernel.allocate(columns * 8)
  const plan = { rows, from, to, stride, base, out }
  const order = rows <= MAX_STRAIGHT_ROWS ? straightOrder(kernel, plan) : tableOrder(kernel, plan)
  return {
    columns,
    /** Returns the address of the results in the chunk's dtype. Throws conflict naming the row that is not finite. */
    combine: (chunk: Chunk): number => {
      const { dtype, length } = chunk
      const lanes = lanesOf(dtype)
      const largest = loadRows(kernel, chunk, lanes, { base, stride: stride(lanes), scratch })
      if (!isFloat(dtype) && largest * (to - from) >= EXACT_SUM) {
        meanOfLargeRanks(kernel, chunk, { from, to }, scratch, out)
        return out
      }
      const { finite, values, total } = order(dtype, lanes, length)
      const fault = finite ? null : firstNonFinite(kernel, chunk, scratch)
      if (fault !== null) throw fault
      if (values === null) return out
      if (!kernel.finish(dtype, values, total, scratch, length)) throw nonFiniteError(kernel, chunk, scratch)
      return scratch
    },
  }
}

interface Plan {
  readonly rows: number
  readonly from: number
  readonly to: number
  readonly stride: (lanes: Lanes) => number
  readonly base: number
  readonly out: number
}

/** `values` / `total` are the means in f64; null if `out` already holds them in the chunk's type. */
type Order = (
  dtype: DType,
  lanes: Lanes,
  length: number,
) => { readonly finite: boolean; readonly values: number | null; readonly total: number }

/** Recent networks of this thread, cached because a job uses the same one in every round. */
const modules = new Map<string, WebAssembly.Module>()
const MAX_MODULES = 16

const moduleFor = (plan: Plan, lanes: Lanes, out: Lanes): WebAssembly.Module => {
  const { rows, from, to } = plan
  const stride = plan.stride(lanes)
  const key = [rows, stride, lanes, out, from, to].join(' ')
  const known = modules.get(key)
  if (known !== undefined) return known
  const comparators = rankNetwork(rows, from, to)
  const module = new WebAssembly.Module(networkModule({ rows, stride, lanes, out, from, to, comparators }))
  if (modules.size === MAX_MODULES) modules.delete(modules.keys().next().value!)
  modules.set(key, module)
  return module
}

const straightOrder = (kernel: Kernel, plan: Plan): Order => {
  const linked = new Map<string, (...operands: number[]) => number>()
  return (dtype, lanes, length) => {
    const out = dtype === 'f32' ? 'f32' : 'f64'
    const key = `${lanes} ${out}`
    const run = linked.get(key) ?? kernel.link(moduleFor(plan, lanes, out))
    linked.set(key, run)
    const bad = run(plan.base, plan.out, plan.base + padded(length) * (lanes === 'f32' ? 4 : 8))
    return { finite: bad === 0, values: dtype === 'f32' ? null : plan.out, total: 1 }
  }
}

const tableOrder = (kernel: Kernel, plan: Plan): Order => {
  const comparators = rankNetwork(plan.rows, plan.from, plan.to)
  const count = comparators.length
  const tables = new Map<Lanes, number>()
  const tableFor = (lanes: Lanes): number => {
    const table = kernel.allocate(count * 8)
    const stride = plan.stride(lanes)
    const entries = Uint32Array.from(comparators.flatMap(({ low, high }) => [low * stride, high * stride]))
    kernel.bytes(table, count * 8).set(new Uint8Array(entries.buffer))
    return table
  }
  return (_, lanes, length) => {
    const stride = plan.stride(lanes)
    const table = tables.get(lanes) ?? tableFor(lanes)
    tables.set(lanes, table)
    let finite = true
    for (let k = 0; k < plan.rows; k++)
      if (kernel.firstNonFinite(lanes, plan.base + k * stride, length) !== -1) finite = false
    kernel.sortRows(lanes, plan.base, length, table, count)
    // Sums start at +0, as in the straight-line code.
    kernel.bytes(plan.out, padded(length) * 8).fill(0)
    for (let rank = plan.from; rank < plan.to; rank++) kernel.add(lanes, plan.base + rank * stride, plan.out, length, 1)
    return { finite, values: plan.out, total: plan.to - plan.from }
  }
}
