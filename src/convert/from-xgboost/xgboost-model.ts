import { badRequest } from '../../domain/errors.ts'
import { decodeText } from '../../tensors/sources.ts'
import { readUbjson } from '../../tensors/ubjson.ts'
import type { ByteSource } from '../../tensors/weight-file.ts'

/** Limited by JavaScript's string length and by memory. */
const MAX_MODEL_BYTES = 400 * 1024 * 1024
const OPENING_BRACE = 0x7b

const damaged = (path: string, expected: string) =>
  badRequest(`The XGBoost model is damaged: ${path} is not ${expected}. Save it again with booster.save_model(path).`)

/** A part of the model file that knows its path for messages. All methods throw bad_request. */
export class XgboostPart {
  readonly path: string
  readonly #value: unknown

  constructor(value: unknown, path: string) {
    this.#value = value
    this.path = path
  }

  has(name: string): boolean {
    const value = this.#value
    return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
  }

  part(name: string): XgboostPart {
    if (!this.has(name)) throw damaged(this.path === '' ? name : `${this.path}.${name}`, 'there')
    return new XgboostPart((this.#value as Record<string, unknown>)[name], `${this.path}.${name}`.replace(/^\./, ''))
  }

  parts(name: string): XgboostPart[] {
    const { path, list } = this.#list(name)
    return Array.from(list, (value, at) => new XgboostPart(value, `${path}[${at}]`))
  }

  text(name: string): string {
    const part = this.part(name)
    if (typeof part.#value !== 'string') throw damaged(part.path, 'a text')
    return part.#value
  }

  /** A list of numbers; true and false are 1 and 0. An absent list is empty if that is allowed. */
  numbers(name: string, absent: 'required' | 'empty' = 'required'): ArrayLike<number> {
    if (absent === 'empty' && !this.has(name)) return []
    const { path, list } = this.#list(name)
    if (!Array.isArray(list)) return list as ArrayLike<number>
    return list.map((value) => {
      if (value === null) return Number.NaN
      if (typeof value !== 'number' && typeof value !== 'boolean') throw damaged(path, 'a list of numbers')
      return Number(value)
    })
  }

  /** A number that XGBoost writes as text, such as "5E-1", or a list of them, such as "[5E-1,2E-1]". */
  numbersInText(name: string): number[] {
    const numbers = this.text(name)
      .replace(/^\[|\]$/g, '')
      .split(',')
      .map(Number)
    if (!numbers.every(Number.isFinite)) throw damaged(`${this.path}.${name}`, 'a number')
    return numbers
  }

  /** A count that XGBoost writes as text; 0 if absent, because older versions did not write all of them. */
  count(name: string): number {
    if (!this.has(name)) return 0
    const [count] = this.numbersInText(name)
    if (!Number.isInteger(count) || count! < 0 || count! > 2 ** 31) throw damaged(`${this.path}.${name}`, 'a count')
    return count!
  }

  #list(name: string): { path: string; list: ArrayLike<unknown> } {
    const part = this.part(name)
    const value = part.#value
    if (!Array.isArray(value) && !ArrayBuffer.isView(value)) throw damaged(part.path, 'a list')
    return { path: part.path, list: value as unknown as ArrayLike<unknown> }
  }
}

const parse = (bytes: Uint8Array): unknown => {
  // A JSON object begins with a name, a UBJSON object with the length of one.
  const next = bytes.find((byte, at) => at > 0 && byte > 0x20)
  if (next !== 0x22) return readUbjson(bytes)
  // XGBoost writes numbers that JSON lacks, such as the threshold of a categorical split, by their names.
  const json = decodeText(bytes, 'the model').replace(/(?<=[[,:]\s*)-?(NaN|Infinity)(?=\s*[,\]}])/g, 'null')
  try {
    return JSON.parse(json)
  } catch (error) {
    throw badRequest(`The XGBoost model is not valid JSON: ${(error as Error).message}. Send the whole file again.`)
  }
}

/** Reads the `learner` of a model saved as JSON or UBJSON. Throws bad_request. */
export const readLearner = (source: ByteSource): XgboostPart => {
  if (source.size > MAX_MODEL_BYTES)
    throw badRequest(`The XGBoost model has ${source.size} bytes; at most ${MAX_MODEL_BYTES} are read.`)
  const bytes = source.read(0, source.size)
  if (bytes[0] !== OPENING_BRACE)
    throw badRequest(
      'Not an XGBoost model in JSON or UBJSON. Load it where it was made, and save it again: ' +
        'booster.save_model("model.json").',
    )
  return new XgboostPart(parse(bytes), '').part('learner')
}
