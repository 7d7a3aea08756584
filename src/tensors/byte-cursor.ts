import { badRequest } from '../domain/errors.ts'
import { copyOf, decodeText, readExactly, viewOf } from './sources.ts'
import type { ByteSource } from './weight-file.ts'

const WINDOW = 64 * 1024

/** Reads a file sequentially through a buffer, for formats whose length is known only once they have been parsed. */
export class ByteCursor {
  /** Absolute offset of the next byte. */
  get position(): number {
    return this.#windowStart + this.#next
  }
  readonly #source: ByteSource
  readonly #end: number
  readonly #what: string
  #window = new Uint8Array(0)
  #windowStart: number
  #next = 0

  /** Reads bytes [start, end) of the source; `what` names them in messages. */
  constructor(source: ByteSource, start: number, end: number, what: string) {
    this.#source = source
    this.#windowStart = start
    this.#end = end
    this.#what = what
  }

  byte(): number {
    if (this.#next >= this.#window.length) this.#fill(1)
    return this.#window[this.#next++]!
  }

  /** Returns the next `length` bytes, which are valid until the next call. Throws bad_request past the end. */
  take(length: number): Uint8Array {
    if (this.#next + length > this.#window.length) this.#fill(length)
    this.#next += length
    return this.#window.subarray(this.#next - length, this.#next)
  }

  /** Skips `length` bytes; reads nothing beyond the buffer. Throws bad_request past the end. */
  skip(length: number): void {
    if (this.#next + length <= this.#window.length) {
      this.#next += length
      return
    }
    const to = this.position + length
    this.#requireInside(to)
    this.#window = new Uint8Array(0)
    this.#windowStart = to
    this.#next = 0
  }

  u16(): number {
    return viewOf(this.take(2)).getUint16(0, true)
  }

  u32(): number {
    return viewOf(this.take(4)).getUint32(0, true)
  }

  /** Reads a 64-bit length. Values above 2^53 lose precision but fail any bounds check. */
  u64(): number {
    return Number(viewOf(this.take(8)).getBigUint64(0, true))
  }

  /** Returns the text before the next line feed and consumes both; at most 1,000 bytes. */
  line(): string {
    const bytes: number[] = []
    for (let byte = this.byte(); byte !== 0x0a; byte = this.byte()) {
      if (bytes.length >= 1000) throw badRequest(`${this.#what} has a line that never ends, at byte ${this.position}.`)
      bytes.push(byte)
    }
    return decodeText(Uint8Array.from(bytes), `the line before byte ${this.position}`)
  }

  #fill(length: number): void {
    const start = this.position
    this.#requireInside(start + length)
    // Copied because the source may reuse its buffer, and this window outlives the call.
    this.#window = copyOf(
      readExactly(this.#source, start, Math.min(Math.max(length, WINDOW), this.#end - start), this.#what),
    )
    this.#windowStart = start
    this.#next = 0
  }

  #requireInside(end: number): void {
    if (end > this.#end)
      throw badRequest(
        `${this.#what} is truncated: bytes ${this.position} to ${end} are needed, but it ends at ${this.#end}. ` +
          'Send the whole file again.',
      )
  }
}
