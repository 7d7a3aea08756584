import { readSync } from 'node:fs'
import { invalidModel } from './invalid-model.ts'

const WINDOW = 1 << 20

/** Reads numbers and strings of a file's header sequentially through a window, and never beyond the end of the file. */
export class HeaderReader {
  readonly path: string
  readonly #file: number
  readonly #size: number
  #window = Buffer.alloc(0)
  #windowStart = 0
  #next = 0

  /** `file` is an open descriptor of `path`; `size` is in bytes. */
  constructor(path: string, file: number, size: number) {
    this.path = path
    this.#file = file
    this.#size = size
  }

  /** The file offset of the next byte. */
  get position(): number {
    return this.#windowStart + this.#next
  }

  get remaining(): number {
    return this.#size - this.position
  }

  seek(position: number): void {
    this.#window = Buffer.alloc(0)
    this.#windowStart = position
    this.#next = 0
  }

  /** Returns the next `length` bytes, valid until the next call. `what` describes them in errors. */
  take(length: number, what: string): Buffer {
    const at = this.#advance(length, what)
    return this.#window.subarray(at, at + length)
  }

  passOver(length: number, what: string): void {
    if (this.#next + length <= this.#window.length) this.#next += length
    else if (length <= this.remaining) this.seek(this.position + length)
    else this.take(length, what)
  }

  u32(what: string): number {
    return this.#window.readUInt32LE(this.#advance(4, what))
  }

  /** Reads a count, length, or offset. Values above 2^53 cannot be valid. */
  u64(what: string, ofWhat = ''): number {
    const at = this.#advance(8, what)
    const value = this.#window.readUInt32LE(at) + this.#window.readUInt32LE(at + 4) * 2 ** 32
    if (value > Number.MAX_SAFE_INTEGER)
      throw invalidModel(
        this.path,
        `says ${this.#window.readBigUInt64LE(at)} for ${ofWhat}${what}, which is impossible. It is damaged: fetch it again.`,
      )
    return value
  }

  /** Reads the bytes of a length-prefixed string. */
  stringBytes(what: string, longest: number): Buffer {
    return this.take(this.#stringLength(what, longest), what)
  }

  /** Calls `see` with each of `count` strings in `window`, which is valid only during the call. */
  eachString(
    count: number,
    what: string,
    longest: number,
    see: (window: Buffer, from: number, to: number) => void,
  ): void {
    for (let index = 0; index < count; index++) {
      const length = this.#stringLength(what, longest)
      const at = this.#advance(length, what)
      see(this.#window, at, at + length)
    }
  }

  #stringLength(what: string, longest: number): number {
    const length = this.u64(what, 'the length of ')
    if (length > longest)
      throw invalidModel(
        this.path,
        `has ${length} bytes in ${what}; more than ${longest} are a sign of damage. Fetch it again.`,
      )
    return length
  }

  /** Moves past `length` bytes, loads them into the window, and returns their offset in it. */
  #advance(length: number, what: string): number {
    if (length > this.remaining)
      throw invalidModel(
        this.path,
        `ends at byte ${this.#size}, in the middle of ${what}. It is truncated or damaged: fetch it again.`,
      )
    if (this.#next + length > this.#window.length) this.#fill(length)
    this.#next += length
    return this.#next - length
  }

  #fill(length: number): void {
    const start = this.position
    const window = Buffer.allocUnsafe(Math.min(Math.max(length, WINDOW), this.#size - start))
    for (let filled = 0; filled < window.length; ) {
      const read = readSync(this.#file, window, filled, window.length - filled, start + filled)
      if (read === 0) throw invalidModel(this.path, `became shorter while it was read, at byte ${start + filled}.`)
      filled += read
    }
    this.#window = window
    this.#windowStart = start
    this.#next = 0
  }
}
