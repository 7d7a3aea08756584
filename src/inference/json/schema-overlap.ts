import { isSchema, type Schema } from './schema-fault.ts'
import { typeOf } from './schema-types.ts'

const DEEPEST = 20

/**
 * Whether a value may be valid under both schemas, as far as can be told: apart are those of different types, with different
 * constants, and objects that a required property tells apart. Doubt counts as overlap, and so do circles.
 */
export const mayOverlap = (
  one: unknown,
  other: unknown,
  resolve: (schema: unknown) => unknown,
  depth = DEEPEST,
): boolean => {
  if (depth === 0) return true
  if (!isSchema(one) || !isSchema(other)) return true
  const constants = constantsOf(one)
  const others = constantsOf(other)
  if (constants !== null && others !== null) return [...constants].some((value) => others.has(value))
  const types = kindsOf(one)
  const otherTypes = kindsOf(other)
  if (types === null || otherTypes === null) return true
  const shared = types.filter((type) => otherTypes.includes(type))
  if (shared.length === 0) return false
  return shared.join() !== 'object' || !objectsApart(one, other, resolve, depth)
}

const objectsApart = (one: Schema, other: Schema, resolve: (schema: unknown) => unknown, depth: number): boolean => {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const)
    for (const name of requiredOf(from)) {
      const mine = propertyOf(from, name)
      const its = propertyOf(to, name)
      if (its === undefined && to.additionalProperties === false) return true
      if (
        its !== undefined &&
        requiredOf(to).includes(name) &&
        !mayOverlap(resolve(mine), resolve(its), resolve, depth - 1)
      )
        return true
    }
  return false
}

const requiredOf = (schema: Schema): readonly string[] => (Array.isArray(schema.required) ? schema.required : [])

const propertyOf = (schema: Schema, name: string): unknown =>
  isSchema(schema.properties) && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined

const constantsOf = (schema: Schema): ReadonlySet<string> | null => {
  const values = Array.isArray(schema.enum) ? schema.enum : Object.hasOwn(schema, 'const') ? [schema.const] : null
  return values === null ? null : new Set(values.map((value) => JSON.stringify(value)))
}

/** Whole numbers are numbers too; null where nothing is said about types. */
const kindsOf = (schema: Schema): readonly string[] | null => {
  const constants = constantsOf(schema)
  const types =
    constants === null
      ? schema.type === undefined
        ? null
        : [schema.type].flat()
      : [...constants].map((value) => typeOf(JSON.parse(value)))
  return types?.map((type) => (type === 'integer' ? 'number' : String(type))) ?? null
}
