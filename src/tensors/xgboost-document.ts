import { badRequest } from '../domain/errors.ts'

/** The bytes of a value that is not parsed, as they are in the file. */
export class RawValue {
  readonly bytes: Uint8Array
  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }
}

/** A value in a model file. Containers are parsed; arrays of numbers and single floats stay as they were written. */
export type XgboostValue = string | number | RawValue | XgboostValue[] | Map<string, XgboostValue>

/** Reads and writes one file format. Values that were not changed keep their bytes or at least their meaning. */
export interface XgboostCodec {
  read(bytes: Uint8Array): XgboostValue
  write(value: XgboostValue): Uint8Array
  /** The numbers of a list, or the one number. NaN for what is not a number. */
  numbers(raw: RawValue): number[]
  /** Encodes integers as a list of the same kind as `like`. */
  listLike(like: XgboostValue, numbers: readonly number[]): XgboostValue
}

export const MAX_DEPTH = 16

export const damaged = (at: number, reason: string) =>
  badRequest(`The XGBoost model is damaged at byte ${at}: ${reason}. Save it again with save_model().`)

/** Reads a file sequentially. */
export class DocumentReader {
  readonly bytes: Uint8Array
  at = 0

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  take(length: number): Uint8Array {
    if (!(length >= 0 && this.at + length <= this.bytes.length)) throw damaged(this.at, 'it ends too early')
    this.at += length
    return this.bytes.subarray(this.at - length, this.at)
  }

  /** Returns the next byte as a character without consuming it. */
  peek(): string {
    if (this.at >= this.bytes.length) throw damaged(this.at, 'it ends too early')
    return String.fromCharCode(this.bytes[this.at]!)
  }

  next(): string {
    const char = this.peek()
    this.at++
    return char
  }

  is(char: string): boolean {
    if (this.peek() !== char) return false
    this.at++
    return true
  }

  rawFrom(start: number): RawValue {
    return new RawValue(this.bytes.subarray(start, this.at))
  }
}

/** The numbers of a list; none if it is missing, and NaN for an item that is not a number. */
export const numbersOf = (codec: XgboostCodec, value: XgboostValue | undefined): number[] => {
  if (value instanceof RawValue) return codec.numbers(value)
  if (!Array.isArray(value)) return []
  return value.flatMap((item) =>
    item instanceof RawValue ? codec.numbers(item) : typeof item === 'number' ? item : NaN,
  )
}

export const integersOf = (codec: XgboostCodec, value: XgboostValue | undefined): number[] => {
  const numbers = numbersOf(codec, value)
  const isList = Array.isArray(value) || value instanceof RawValue
  if (!isList || !numbers.every((number) => Number.isSafeInteger(number)))
    throw badRequest(
      'The XGBoost model is damaged: a list of whole numbers is missing. Save it again with save_model().',
    )
  return numbers
}

/**
 * The meaning of a value as text, however a program has written it.
 * @param round Math.fround for trees, whose numbers XGBoost reads as float32
 */
export const meaningOf = (
  codec: XgboostCodec,
  value: XgboostValue | undefined,
  round: (number: number) => number = Number,
): string => {
  if (value instanceof RawValue) return `[${codec.numbers(value).map(round).join()}]`
  if (Array.isArray(value)) return `[${value.map((item) => meaningOf(codec, item, round)).join()}]`
  if (!(value instanceof Map)) return JSON.stringify(value) ?? ''
  const members = [...value].map(([name, item]) => `${JSON.stringify(name)}:${meaningOf(codec, item, round)}`)
  return `{${members.sort().join()}}`
}
