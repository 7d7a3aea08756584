import { PostgresDialect, PostgresQueryCompiler, type QueryCompiler } from 'kysely'
import { storable } from '../../domain/text.ts'

const JSON_TEXT = /^[{["]/
// Surrogate pairs and escaped backslashes are kept; JSON.stringify escapes an unpaired surrogate, as it does U+0000.
const ESCAPE = /\\(?:ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|u0000|ud[89a-f][0-9a-f]{2}|.)/gis

const isJson = (text: string): boolean => {
  if (!JSON_TEXT.test(text)) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/**
 * Returns the parameter in a form that PostgreSQL can store. Requests with such characters are refused, but text also comes
 * from receivers, identity providers and files, and may be cut: one character must not prevent the reason for a failure from
 * being recorded. Escapes are replaced only in valid JSON: other text may contain backslashes.
 */
export const storableParameter = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(storableParameter)
  if (typeof value !== 'string') return value
  if (value.includes('\0')) return storable(value)
  if (!value.includes('\\u') || !isJson(value)) return value
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
