/** Something big that is in memory while somebody uses it, and afterwards until its room is needed. */
export interface Resident<Value> {
  readonly name: string
  /** What it is expected to take, before it was loaded. */
  readonly expectedBytes: number
  load(): Promise<Value>
}

export interface Acquired<Value> {
  readonly value: Value
  /** May be called more than once. */
  release(): void
}

/** There is no room for `bytes` more: `heldBytes` are taken by others, of which those `inUse` may not be closed. */
export class NoRoom extends Error {
  override readonly name = 'NoRoom'
  readonly bytes: number
  readonly heldBytes: number
  /** Empty when it would not fit alone either. */
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
