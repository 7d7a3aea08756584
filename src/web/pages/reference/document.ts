import { ownEntry } from '../../../domain/own-entry.ts'

/** The parts of OpenAPI 3.1 that this service's document uses. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly additionalProperties?: Schema | boolean
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly format?: string
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description?: string
  readonly schema: Schema
}

type Content = Readonly<Record<string, { readonly schema?: Schema }>>

interface Response {
  readonly description: string
  readonly content?: Content
}

interface Described {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly security?: readonly unknown[]
  readonly parameters?: readonly (Parameter | Schema)[]
  readonly requestBody?: { readonly required?: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, Response | Schema>>
}

export interface ApiDocument {
  readonly info: { readonly title: string; readonly description: string; readonly version: string }
  readonly tags?: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

export interface Body {
  readonly type: string
  readonly schema: Schema
  readonly required: boolean
}

export interface Operation {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly description: string | null
  readonly tag: string
  /** True if it needs no key. */
  readonly isPublic: boolean
  readonly parameters: readonly Parameter[]
  readonly body: Body | null
  readonly responses: readonly { readonly status: string; readonly description: string; readonly body: Body | null }[]
}

export interface Group {
  readonly name: string
  readonly description: string
  readonly operations: readonly Operation[]
}

/** `#/components/schemas/Device` -> `Device`; null if the schema is not a reference. */
export const nameOf = ({ $ref }: Schema): string | null => $ref?.slice($ref.lastIndexOf('/') + 1) ?? null

/** Looks up own properties only, not those inherited from Object. */
export const componentOf = ({ components }: ApiDocument, kind: string, name: string): unknown => {
  const named = ownEntry(components, kind)
  return named !== undefined && ownEntry(named, name)
}

/** Resolves a reference, keeping the properties next to it; returns other schemas unchanged. */
export const resolve = <Found extends object>(document: ApiDocument, found: Found | Schema): Found => {
  const { $ref, ...beside } = found as Schema
  if ($ref === undefined) return found as Found
  const [kind = '', name = ''] = $ref.split('/').slice(2)
  return { ...(componentOf(document, kind, name) as Found), ...beside }
}

const bodyIn = (content: Content | undefined, required = false): Body | null => {
  const [first] = Object.entries(content ?? {})
  return first === undefined ? null : { type: first[0], schema: first[1].schema ?? {}, required }
}

const operationOf = (document: ApiDocument, path: string, method: string, described: Described): Operation => ({
  id: described.operationId,
  method: method.toUpperCase(),
  path,
  summary: described.summary,
  description: described.description ?? null,
  tag: described.tags?.[0] ?? 'other',
  isPublic: described.security?.length === 0,
  parameters: (described.parameters ?? []).map((parameter) => resolve<Parameter>(document, parameter)),
  body: bodyIn(described.requestBody?.content, described.requestBody?.required),
  responses: Object.entries(described.responses).map(([status, response]) => {
    const { description, content } = resolve<Response>(document, response)
    return { status, description, body: bodyIn(content) }
  }),
})

export const operationsOf = (document: ApiDocument): readonly Operation[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => operationOf(document, path, method, described)),
  )

/** Groups operations by tag, in the document's order. */
export const groupsOf = (document: ApiDocument, operations: readonly Operation[]): readonly Group[] => {
  const described = new Map((document.tags ?? []).map(({ name, description }) => [name, description]))
  const names = [...new Set([...described.keys(), ...operations.map(({ tag }) => tag)])]
  return names
    .map((name) => ({
      name,
      description: described.get(name) ?? '',
      operations: operations.filter(({ tag }) => tag === name),
    }))
    .filter((group) => group.operations.length > 0)
}

/** Returns the operations that contain every word of `query` in their method, path, id, summary, or tag. */
export const search = (operations: readonly Operation[], query: string): readonly Operation[] => {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  return operations.filter(({ id, method, path, summary, tag }) => {
    const text = `${method} ${path} ${id} ${summary} ${tag}`.toLowerCase()
    return words.every((word) => text.includes(word))
  })
}

const MAX_DEPTH = 8

/** Returns a valid value for the schema, preferably its own example. */
export const exampleOf = (document: ApiDocument, schema: Schema, depth = 0): unknown => {
  const whole = resolve<Schema>(document, schema)
  if (whole.examples !== undefined) return whole.examples[0]
  if (whole.const !== undefined) return whole.const
  if (whole.default !== undefined) return whole.default
  if (whole.enum !== undefined) return whole.enum[0]
  if (whole.anyOf !== undefined) return exampleOf(document, whole.anyOf[0] ?? {}, depth + 1)
  if (depth > MAX_DEPTH) return null
  switch (whole.type) {
    case 'object':
      return Object.fromEntries(
        (whole.required ?? []).map((name) => [name, exampleOf(document, whole.properties?.[name] ?? {}, depth + 1)]),
      )
    case 'array':
      return [exampleOf(document, whole.items ?? {}, depth + 1)]
    case 'integer':
    case 'number':
      return whole.minimum ?? 1
    case 'boolean':
      return false
    case 'string':
      return whole.format === 'date-time' ? '2026-01-31T12:00:00Z' : 'text'
    default:
      return null
  }
}

const range = (low: number | undefined, high: number | undefined, unit = ''): string | null => {
  if (low === undefined && high === undefined) return null
  if (low === undefined) return `at most ${high}${unit}`
  return high === undefined ? `at least ${low}${unit}` : `${low} to ${high}${unit}`
}

/** Describes the schema's constraints other than its type. */
export const limitsOf = (schema: Schema): readonly string[] =>
  [
    schema.format ?? null,
    range(schema.minimum, schema.maximum),
    schema.exclusiveMinimum === undefined ? null : `more than ${schema.exclusiveMinimum}`,
    schema.exclusiveMaximum === undefined ? null : `less than ${schema.exclusiveMaximum}`,
    range(schema.minLength, schema.maxLength, ' characters'),
    range(schema.minItems, schema.maxItems, ' items'),
    schema.pattern === undefined ? null : `matches ${schema.pattern}`,
    schema.default === undefined ? null : `${JSON.stringify(schema.default)} by default`,
  ].filter((limit) => limit !== null)
