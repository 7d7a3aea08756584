import { InvalidArgumentError, Option } from 'commander'
import { decimalNumber } from '../domain/decimal-number.ts'
import { infiniteIn } from '../domain/infinite-number.ts'

/** Options shared by several commands. */
export const apiBaseOption = (): Option =>
  new Option('--api-base <url>', 'address of the service (default: SERVICE_API_BASE, else the one from svc login)')

export const jsonOption = (): Option => new Option('--json', 'print JSON')

/** The maximum number of rows that lists print by default. */
export const DEFAULT_LIMIT = 100

export const limitOption = (otherwise: number | 'all' = DEFAULT_LIMIT): Option =>
  new Option('--limit <count>', `maximum number, or all (default: ${otherwise})`).argParser((text) => {
    const number = text === 'all' ? Number.POSITIVE_INFINITY : decimalNumber(text)
    if (number === Number.POSITIVE_INFINITY || (Number.isInteger(number) && number >= 1)) return number
    throw new InvalidArgumentError("It must be a whole number of at least 1, or 'all'.")
  })

export const numberAboveZero = (text: string): number => {
  const number = decimalNumber(text)
  if (number > 0 && Number.isFinite(number)) return number
  throw new InvalidArgumentError('It must be a number above 0.')
}

/** Returns an option parser for numbers in a range. */
export const numberFrom =
  (range: { readonly min: number; readonly max?: number; readonly whole?: boolean }) =>
  (text: string): number => {
    const value = decimalNumber(text)
    const { min, max = Number.MAX_VALUE, whole = true } = range
    if (value >= min && value <= max && (!whole || Number.isInteger(value))) return value
    const bounds = range.max === undefined ? `of at least ${min}` : `from ${min} to ${max}`
    throw new InvalidArgumentError(`It must be a ${whole ? 'whole number' : 'number'} ${bounds}.`)
  }

export const wholeAboveZero = numberFrom({ min: 1 })

export interface ServiceOptions {
  readonly apiBase?: string
}

export interface DataOptions extends ServiceOptions {
  readonly json?: true
}

/** Parses `key=value` and adds it to earlier ones. The value is JSON if possible (numbers, lists), otherwise text. */
export const keyValue = (
  text: string,
  before: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> => {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('It must be key=value, such as learning_rate=0.05.')
  const [key, value] = [text.slice(0, at), text.slice(at + 1)]
  if (Object.hasOwn(before, key)) throw new InvalidArgumentError(`The key '${key}' is given twice.`)
  let parsed: unknown = value
  try {
    // JSON has no .5, which nobody means as text.
    parsed = JSON.parse(value.replace(/^-?(?=\.\d)/, '$&0'))
  } catch {
    // Not JSON: keeps the text.
  }
  if (infiniteIn(parsed) !== null) throw new InvalidArgumentError('A number is out of range. Text goes in quotes.')
  return { ...before, [key]: parsed }
}
