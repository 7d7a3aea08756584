import type { ByteCursor } from './byte-cursor.ts'

/**
 * What a pickle may build: plain values, lists and tuples as arrays, dicts as Maps, sets as Sets, and objects that the host
 * creates for the globals it supports. Nothing is ever imported or called by name.
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

/** An object created from a global: identified by `kind`, meaningful only to the host. */
export interface PickleObject {
  readonly kind: string
}

export const isKind = <T extends PickleObject>(value: unknown, kind: T['kind']): value is T =>
  typeof value === 'object' && value !== null && 'kind' in value && value.kind === kind

export const isSize = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** The name of a global, whichever version of Python or NumPy wrote it. */
export const modernName = (module: string, name: string): string =>
  `${module}.${name}`
    .replace(/^__builtin__\./, 'builtins.')
    .replace(/^copy_reg\./, 'copyreg.')
    .replace(/^numpy\.core\./, 'numpy._core.')

/** Defines the few globals of a weight file. Each function throws bad_request to refuse. */
export interface PickleHost {
  global(module: string, name: string): PickleObject
  call(callable: PickleValue, args: readonly PickleValue[]): PickleValue
  persistent(id: PickleValue): PickleValue
  /** Returns the replacement for an object whose state is being set. */
  build(target: PickleValue, state: PickleValue): PickleValue
  /** Creates an object from a class and the arguments of its `__new__`; if absent, such opcodes are refused. */
  newObject?(type: PickleValue, args: readonly PickleValue[]): PickleValue
  /** Creates a bytes object and skips its `length` bytes, which begin at the cursor; if absent, they are copied. */
  bytes?(cursor: ByteCursor, length: number): PickleValue
}
