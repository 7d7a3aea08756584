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
  build(target: PickleValue): void
}
