import { OPTIONAL_BODY } from './validation.ts'
import { DOCUMENTED_AS, MUST_BE, PARAMETER, REF_SIBLINGS } from './wire.schema.ts'

type Json = Readonly<Record<string, unknown>>

export interface Components {
  /** A schema as it appears in the document: titled schemas and parts become references. */
  schema(schema: unknown): unknown
  /** A parameter of an operation: a reference where its schema names it. */
  parameter(schema: Json, about: { readonly name: string; readonly in: string; readonly required: boolean }): unknown
  response(name: string, response: object): unknown
  /** What was referred to, by kind and name, in alphabetical order. */
  all(): Readonly<Record<string, Json>>
}

/** Keywords whose values are plain data, not schemas. */
const VALUES = new Set(['examples', 'default', 'enum', 'const', 'required'])
/** Internal keywords, and those that the document expresses elsewhere. */
const LEFT_OUT = new Set(['title', 'headers', OPTIONAL_BODY, PARAMETER, REF_SIBLINGS, MUST_BE])

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null

/** The components of an API document: each of them once, under the name that it was given in the code. */
export const createComponents = (): Components => {
  const kinds = new Map<string, Map<string, Json>>()

  const refer = (kind: string, name: string, component: Json): Json => {
    const named = kinds.get(kind) ?? new Map<string, Json>()
    kinds.set(kind, named)
    const known = named.get(name)
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(component))
      throw new Error(`The API document would have two different ${kind} with the name ${name}.`)
    named.set(name, component)
    return { $ref: `#/components/${kind}/${name}` }
  }

  const keyword = (key: string, value: unknown): [string, unknown] => {
    if (VALUES.has(key)) return [key, value]
    if (key === 'properties') return [key, mapValues(value as Json, schema)]
    return [key, schema(value)]
  }

  const schema = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(schema)
    if (!isObject(value)) return value
    if (DOCUMENTED_AS in value) return schema(value[DOCUMENTED_AS])
    const { patternProperties, ...others } = value
    const rest: Record<string, unknown> = others
    // OpenAPI's readers know no patterns of names: the values of all others are those of the pattern.
    if (isObject(patternProperties)) rest.additionalProperties = Object.values(patternProperties)[0]
    const shown = Object.fromEntries(
      Object.entries(rest)
        .filter(([key]) => !LEFT_OUT.has(key))
        .map(([key, inner]) => keyword(key, inner)),
    )
    if (typeof value.title !== 'string') return shown
    return { ...refer('schemas', value.title, shown), ...(value[REF_SIBLINGS] as Json | undefined) }
  }

  return {
    schema,
    parameter(declared, about) {
      const { description, ...shape } = declared
      const parameter = {
        ...about,
        ...(description !== undefined && { description }),
        schema: schema(declared.title === undefined ? shape : declared),
      }
      return typeof declared[PARAMETER] === 'string' ? refer('parameters', declared[PARAMETER], parameter) : parameter
    },
    response: (name, response) => refer('responses', name, response as Json),
    all: () =>
      Object.fromEntries(
        [...kinds].map(([kind, named]) => [kind, Object.fromEntries([...named].sort(([a], [b]) => (a < b ? -1 : 1)))]),
      ),
  }
}

const mapValues = (record: Json, change: (value: unknown) => unknown): Json =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]))
