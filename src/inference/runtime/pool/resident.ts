/** A large value that stays in memory while in use, and afterward until its room is needed. */
export interface Resident<Value> {
  readonly name: string
  /** The memory that it is expected to take, before it is loaded. */
  readonly expectedBytes: number
  load(): Promise<Value>
}

export interface Acquired<Value> {
  readonly value: Value
  /** May be called more than once. */
  release(): void
}

/** There is no room for `bytes`: others take `heldBytes`, of which those `inUse` cannot be closed. */
export class NoRoom extends Error {
  override readonly name = 'NoRoom'
  readonly bytes: number
  readonly heldBytes: number
  /** Empty if it would not fit even alone. */
  readonly inUse: readonly string[]

  constructor(resident: string, bytes: number, heldBytes: number, inUse: readonly string[]) {
    super(`no room for ${resident}`)
    this.bytes = bytes
    this.heldBytes = heldBytes
    this.inUse = inUse
  }
}

export class ShuttingDown extends Error {
  override readonly name = 'ShuttingDown'
}
