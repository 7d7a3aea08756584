import { badRequest } from '../domain/errors.ts'
import { decodeText, viewOf } from './sources.ts'

/** A value of a UBJSON file. Arrays with a numeric element type are typed arrays. */
export type UbjsonValue =
  | null
  | boolean
  | number
  | string
  | readonly UbjsonValue[]
  | { readonly [name: string]: UbjsonValue }
  | Float32Array
  | Float64Array

const MAX_DEPTH = 32

type ReadNumber = (view: DataView, at: number) => number

/** Number types by marker: their size in bytes and how to read them. All are big-endian. */
const NUMBERS: Readonly<Record<string, readonly [number, ReadNumber]>> = {
  i: [1, (view, at) => view.getInt8(at)],
  U: [1, (view, at) => view.getUint8(at)],
  I: [2, (view, at) => view.getInt16(at)],
  l: [4, (view, at) => view.getInt32(at)],
  L: [8, (view, at) => Number(view.getBigInt64(at))],
  d: [4, (view, at) => view.getFloat32(at)],
  D: [8, (view, at) => view.getFloat64(at)],
}

const CONSTANTS: Readonly<Record<string, UbjsonValue>> = { Z: null, T: true, F: false }

class UbjsonReader {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = viewOf(bytes)
  }

  value(marker: string, depth: number): UbjsonValue {
    if (depth > MAX_DEPTH) throw badRequest(`The UBJSON file nests more than ${MAX_DEPTH} values.`)
    if (Object.hasOwn(NUMBERS, marker)) return this.#number(marker)
    if (Object.hasOwn(CONSTANTS, marker)) return CONSTANTS[marker]!
    if (marker === 'S') return this.#text()
    if (marker === 'C') return String.fromCharCode(this.#take(1)[0]!)
    if (marker === '[') return this.#array(depth)
    if (marker === '{') return this.#object(depth)
    throw badRequest(`The UBJSON file is damaged at byte ${this.#at}: ${JSON.stringify(marker)} is not a type.`)
  }

  marker(): string {
    return String.fromCharCode(this.#take(1)[0]!)
  }

  requireEnd(): void {
    if (this.#at !== this.#bytes.length)
      throw badRequest(`The UBJSON file is followed by ${this.#bytes.length - this.#at} bytes that are not part of it.`)
  }

  #take(length: number): Uint8Array {
    const start = this.#at
    if (!(length >= 0 && length <= this.#bytes.length - start))
      throw badRequest(`The UBJSON file is truncated: ${length} bytes are needed at byte ${start}.`)
    this.#at += length
    return this.#bytes.subarray(start, this.#at)
  }

  #number(marker: string): number {
    const [size, read] = NUMBERS[marker]!
    const at = this.#at
    this.#take(size)
    return read(this.#view, at)
  }

  #length(): number {
    const marker = this.marker()
    if (!'iUIlL'.includes(marker)) throw badRequest(`The UBJSON file is damaged at byte ${this.#at}: no length.`)
    const length = this.#number(marker)
    if (!Number.isSafeInteger(length) || length < 0)
      throw badRequest(`The UBJSON file is damaged at byte ${this.#at}: ${length} is not a length.`)
    return length
  }

  #text(): string {
    return decodeText(this.#take(this.#length()), `the text before byte ${this.#at}`)
  }

  /** Reads the optional `$type` and `#count` at the start of a container. */
  #header(): { type: string | null; count: number | null } {
    const has = (marker: string): boolean => {
      if (this.#bytes[this.#at] !== marker.charCodeAt(0)) return false
      this.#at++
      return true
    }
    const type = has('$') ? this.marker() : null
    const count = has('#') ? this.#length() : null
    if (type !== null && count === null)
      throw badRequest(`The UBJSON file is damaged at byte ${this.#at}: a type without a count.`)
    return { type, count }
  }

  #array(depth: number): UbjsonValue {
    const { type, count } = this.#header()
    if (type !== null && count !== null) {
      const number = NUMBERS[type]
      // Elements of other types might occupy no bytes at all.
      if (number === undefined) throw badRequest(`The UBJSON file has an array of type ${JSON.stringify(type)}.`)
      const [size, read] = number
      const start = this.#at
      this.#take(count * size)
      const values = size < 4 || type === 'd' ? new Float32Array(count) : new Float64Array(count)
      for (let i = 0; i < count; i++) values[i] = read(this.#view, start + i * size)
      return values
    }
    const values: UbjsonValue[] = []
    while (count === null || values.length < count) {
      const marker = this.marker()
      if (count === null && marker === ']') break
      values.push(this.value(marker, depth + 1))
    }
    return values
  }

  #object(depth: number): UbjsonValue {
    const { type, count } = this.#header()
    if (type !== null) throw badRequest('The UBJSON file has an object whose members share a type.')
    const members: [string, UbjsonValue][] = []
    while (count === null || members.length < count) {
      if (this.#bytes[this.#at] === 0x7d && count === null) {
        this.#at++
        break
      }
      const name = this.#text()
      members.push([name, this.value(this.marker(), depth + 1)])
    }
    return Object.fromEntries(members)
  }
}

/**
 * Parses a UBJSON file (draft 12, as XGBoost writes it). Memory is bounded by a multiple of the file size. Throws
 * bad_request. Source: ubjson.org, and dmlc/xgboost src/common/json.cc.
 */
export const readUbjson = (bytes: Uint8Array): UbjsonValue => {
  const reader = new UbjsonReader(bytes)
  const value = reader.value(reader.marker(), 0)
  reader.requireEnd()
  return value
}
