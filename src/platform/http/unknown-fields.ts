import type { FastifyRequest } from 'fastify'
import type { TObject } from 'typebox'
import { meantBy, otherNameOf } from '../../domain/misspelling.ts'
import type { App } from './app.ts'
import type { SchemaParts } from './schema-parts.ts'
import { InvalidRequest } from './validation.ts'
import { warn } from './warnings.ts'

/** A field that no schema contains, by its path (`privacy.clip`), and the known one that it misspells or renames. */
interface UnknownField {
  readonly path: string
  readonly misspells: string | null
  readonly renames: string | null
}

type Find = (value: object, path: string, found: UnknownField[]) => void

/** The maximum number checked, so that a body full of unknown names stays cheap. */
const MAX_EXAMINED = 100
const MAX_NAMED = 10
const MAX_NAME_LENGTH = 100

const branchesOf = (shape: SchemaParts): readonly SchemaParts[] => [shape, ...(shape.anyOf ?? []).flatMap(branchesOf)]

const isShape = (value: boolean | SchemaParts | undefined): value is SchemaParts => typeof value === 'object'

const all = (finds: readonly (Find | null)[]): Find | null => {
  const present = finds.filter((find) => find !== null)
  if (present.length < 2) return present[0] ?? null
  return (value, path, found) => {
    for (const find of present) find(value, path, found)
  }
}

const findIn = (find: Find, value: unknown, path: string, found: UnknownField[]): void => {
  if (typeof value === 'object' && value !== null) find(value, path, found)
}

const inItems =
  (find: Find): Find =>
  (value, path, found) => {
    if (!Array.isArray(value)) return
    for (const [index, item] of value.entries()) findIn(find, item, `${path}[${index}]`, found)
  }

const below = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`)

/** Objects that allow any name: only their values are checked. */
const inValues =
  (find: Find): Find =>
  (value, path, found) => {
    if (Array.isArray(value)) return
    for (const [name, item] of Object.entries(value)) findIn(find, item, below(path, name), found)
  }

const inNames =
  (known: ReadonlyMap<string, Find | null>): Find =>
  (value, path, found) => {
    if (Array.isArray(value)) return
    for (const name in value) {
      const find = known.get(name)
      if (find === undefined) {
        if (found.length >= MAX_EXAMINED) return
        const missing = [...known.keys()].filter((candidate) => !Object.hasOwn(value, candidate))
        const shown = below(path, name.slice(0, MAX_NAME_LENGTH))
        const within = (meant: string | null): string | null => (meant === null ? null : below(path, meant))
        found.push({
          path: shown,
          misspells: within(meantBy(name, missing)),
          renames: within(otherNameOf(name, missing)),
        })
      } else if (find !== null) {
        findIn(find, (value as Readonly<Record<string, unknown>>)[name], below(path, name), found)
      }
    }
  }

const finders = new WeakMap<SchemaParts, Find | null>()

/**
 * Returns a function that finds unknown fields in a value of this schema; null if all names are allowed. An `anyOf` allows the
 * names of all its branches. Computed once per process.
 */
const finderOf = (schema: SchemaParts): Find | null => {
  let find = finders.get(schema)
  if (find === undefined) finders.set(schema, (find = compileFinder(schema)))
  return find
}

const compileFinder = (schema: SchemaParts): Find | null => {
  const branches = branchesOf(schema)
  const free = branches.flatMap(({ patternProperties = {}, additionalProperties }) => [
    ...Object.values(patternProperties),
    ...(isShape(additionalProperties) ? [additionalProperties] : []),
  ])
  const items = all(branches.flatMap(({ items }) => (items === undefined ? [] : [finderOf(items)])))
  const inside: (Find | null)[] = [items && inItems(items)]
  if (free.length > 0 || branches.some(({ additionalProperties }) => additionalProperties === true)) {
    const values = all(free.map(finderOf))
    inside.push(values && inValues(values))
  } else if (branches.some(({ properties }) => properties !== undefined)) {
    const known = new Map<string, (Find | null)[]>()
    for (const { properties = {} } of branches) {
      for (const [name, property] of Object.entries(properties))
        known.set(name, [...(known.get(name) ?? []), finderOf(property)])
    }
    inside.push(inNames(new Map([...known].map(([name, finds]) => [name, all(finds)]))))
  }
  return all(inside)
}

const NO_FIELDS: SchemaParts = { properties: {} }
const quoted = (path: string): string => `\`${path}\``

/** @throws InvalidRequest for a probable misspelling; adds a warning about other unknown fields. */
const judge = (request: FastifyRequest, found: readonly UnknownField[], noun: string): void => {
  if (found.length === 0) return
  // The query of a read only narrows it: ignoring a limit grants nothing.
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  for (const { path, misspells, renames } of found) {
    const meant = misspells ?? (isRead ? null : renames)
    if (meant !== null) throw new InvalidRequest(`unknown ${noun} ${quoted(path)}; did you mean ${quoted(meant)}?`)
  }
  const named = found.slice(0, MAX_NAMED).map(({ path }) => quoted(path))
  const more = found.length > MAX_NAMED ? ' and others' : ''
  const [nouns, were] = found.length === 1 ? [noun, 'was'] : [`${noun}s`, 'were']
  warn(request, `unknown ${nouns} ${named.join(', ')}${more} ${were} ignored`)
}

const check = (request: FastifyRequest, find: Find | null, value: unknown, noun: string): void => {
  if (find === null || typeof value !== 'object' || value === null) return
  const found: UnknownField[] = []
  find(value, '', found)
  judge(request, found, noun)
}

/**
 * Checks names before a request is validated: fields of the body or query that look like misspellings of known ones are refused,
 * as are other names for limits unless the request only reads; other unknown ones are ignored with a warning.
 */
export const checkFieldNames = (app: App): void => {
  app.addHook('onRoute', (route) => {
    // Pages are not part of the API, and read their queries themselves.
    if (route.schema?.hide === true) return
    const body = finderOf((route.schema?.body ?? NO_FIELDS) as SchemaParts)
    const query = finderOf((route.schema?.querystring ?? NO_FIELDS) as SchemaParts)
    const hook = (request: FastifyRequest, _reply: unknown, done: (error?: Error) => void): void => {
      try {
        check(request, body, request.body, 'field')
        check(request, query, request.query, 'query parameter')
      } catch (error) {
        done(error as Error)
        return
      }
      done()
    }
    route.preValidation = [hook, ...[route.preValidation ?? []].flat()] as NonNullable<typeof route.preValidation>
  })
}

/** Checks a multipart form's text fields in the same way. */
export const checkFormFieldNames = (
  request: FastifyRequest,
  form: TObject,
  fields: Readonly<Record<string, string>>,
): void => {
  check(request, finderOf(form as SchemaParts), fields, 'form field')
}
