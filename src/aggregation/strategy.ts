import type { StrategyOptions } from '../domain/strategy-options.ts'
import type { DType } from '../tensors/weight-file.ts'
import type { PrivacyOutcome, PrivacyPlan } from './aggregation-messages.ts'
import type { Kernel } from './kernel.ts'

/**
 * One column chunk: elements [start, start + length) of one tensor in row-major order, the same columns in every update. Row
 * k is the update with the k-th smallest device ID. `start` is a multiple of the strategy's columns. Data is loaded into
 * kernel memory as elements of `dtype`, padded with zeros.
 */
export interface Chunk {
  readonly tensor: string
  /** The tensor's number in the model; tensors with shared storage have the number of the first. */
  readonly place: number
  readonly dtype: DType
  readonly start: number
  readonly length: number
  readonly rows: number
  load(row: number, address: number): void
  loadGlobal(address: number): void
  /** Loads the model that row k's device started from. */
  loadBase(row: number, address: number): void
  loadControl(row: number, address: number): void
  /** Loads the mean change, f64, of a round whose job has it. */
  loadMeanChange(address: number): void
  /** Loads state vector number `vector`, f64, as the previous round left it. */
  loadState(vector: number, address: number): void
  saveState(vector: number, address: number): void
  /** Saves the global control variate's elements for the devices, in the chunk's dtype. */
  saveControl(address: number): void
  /** True if the round is private or secure: error messages must not contain devices, elements, or values. */
  readonly isPrivate: boolean
  /** Names row k in error messages: `update of device 'pixel-7'`. */
  nameOf(row: number): string
}

export type Survey = (chunk: Chunk) => void

/**
 * Combines updates into one. `aggregateFiles` calls each survey, if any, with every chunk of the model, then `combine` with
 * every chunk again. Both may read any number of rows at a time; a strategy that holds all rows at once requests fewer
 * columns for many rows, so that memory stays bounded.
 */
export interface Strategy {
  /** The maximum elements per chunk, an even number. */
  readonly columns: number
  /** Required inputs besides the updates. */
  readonly needs?: { readonly global?: true; readonly bases?: true; readonly controls?: true }
  /** The initial element value of each state vector; none if absent. */
  readonly state?: readonly number[]
  /** Passes over the model before the last one. A generator may decide after one pass whether to add another. */
  surveys?(): Iterable<Survey>
  /** Returns the address in kernel memory of the `length` results, in the chunk's dtype. Throws conflict. */
  combine(chunk: Chunk): number
  /** The weight of each row, with a sum of 1; called after the last chunk. */
  weights(): readonly number[]
  /** Called after the last chunk. */
  privacy?(): PrivacyOutcome
}

/** A strategy's information about its round; element k of each list belongs to row k. */
export interface Round {
  readonly options: StrategyOptions
  /** The numbers of training samples, integers. */
  readonly samples: readonly number[]
  readonly staleness: readonly number[]
  /** The number of devices that the updates were drawn from. */
  readonly population: number
  /** The number of earlier rounds of this job that are in the strategy's state. */
  readonly roundsBefore: number
  readonly privacy: PrivacyPlan | null
  /** Chunks have the mean change (`loadMeanChange`), which replaces that of the updates. */
  readonly hasMeanChange: boolean
}

/** Throws conflict if there are too few updates or they cannot be weighted. */
export type StrategyFactory = (kernel: Kernel, round: Round) => Strategy

/** Returns an option that the settings always contain. */
export const numberOption = (options: StrategyOptions, name: string): number => {
  const value = options[name]
  if (typeof value !== 'number') throw new Error(`The strategy's option '${name}' is missing.`)
  return value
}
