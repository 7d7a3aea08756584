import { InvalidArgumentError, Option } from 'commander'
import { decimalNumber } from '../../domain/decimal-number.ts'
import { ServiceError } from '../../domain/errors.ts'
import { jsonOrNull } from '../../domain/parse-json.ts'
import { type Metadata, type MetadataValue, readMetadata } from '../../domain/version-metadata.ts'
import type { Output } from '../output.ts'

/** Text in quotes stays text. So do numbers that would not be stored as written: 007, long ids, and those out of range. */
const parseValue = (text: string): MetadataValue => {
  const quoted = jsonOrNull(text)
  if (typeof quoted === 'boolean' || typeof quoted === 'string') return quoted
  const number = /^[+-]?0\d/.test(text) ? Number.NaN : decimalNumber(text)
  const isKept = Number.isFinite(number) && (/[.e]/i.test(text) || Number.isSafeInteger(number))
  return isKept ? number : text
}

const parse = (text: string, before: Metadata = {}): Metadata => {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('It must be key=value, such as accuracy=0.91.')
  try {
    const entry = readMetadata({ [text.slice(0, at).trim()]: parseValue(text.slice(at + 1)) })
    const [key] = Object.keys(entry)
    if (Object.hasOwn(before, key!)) throw new InvalidArgumentError(`The key '${key}' is given twice.`)
    return readMetadata({ ...before, ...entry })
  } catch (error) {
    throw error instanceof ServiceError ? new InvalidArgumentError(error.message) : error
  }
}

/** Collects what to record with a version. Refused here, before a large file is uploaded. */
export const metadataOption = (): Option =>
  new Option(
    '--meta <key=value>',
    'metadata to record, such as accuracy=0.91 or dataset=2026-11; repeatable',
  ).argParser(parse)

/** Shows metadata as a table with a row for each key, in alphabetical order. */
export const showMetadata = (out: Output, metadata: Metadata): void => {
  const rows = Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1))
  if (rows.length > 0)
    out.table(
      ['METADATA', 'VALUE'],
      rows.map(([key, value]) => [key, String(value)]),
    )
}
