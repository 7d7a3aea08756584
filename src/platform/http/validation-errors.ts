import type { TLocalizedValidationError } from 'typebox/error'
import { Pointer } from 'typebox/value'
import { fieldAt, pointerTo } from '../../domain/json-pointer.ts'
import { plural } from '../../domain/plural.ts'
import type { SchemaParts } from './schema-parts.ts'
import { MUST_BE } from './wire.schema.ts'

/** The part of a request that an error refers to. */
export type Part = 'body' | 'querystring' | 'params' | 'headers' | 'form'

const FORMATS: Readonly<Record<string, string>> = {
  uuid: 'a UUID',
  'date-time': 'an ISO 8601 timestamp such as 2026-01-31T12:00:00Z',
  date: 'a date such as 2026-01-31',
  email: 'an email address',
  uri: 'a URL',
}

/** Not `tokens`, which are counts, as in max_tokens. */
const SECRET = /key|token(?!s)|secret|code|password/i
const MAX_ERRORS = 3

const span = (low: number | undefined, high: number | undefined, noun: string): string => {
  if (low !== undefined && high !== undefined)
    return low === high ? plural(low, noun) : `${low} to ${plural(high, noun)}`
  if (low !== undefined) return `at least ${plural(low, noun)}`
  return high === undefined ? '' : `at most ${plural(high, noun)}`
}

const range = (schema: SchemaParts): string => {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`
  const limits = [
    minimum === undefined ? '' : `at least ${minimum}`,
    exclusiveMinimum === undefined ? '' : `above ${exclusiveMinimum}`,
    maximum === undefined ? '' : `at most ${maximum}`,
    exclusiveMaximum === undefined ? '' : `below ${exclusiveMaximum}`,
  ].filter((limit) => limit !== '')
  if (limits.length === 0) return ''
  return `${limits[0]!.startsWith('at ') ? ' of' : ''} ${limits.join(' and ')}`
}

const sized = (what: string, size: string): string => (size === '' ? what : `${what} of ${size}`)

const describeType = (type: string | undefined, schema: SchemaParts): string => {
  switch (type) {
    case 'string': {
      const { format, minLength, maxLength } = schema
      if (minLength === 1 && maxLength === undefined) return 'a non-empty string'
      const known = format === undefined ? undefined : FORMATS[format]
      return known ?? sized('a string', span(minLength || undefined, maxLength, 'character'))
    }
    case 'integer':
      return `an integer${range(schema)}`
    case 'number':
      return `a finite number${range(schema)}`
    case 'boolean':
      return 'true or false'
    case 'array':
      return sized('an array', span(schema.minItems || undefined, schema.maxItems, 'item'))
    case 'object':
      return 'an object'
    case 'null':
      return 'null'
    default:
      return 'a value'
  }
}

const literal = (value: unknown): string => (typeof value === 'string' ? `'${value}'` : JSON.stringify(value))

const OR = new Intl.ListFormat('en', { type: 'disjunction' })

const oneOf = (options: readonly string[]): string => OR.format(options) || 'a value'

/** Describes a valid value of this schema, worded to follow 'must be'. */
export const describe = (schema: SchemaParts): string => {
  if (schema.const !== undefined) return literal(schema.const)
  if (schema.enum !== undefined) return oneOf(schema.enum.map(literal))
  if (schema.anyOf !== undefined) return oneOf(schema.anyOf.map(describe))
  if (typeof schema.type === 'object') return oneOf(schema.type.map((type) => describeType(type, schema)))
  return describeType(schema.type, schema)
}

const show = (value: unknown, secret: boolean): string => {
  if (typeof value === 'string') {
    if (secret) return `a string of ${plural(value.length, 'character')}, not shown here`
    return value.length > 60 ? `'${value.slice(0, 60)}…' (${plural([...value].length, 'character')})` : `'${value}'`
  }
  if (Array.isArray(value)) return `an array of ${plural(value.length, 'item')}`
  if (typeof value === 'object' && value !== null) return 'an object'
  return String(value)
}

const ROOTS: Readonly<Record<Part, string>> = {
  body: 'The JSON body',
  querystring: 'The query',
  params: 'The path',
  headers: 'The header block',
  form: 'The form',
}

const fieldName = (part: Part, path: string): string => (path === '' ? ROOTS[part] : fieldAt(path))

const sentence = (part: Part, root: SchemaParts, data: unknown, error: TLocalizedValidationError): string[] => {
  const { instancePath: path } = error
  const name = fieldName(part, path)
  const schema = (Pointer.Get(root, error.schemaPath.slice(1)) ?? {}) as SchemaParts
  const value: unknown = path === '' ? data : Pointer.Get(data, path)
  const must = (what: string): string[] => [`${name} must be ${what}, got ${show(value, SECRET.test(path))}`]

  if (schema[MUST_BE] !== undefined && error.keyword !== 'type') return must(schema[MUST_BE])
  switch (error.keyword) {
    case 'required':
      return error.params.requiredProperties.map((key) => {
        const property = schema.properties?.[key]
        return `${fieldName(part, pointerTo(path, key))} is required${property === undefined ? '' : `: ${describe(property)}`}`
      })
    case 'additionalProperties':
      return error.params.additionalProperties.map((key) => {
        const known = Object.keys(schema.properties ?? {})
        const hint = known.length === 0 ? '' : ` (known here: ${known.join(', ')})`
        return `${fieldName(part, pointerTo(path, key))} is not a known field${hint}`
      })
    case 'pattern':
      return must(`text that matches ${error.params.pattern}`)
    case 'uniqueItems':
      return [`${name} must not name the same item twice`]
    case 'minProperties':
      return [`${name} must have ${span(error.params.limit, undefined, 'field')}`]
    case 'maxProperties':
      return [`${name} must have ${span(undefined, error.params.limit, 'field')}`]
    case '~refine':
      return [`${name} ${error.params.message}`]
    case 'multipleOf':
      return must(`a multiple of ${error.params.multipleOf}`)
    default:
      return must(describe(schema))
  }
}

/**
 * Formats the errors in `data` as one message: the name of each field, its invalid value, and what it must be. Errors below an
 * anyOf are reported for the anyOf itself, and those of an unknown field for its object.
 */
export const formatValidationErrors = (
  part: Part,
  schema: object,
  data: unknown,
  errors: readonly TLocalizedValidationError[],
): string => {
  if (part === 'body' && (data === null || data === undefined)) {
    return 'A JSON body is required, with the header Content-Type: application/json.'
  }
  const reported = errors.filter(({ keyword, schemaPath }) => keyword !== 'boolean' && !/\/anyOf\/\d+/.test(schemaPath))
  const problems = reported.flatMap((error) => sentence(part, schema as SchemaParts, data, error))
  const shown = [...new Set(problems)].slice(0, MAX_ERRORS)
  return shown.length === 0 ? `${ROOTS[part]} does not have the expected structure.` : `${shown.join('; ')}.`
}
