// Compares two OpenAPI documents, and finds the changes that break callers of the released API.

type Json = Readonly<Record<string, unknown>>
interface Schema {
  readonly type?: unknown
  readonly enum?: readonly unknown[]
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: Schema | boolean
  readonly anyOf?: readonly Schema[]
  readonly pattern?: string
}
interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>
}
interface Operation {
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required?: boolean
    readonly schema?: Schema
  }[]
  readonly requestBody?: Content & { readonly required?: boolean }
  readonly responses: Readonly<Record<string, Content>>
}
/** The location of a value, and whether callers send it or receive it. */
interface Place {
  readonly name: string
  readonly sent: boolean
}

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null

/** Returns the operations by name (`POST /api/v1/rounds`), with all references resolved. */
const operationsOf = (document: Json): ReadonlyMap<string, Operation> => {
  const resolve = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(resolve)
    if (!isObject(value)) return value
    if (typeof value.$ref !== 'string')
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, resolve(v)]))
    return resolve(
      value.$ref
        .split('/')
        .slice(1)
        .reduce<unknown>((at, key) => (at as Json)[key], document),
    )
  }
  const paths = resolve(document.paths) as Readonly<Record<string, Readonly<Record<string, Operation>>>>
  return new Map(
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const),
    ),
  )
}

const branches = (schema: Schema): readonly Schema[] => schema.anyOf?.flatMap(branches) ?? [schema]
const typesOf = (schema: Schema): Set<unknown> => new Set(branches(schema).flatMap(({ type }) => type ?? 'any'))
const wordsOf = (schema: Schema): readonly unknown[] => branches(schema).flatMap((one) => one.enum ?? [])
const LOWER = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'] as const
const UPPER = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'] as const

const isTighter = (before: Schema, after: Schema): boolean => {
  const bound = (schema: Schema, key: string, none: number) => ((schema as Json)[key] as number | undefined) ?? none
  return (
    LOWER.some((key) => bound(after, key, -Infinity) > bound(before, key, -Infinity)) ||
    UPPER.some((key) => bound(after, key, Infinity) < bound(before, key, Infinity)) ||
    (after.pattern !== undefined && after.pattern !== before.pattern)
  )
}

const joined = (name: string, field: string): string => (name.endsWith(': ') ? `${name}${field}` : `${name}.${field}`)

/** Compares the fields of an object. */
const compareFields = (before: Schema, after: Schema, { name, sent }: Place): string[] => {
  const [were, are] = [before.properties ?? {}, after.properties ?? {}]
  const isFree = isObject(after.additionalProperties) || after.additionalProperties === true
  const lost = Object.keys(were).filter((field) => are[field] === undefined && !isFree)
  const wanted = (after.required ?? []).filter((field) => sent && !before.required?.includes(field))
  const unsure = (before.required ?? []).filter((field) => !sent && field in are && !after.required?.includes(field))
  return [
    ...lost.map((field) => `${joined(name, field)} is gone`),
    ...wanted.map((field) => `${joined(name, field)} is required`),
    ...unsure.map((field) => `${joined(name, field)} may be absent`),
    ...Object.keys(were).flatMap((field) =>
      are[field] === undefined ? [] : compare(were[field]!, are[field], { name: joined(name, field), sent }),
    ),
  ]
}

const compare = (before: Schema, after: Schema, place: Place): string[] => {
  const { name, sent } = place
  const [were, are] = [typesOf(before), typesOf(after)]
  // A request may accept more than before but not less; a response may return less than before but not more.
  const [wide, narrow] = sent ? [are, were] : [were, are]
  if (!wide.has('any') && [...narrow].some((type) => !wide.has(type) && !(type === 'integer' && wide.has('number'))))
    return [`${name} has another type`]
  const [old, now] = [wordsOf(before), wordsOf(after)]
  const lost = old.filter((word) => now.length > 0 && !now.includes(word)).map((word) => `${name} is never '${word}'`)
  const objects = (schema: Schema) => branches(schema).filter((one) => one.properties !== undefined)
  const [was, is] = [objects(before), objects(after)]
  const [one, other] = [branches(before)[0]!, branches(after)[0]!]
  return [
    ...lost,
    ...(sent && old.length === 0 && now.length > 0 ? [`${name} must be one of a fixed set`] : []),
    ...(sent && isTighter(one, other) ? [`${name} has tighter bounds`] : []),
    ...(was.length === 1 && is.length === 1 ? compareFields(was[0]!, is[0]!, place) : []),
    ...(one.items && other.items ? compare(one.items, other.items, { name: `${name}[]`, sent }) : []),
  ]
}

const schemaOf = (content: Content | undefined): Schema | undefined => Object.values(content?.content ?? {})[0]?.schema

const compareOperations = (name: string, before: Operation, after: Operation): string[] => {
  const [sent, wanted] = [schemaOf(before.requestBody), schemaOf(after.requestBody)]
  const known = new Map((before.parameters ?? []).map((one) => [`${one.in} ${one.name}`, one]))
  const parameters = (after.parameters ?? []).flatMap((one) => {
    const was = known.get(`${one.in} ${one.name}`)
    const place = { name: `${name}: ${one.name}`, sent: true }
    return [
      ...(one.required && !was?.required ? [`${place.name} is required`] : []),
      ...(was?.schema && one.schema ? compare(was.schema, one.schema, place) : []),
    ]
  })
  const responses = Object.entries(before.responses).flatMap(([status, response]) => {
    const now = after.responses[status]
    if (now === undefined) return Number(status) < 400 ? [`${name}: status ${status} is gone`] : []
    const [old, schema] = [schemaOf(response), schemaOf(now)]
    return old && schema && Number(status) < 400 ? compare(old, schema, { name: `${name}: `, sent: false }) : []
  })
  return [
    ...parameters,
    ...(sent && wanted ? compare(sent, wanted, { name: `${name}: `, sent: true }) : []),
    ...responses,
  ]
}

/** Lists every breaking change between the documents: `POST /api/v1/rounds: max_x has tighter bounds`. */
export const breakingChanges = (before: Json, after: Json): readonly string[] => {
  const now = operationsOf(after)
  return [...operationsOf(before)].flatMap(([name, operation]) => {
    const same = now.get(name)
    return same === undefined ? [`${name}: is gone`] : compareOperations(name, operation, same)
  })
}

/** Returns the changes that the changelog does not name, by fields (`POST /api/v1/rounds: max_x, max_y`) or by operation. */
export const unannounced = (changes: readonly string[], unreleased: string): readonly string[] => {
  const places = [...unreleased.matchAll(/`([A-Z]+ \/[^`]*)`/g)].flatMap(([, place]) => {
    const [operation, fields = ''] = place!.split(': ')
    return fields.split(', ').map((field) => `${operation}: ${field}`)
  })
  return changes.filter(
    (change) =>
      !places.includes(
        change
          .replace(/(is|has|may|must) .*$/, '')
          .trimEnd()
          .replace(/:$/, ': '),
      ),
  )
}
