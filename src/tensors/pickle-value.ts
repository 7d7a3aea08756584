import type { ByteCursor } from './byte-cursor.ts'

/**
 * What a pickle may build: plain values, lists and tuples as arrays, dicts as Maps, sets as Sets, and objects that the
 * host made for the few globals it knows. Nothing is ever imported or called by name.
 */
export type PickleValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | PickleValue[]
  | Map<PickleValue, PickleValue>
  | Set<PickleValue>
  | PickleObject

/** Anything that came from a global: told apart by `kind`, meaningful to the host only. */
export interface PickleObject {
  readonly kind: string
}

/** Gives the few globals of a weight file their meaning. Each function throws bad_request to refuse. */
export interface PickleHost {
  global(module: string, name: string): PickleObject
  call(callable: PickleValue, args: readonly PickleValue[]): PickleValue
  persistent(id: PickleValue): PickleValue
  /** What takes the place of an object that is given its state. */
  build(target: PickleValue, state: PickleValue): PickleValue
  /** An object from a class and the arguments of its `__new__`; without it such opcodes are refused. */
  newObject?(type: PickleValue, args: readonly PickleValue[]): PickleValue
  /** A bytes object of so many bytes, which begin at the cursor and are to be passed; without it they are copied. */
  bytes?(cursor: ByteCursor, length: number): PickleValue
}
