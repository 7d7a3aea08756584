import type { StrategyOptions } from '../domain/strategy-options.ts'
import type { DType } from '../tensors/weight-file.ts'
import type { PrivacyOutcome, PrivacyPlan } from './job.ts'
import type { Kernel } from './kernel.ts'

/**
 * One column chunk: elements [start, start + length) of one tensor, in row-major order, the same columns in every
 * update. Row k is the update with the k-th smallest device id. `start` is a multiple of the strategy's columns.
 * What is loaded goes to kernel memory as elements of `dtype`, with zeroes in the padding behind it.
 */
export interface Chunk {
  readonly tensor: string
  /** The tensor's number in the model; tensors that share their storage share the number of the first of them. */
  readonly place: number
  readonly dtype: DType
  readonly start: number
  readonly length: number
  readonly rows: number
  load(row: number, address: number): void
  loadGlobal(address: number): void
  /** What row k's device started from. */
  loadBase(row: number, address: number): void
  loadControl(row: number, address: number): void
  /** The strategy's own vector number `vector`, f64, as the last round left it. */
  loadState(vector: number, address: number): void
  saveState(vector: number, address: number): void
  /** The global control variate's elements for the devices, in the chunk's dtype. */
  saveControl(address: number): void
  /** How error messages name row k: `update of device 'pixel-7'`. */
  nameOf(row: number): string
}

export type Survey = (chunk: Chunk) => void

/**
 * How many updates become one. `aggregateFiles` calls each survey, where there are any, with every chunk of the model, then
 * `combine` with every chunk again. Both read as many rows at a time as they like; a strategy that holds all rows at
 * once asks for fewer columns when there are many rows, so that memory stays bounded.
 */
export interface Strategy {
  /** Most elements per chunk, an even number. */
  readonly columns: number
  /** What must be there besides the updates. */
  readonly needs?: { readonly global?: true; readonly bases?: true; readonly controls?: true }
  /** What the elements of its own vectors are before the first round; without it there are none. */
  readonly state?: readonly number[]
  /** Passes over the model before the last one. A generator may decide on another when one is done. */
  surveys?(): Iterable<Survey>
  /** Returns the address in kernel memory of the `length` results, in the chunk's dtype. Throws conflict. */
  combine(chunk: Chunk): number
  /** What each row counted for, summing to 1; asked after the last chunk. */
  weights(): readonly number[]
  /** Asked after the last chunk. */
  privacy?(): PrivacyOutcome
}

/** What a strategy knows of its round; row k's figures are number k of each list. */
export interface Round {
  readonly options: StrategyOptions
  /** Numbers of training samples, whole numbers. */
  readonly samples: readonly number[]
  readonly staleness: readonly number[]
  /** Devices that the updates were drawn from. */
  readonly population: number
  /** How many rounds of this job the strategy's state has been through. */
  readonly roundsBefore: number
  readonly privacy: PrivacyPlan | null
}

/** Throws conflict when the updates are too few or cannot be weighed. */
export type StrategyFactory = (kernel: Kernel, round: Round) => Strategy

/** An option that the settings are known to carry. */
export const numberOption = (options: StrategyOptions, name: string): number => {
  const value = options[name]
  if (typeof value !== 'number') throw new Error(`The strategy's option '${name}' is missing.`)
  return value
}
