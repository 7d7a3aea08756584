import { isObject } from '../../domain/is-object.ts'
import { OPTIONAL_BODY } from './validation.ts'
import { DOCUMENTED_AS, MUST_BE, PARAMETER, REF_SIBLINGS } from './wire.schema.ts'

type Json = Readonly<Record<string, unknown>>

export interface Components {
  /** A schema as it appears in the document: titled schemas and parts become references. */
  schema(schema: unknown): unknown
  /** A parameter of an operation: a reference if its schema has a name. */
  parameter(
    schema: Json,
    about: { readonly name: string; readonly in: string; readonly required: boolean },
    isExtension: boolean,
  ): unknown
  response(name: string, response: object): unknown
  /** All referenced components, by kind and name, in alphabetical order. */
  all(): Readonly<Record<string, Json>>
}

/** Marks everything that the contract does not name. */
export const EXTENSION = { 'x-extension': true } as const

/** Keywords whose values are plain data, not schemas. */
const VALUES = new Set(['examples', 'default', 'enum', 'const', 'required'])
/** Internal keywords, and those expressed elsewhere in the document. */
const LEFT_OUT = new Set(['title', 'headers', OPTIONAL_BODY, PARAMETER, REF_SIBLINGS, MUST_BE])

/**
 * Collects the components of an API document: each of them once, under its name in the code. `fields` are the contract's fields
 * per component, separated by spaces; other fields of these components are marked.
 */
export const createComponents = (fields: Readonly<Record<string, string>> = {}): Components => {
  const kinds = new Map<string, Map<string, Json>>()
  /** Named parameters that at least one operation of the contract lacks. */
  const extensions = new Set<string>()

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
    if (key !== 'properties') return [key, schema(value)]
    return [key, Object.fromEntries(Object.entries(value as Json).map(([name, field]) => [name, schema(field)]))]
  }

  const schema = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(schema)
    if (!isObject(value)) return value
    if (DOCUMENTED_AS in value) return schema(value[DOCUMENTED_AS])
    const { patternProperties, ...others } = value
    const rest: Record<string, unknown> = others
    // OpenAPI tools do not support name patterns: all additional values get the pattern's schema.
    if (isObject(patternProperties)) rest.additionalProperties = Object.values(patternProperties)[0]
    const shown = Object.fromEntries(
      Object.entries(rest)
        .filter(([key]) => !LEFT_OUT.has(key))
        .map(([key, inner]) => keyword(key, inner)),
    )
    if (typeof value.title !== 'string') return shown
    const known = fields[value.title]?.split(' ')
    if (known !== undefined) shown.properties = marked(shown.properties as Json, known)
    return { ...refer('schemas', value.title, shown), ...(value[REF_SIBLINGS] as Json | undefined) }
  }

  return {
    schema,
    parameter(declared, about, isExtension) {
      const { description, ...shape } = declared
      const parameter = {
        ...about,
        ...(description !== undefined && { description }),
        schema: schema(declared.title === undefined ? shape : declared),
      }
      const name = declared[PARAMETER]
      if (typeof name !== 'string') return isExtension ? { ...parameter, ...EXTENSION } : parameter
      if (isExtension) extensions.add(name)
      return refer('parameters', name, parameter)
    },
    response: (name, response) => refer('responses', name, response as Json),
    all() {
      const parameters = kinds.get('parameters')
      for (const name of extensions) parameters!.set(name, { ...parameters!.get(name), ...EXTENSION })
      return Object.fromEntries(
        [...kinds].map(([kind, named]) => [kind, Object.fromEntries([...named].sort(([a], [b]) => (a < b ? -1 : 1)))]),
      )
    },
  }
}

const marked = (properties: Json, known: readonly string[]): Json =>
  Object.fromEntries(
    Object.entries(properties).map(([name, field]) => [
      name,
      known.includes(name) ? field : { ...(field as Json), ...EXTENSION },
    ]),
  )
