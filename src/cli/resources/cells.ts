import { isObject } from '../../domain/is-object.ts'
import { percent } from '../../domain/percent.ts'
import { sizeWords } from '../../domain/sizes.ts'
import type { Column, Format, Row } from './resource.ts'

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** `12 s ago`, `3 h ago`, `in 5 min`; in whole units. */
const agoWords = (iso: string, now: Date): string => {
  const seconds = Math.round((now.getTime() - Date.parse(iso)) / 1000)
  const far = Math.abs(seconds)
  const [unit, name] =
    far < 2 * MINUTE ? [1, 's'] : far < 2 * HOUR ? [MINUTE, 'min'] : far < 2 * DAY ? [HOUR, 'h'] : [DAY, 'd']
  const words = `${Math.floor(far / unit)} ${name}`
  return seconds < 0 ? `in ${words}` : `${words} ago`
}

/** To the minute, in UTC as everywhere. */
export const timeWords = (iso: string): string => iso.slice(0, 16).replace('T', ' ')

const TIMESTAMP = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?Z$/

/** Writes a time, and leaves other text as it is: to the second, because records have more space than tables. */
export const textWords = (text: string): string => text.replace(TIMESTAMP, '$1 $2 UTC')

const listWords = (values: readonly unknown[]): string =>
  values.length === 0
    ? '-'
    : values.map((one) => (typeof one === 'object' ? pairWords(one as Row) : String(one))).join(', ')

/** Rounds fractions to six significant digits, but never digits before the decimal point. */
const sixDigits = (value: number): number =>
  Math.abs(value) >= 1e6 ? Math.round(value) : Number.isInteger(value) ? value : Number(value.toPrecision(6))

const roundNumbers = (_: string, value: unknown): unknown => (typeof value === 'number' ? sixDigits(value) : value)

/** Formats a record as `key=value` pairs; nested lists become JSON. */
const pairWords = (row: Row): string =>
  Object.entries(row)
    .filter(([, value]) => value !== null)
    .map(
      ([key, value]) =>
        `${key}=${typeof value === 'object' ? JSON.stringify(value, roundNumbers) : roundNumbers(key, value)}`,
    )
    .join(' ') || '-'

const WRITERS: Readonly<Record<Format, (value: never, now: Date) => string>> = {
  id: (value: string) => value,
  ago: agoWords,
  time: timeWords,
  percent: (value: number) => `${value}%`,
  share: (value: number) => percent(value),
  figure: (value: number) => value.toPrecision(4),
  size: (value: number) => sizeWords(value),
  count: (value: number) => String(value),
  names: (value: readonly unknown[]) => listWords(value),
}

export const cellOf = (row: Row, [, value, format]: Column, now: Date): string | null => {
  const found = typeof value === 'string' ? row[value] : value(row, now)
  if (found === null || found === undefined || found === '') return null
  if (format === undefined) return Array.isArray(found) ? listWords(found) : textWords(String(found))
  return WRITERS[format](found as never, now)
}

const NUMERIC: readonly (Format | undefined)[] = ['percent', 'share', 'figure', 'size', 'count']

/** Right-aligns the numeric columns. */
export const layoutOf = (columns: readonly Column[]) => ({
  right: new Set(columns.flatMap(([, , format], at) => (NUMERIC.includes(format) ? [at] : []))),
})

/** `last_heartbeat` -> `Last heartbeat`. */
const labelOf = (field: string): string => {
  const words = field.replaceAll('_', ' ')
  return words[0]!.toUpperCase() + words.slice(1)
}

const isTable = (value: unknown): value is readonly Row[] =>
  Array.isArray(value) && value.length > 0 && value.every(isObject)

type RowOfRows = Readonly<Record<string, Row>>

/** True for records by name, such as a round's metrics. */
const isOfRows = (value: unknown): value is RowOfRows => {
  const rows = isObject(value) ? Object.values(value) : []
  return rows.length > 0 && rows.every(isObject)
}

const named = (rows: RowOfRows): readonly Row[] => Object.entries(rows).map(([name, row]) => ({ name, ...row }))

const partition = <T>(all: readonly T[], first: (one: T) => boolean): [T[], T[]] => [
  all.filter(first),
  all.filter((one) => !first(one)),
]

const plainWords = (value: unknown): string | null => {
  if (value === null || value === '') return null
  if (typeof value === 'string') return textWords(value)
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return listWords(value)
  if (isObject(value)) return pairWords(value)
  return String(typeof value === 'number' ? sixDigits(value) : value)
}

/** Rounds to four significant digits. */
export const fourDigits = (value: unknown): string | null =>
  typeof value === 'number' ? String(Number(value.toPrecision(4))) : null

/** Splits a record into fields and tables: lists of records, and records by name, become tables. */
export const recordOf = (row: Row) => {
  const fields: [string, string | null][] = []
  const tables: { title: string; header: string[]; rows: (string | null)[][] }[] = []
  const add = (title: string, rows: readonly Row[]) => {
    const keys = [...new Set(rows.flatMap((one) => Object.keys(one)))]
    tables.push({
      title,
      header: keys.map((key) => key.replaceAll('_', ' ').toUpperCase()),
      rows: rows.map((one) => keys.map((key) => plainWords(one[key] ?? null))),
    })
  }
  for (const [name, value] of Object.entries(row)) {
    if (isTable(value)) {
      add(labelOf(name), value)
    } else if (isOfRows(value)) {
      add(labelOf(name), named(value))
    } else if (isObject(value)) {
      const [inner, plain] = partition(Object.entries(value), ([, one]) => isOfRows(one))
      fields.push([labelOf(name), plainWords(Object.fromEntries(plain))])
      for (const [key, rows] of inner) add(`${labelOf(name)}, ${key.replaceAll('_', ' ')}`, named(rows as RowOfRows))
    } else {
      fields.push([labelOf(name), plainWords(value)])
    }
  }
  return { fields, tables }
}

/** Replaces each `{name}` in a sentence with the field of that name, which `quote` quotes in commands to copy. */
export const fillIn = (sentence: string, row: Row, quote = (text: string): string => text): string =>
  sentence.replace(/\{(\w+)\}/g, (_, name: string) => quote(plainWords(row[name] ?? null) ?? '-'))
