import { pointerTo } from '../../domain/json-pointer.ts'
import { ownEntry } from '../../domain/own-entry.ts'
import { MAX_REPETITIONS } from './gbnf.ts'
import { type GrammarNode, repeat } from './grammar.ts'
import { anyString, quotedString, stringCharacter } from './json-nodes.ts'
import { countAt, type Schema, schemaFault, shown } from './schema-fault.ts'
import { type Lengths, PatternFault, type StringPatterns } from './string-patterns.ts'

/** Only days that every month has, because June 31 is not a date. */
const DATE = String.raw`(0\d{2}[1-9]|0\d[1-9]0|0[1-9]00|[1-9]\d{3})-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])`
const TIME = String.raw`([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?(Z|[+\-]([01]\d|2[0-3]):[0-5]\d)`
const COUNT = String.raw`(0|[1-9]\d{0,3})`
const CALENDAR = `(${COUNT}Y(${COUNT}M(${COUNT}D)?)?|${COUNT}M(${COUNT}D)?|${COUNT}D)`
const CLOCK = `T(${COUNT}H(${COUNT}M(${COUNT}S)?)?|${COUNT}M(${COUNT}S)?|${COUNT}S)`
const OCTET = String.raw`(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`
/** A host whose last label is a number would count as an IPv4 address. */
const HOST = String.raw`([a-zA-Z0-9]+\.)*[a-zA-Z][a-zA-Z0-9]*`

/**
 * The supported values of 'format' as patterns (RFC 3339 with its appendix A, 4122, 2673, 4291; the simple forms of 5321, 1123,
 * and 3986).
 */
const FORMATS: Readonly<Record<string, string>> = {
  date: DATE,
  time: TIME,
  duration: `P(${CLOCK}|${CALENDAR}(${CLOCK})?|${COUNT}W)`,
  'date-time': `${DATE}T${TIME}`,
  uuid: '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}',
  ipv4: String.raw`${OCTET}(\.${OCTET}){3}`,
  ipv6: '[0-9a-f]{1,4}(:[0-9a-f]{1,4}){7}',
  hostname: HOST,
  uri: String.raw`https?://${HOST}(/[a-zA-Z0-9\-_.~]+)*`,
  email: `[a-zA-Z0-9][a-zA-Z0-9_]*@[a-zA-Z0-9]+\\.${HOST}`,
}

/** Maximum lengths: a host label has at most 63 characters. URIs are limited only if the schema sets a length. */
const MAX_LENGTHS: Readonly<Record<string, number>> = { hostname: 63, email: 63, uri: 120 }

const lengthsOf = (format: string | null, min: number, max: number | null): Lengths => {
  const most = format === 'uri' && min === 0 && max === null ? undefined : ownEntry(MAX_LENGTHS, String(format))
  return { min, max: most === undefined ? max : Math.min(max ?? most, Math.max(min, most)) }
}

/** Matches a string with length limits, a known format, and a pattern. Beside a pattern, an unknown format is an annotation. */
export const stringNode = (schema: Schema, place: string, patterns: StringPatterns): GrammarNode => {
  const min = countAt(schema, 'minLength', place) ?? 0
  const max = countAt(schema, 'maxLength', place) ?? null
  if (max !== null && max < min) throw schemaFault(pointerTo(place, 'maxLength'), `must be at least 'minLength'.`)
  if (min > MAX_REPETITIONS) throw schemaFault(pointerTo(place, 'minLength'), `must be at most ${MAX_REPETITIONS}.`)
  const { pattern, format } = schema
  if (pattern === undefined && format === undefined && min === 0 && max === null) return anyString
  if (pattern === undefined && format === undefined)
    return quotedString(repeat(stringCharacter, min, max === null ? null : Math.min(max, MAX_REPETITIONS)))
  const at = pointerTo(place, pattern === undefined ? 'format' : 'pattern')
  const fault = (what: string) => schemaFault(at, `got ${shown(pattern ?? format)}${what}`)
  const known = format !== undefined && Object.hasOwn(FORMATS, String(format)) ? String(format) : null
  if (pattern === undefined && known === null)
    throw fault(`; the supported formats are ${Object.keys(FORMATS).join(', ')}.`)
  if (pattern !== undefined && typeof pattern !== 'string') throw fault(', which is not a regular expression.')
  const expressions = [
    ...(pattern === undefined ? [] : [pattern]),
    ...(known === null ? [] : [`^(${ownEntry(FORMATS, known)})$`]),
  ]
  try {
    return patterns(expressions, lengthsOf(known, min, max))
  } catch (error) {
    throw error instanceof PatternFault ? fault(`, which ${error.message}`) : error
  }
}
