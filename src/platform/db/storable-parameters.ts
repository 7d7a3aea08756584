import { PostgresDialect, PostgresQueryCompiler, type QueryCompiler } from 'kysely'
import { storable } from '../../domain/text.ts'

const JSON_TEXT = /^[{["]/
// A pair or an escaped backslash is left alone; JSON.stringify escapes half a pair, as it does U+0000.
const ESCAPE = /\\(?:ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|u0000|ud[89a-f][0-9a-f]{2}|.)/gis

/**
 * The parameter as PostgreSQL can store it. Requests with such characters are refused, but text also comes from receivers,
 * identity providers, and files, and from cutting it: one character must not keep the reason of a failure from being recorded.
 */
export const storableParameter = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(storableParameter)
  if (typeof value !== 'string') return value
  if (value.includes('\0')) return storable(value)
  if (!value.includes('\\u') || !JSON_TEXT.test(value)) return value
  return value.replace(ESCAPE, (found) => (found.length === '\\u0000'.length ? '\\ufffd' : found))
}

class StorableCompiler extends PostgresQueryCompiler {
  protected override addParameter(parameter: unknown): void {
    super.addParameter(storableParameter(parameter))
  }
}

export class StorableDialect extends PostgresDialect {
  override createQueryCompiler(): QueryCompiler {
    return new StorableCompiler()
  }
}
