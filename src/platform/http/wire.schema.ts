import { type Static, type TProperties, type TSchema, Type } from 'typebox'
import { infiniteIn } from '../../domain/infinite-number.ts'
import { fieldAt } from '../../domain/json-pointer.ts'
import { REPORTED_RANGE } from '../../domain/reported-number.ts'
import { NAME_CHARACTERS } from '../../domain/text.ts'

/** The key of a schema shown in the API document in place of the enclosing one, which is only used for validation. */
export const DOCUMENTED_AS = 'x-documented-as'
/** The key of keywords placed next to a `$ref` in the document, which OpenAPI 3.1 allows. */
export const REF_SIBLINGS = 'x-ref-siblings'
/** The key of a parameter's component name in the document. */
export const PARAMETER = 'x-parameter'

/** An object in request and response bodies: one component of the document, named by its `title`. */
export const Part = <P extends TProperties>(name: string, description: string, properties: P) =>
  Type.Object(properties, { title: name, description })

/** A request or response body: a `Part` with an example. */
export const Body = <P extends TProperties>(name: string, description: string, example: object, properties: P) =>
  Type.Object(properties, { title: name, description, examples: [example] })

/** A parameter of several operations: one component of the document with this name. */
export const Parameter = <Schema extends TSchema>(name: string, schema: Schema): Schema =>
  Object.assign(schema, { [PARAMETER]: name })

/** A named schema with keywords for one use of it, such as a description; the document puts them next to the reference. */
export const RefWith = <Schema extends TSchema>(schema: Schema, siblings: { description?: string }) =>
  Type.Unsafe<Static<Schema>>({ ...schema, [REF_SIBLINGS]: siblings })

/** The key of a text's description, worded to follow 'must be', because regular expressions are hard to read. */
export const MUST_BE = 'x-must-be'

/** Text that matches a pattern; errors describe it with `mustBe`. */
export const Matching = (pattern: RegExp | string, mustBe: string, options: object = {}) =>
  Type.String({ pattern: typeof pattern === 'string' ? pattern : pattern.source, [MUST_BE]: mustBe, ...options })

const oneLine = (pattern: string, maxLength: number, description: string) =>
  Matching(pattern, `one line of 1 to ${maxLength} characters, without control characters`, {
    minLength: 1,
    maxLength,
    description,
  })

/** A name, or other text on one line. */
export const Line = (maxLength: number, description: string) => oneLine(`^${NAME_CHARACTERS}$`, maxLength, description)

/** The id of an organization in a request that stores it. No invisible characters either, so that no two ids look the same. */
export const OrgId = (description: string) => oneLine('^[^\\p{C}\\p{Zl}\\p{Zp}]+$', 128, description)

/** Types used by several resources. */
export const Timestamp = Type.String({ format: 'date-time', description: 'ISO 8601, UTC' })
export const Uuid = Type.String({ format: 'uuid' })
export const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
export const Count = Type.Integer({ minimum: 0 })

/** One of a fixed set of words, as the field's standard `enum`. */
export const OneOf = <const Words extends readonly string[]>(words: Words, options: object = {}) =>
  Type.Unsafe<Words[number]>({ type: 'string', enum: [...words], ...options })

export const FreeObject = Type.Record(Type.String(), Type.Unknown())

const MAX_OBJECT = 65_536

/**
 * The characters of a value as JSON, counted until there are more than `limit`. The database writes numbers without exponents:
 * 1e300 takes 301 digits.
 */
const jsonLength = (value: unknown, limit: number): number => {
  if (typeof value === 'number' && Number.isFinite(value)) {
    const digits = value === 0 ? 0 : Math.abs(Math.log10(Math.abs(value)))
    return digits > 20 ? Math.floor(digits) + 1 : String(value).length
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value).length
  const names = Array.isArray(value) ? null : Object.keys(value)
  const items: readonly unknown[] = Object.values(value)
  let length = 1
  for (let i = 0; i < items.length && length <= limit; i++) {
    length += (names === null ? 1 : JSON.stringify(names[i]).length + 2) + jsonLength(items[i], limit)
  }
  return Math.max(length, 2)
}

/** An object in a request whose fields the validator does not visit; the API document shows the schema `shown`. */
export const AnyObject = (shown: object) =>
  Type.Unsafe<Record<string, unknown>>({ type: 'object', [DOCUMENTED_AS]: shown })

/** Its size is limited because it is stored and listed with many others. */
const LimitedObject = (description: string) =>
  Type.Refine(
    AnyObject({
      type: 'object',
      description: `${description}. At most ${MAX_OBJECT} characters of JSON`,
      additionalProperties: {},
    }),
    (value) => jsonLength(value, MAX_OBJECT) <= MAX_OBJECT,
    () => `must be at most ${MAX_OBJECT} characters of JSON`,
  )

/** A request's object with any fields. */
export const FreeRequestObject = (description: string) =>
  Type.Refine(
    LimitedObject(description),
    (value) => infiniteIn(value) === null,
    (value) => `must have finite numbers only; ${fieldAt(infiniteIn(value)!)} is out of range`,
  )

/** What a device reports about itself: a number out of range becomes null. */
export const ReportedValues = LimitedObject(REPORTED_RANGE)

/** The fields of a record in a list that are left out. */
export const Omitted = Type.Optional(
  Type.Array(Type.String(), {
    description:
      'Only in lists: fields with more than about 8,000 characters, which are empty here. Get the record itself to see them',
  }),
)

export const Page = (limits: { readonly max: number; readonly default: number }) => ({
  limit: Parameter(
    `LimitTo${limits.max}`,
    Type.Integer({ minimum: 1, maximum: limits.max, default: limits.default, description: 'Items per page' }),
  ),
  offset: Parameter('Offset', Type.Integer({ minimum: 0, default: 0, description: 'Items to skip' })),
})

export const Envelope = { total: Count, limit: Type.Integer(), offset: Count }

/** A file in a multipart body or a download. */
export const Binary = Type.Unsafe<unknown>({ type: 'string', format: 'binary' })

/** A body of raw bytes. */
export const Bytes = Type.Unsafe<unknown>({})

export type { Static }
