import type { DType } from '../tensors/weight-file.ts'
import type { Kernel } from './kernel.ts'

/**
 * One column chunk: elements [start, start + length) of one tensor, in row-major order, the same columns in every
 * update. Row k is the update with the k-th smallest device id.
 */
export interface Chunk {
  readonly tensor: string
  readonly dtype: DType
  readonly start: number
  readonly length: number
  readonly rows: number
  /** Reads row k into kernel memory and zeroes the padding behind it. */
  load(row: number, address: number): void
  /** How error messages name row k: `update of device 'pixel-7'`. */
  nameOf(row: number): string
}

/**
 * How many updates become one. The engine calls `survey`, where there is one, with every chunk of the model, then
 * `combine` with every chunk again. Both read as many rows at a time as they like; a strategy that holds all rows at
 * once asks for fewer columns when there are many rows, so that memory stays bounded.
 */
export interface Strategy {
  /** Most elements per chunk. */
  readonly columns: number
  survey?(chunk: Chunk): void
  /** Returns the address in kernel memory of the `length` results, in the chunk's dtype. Throws conflict. */
  combine(chunk: Chunk): number
  /** What each row counted for, summing to 1; asked after the last chunk. */
  weights(): readonly number[]
}

/** `samples[k]` is row k's number of training samples, a whole number. Throws conflict when they cannot be weighed. */
export type StrategyFactory = (kernel: Kernel, samples: readonly number[]) => Strategy
