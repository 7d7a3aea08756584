import { seededRandom } from '../src/sdk/trainers/random.ts'

/** The parts of a JSON schema of the API document from which bodies are generated. */
export interface Schema {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  /** The schema of a free object's values: `{}` allows anything. */
  readonly additionalProperties?: Schema | boolean
  readonly required?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly format?: string
}

/** Valid names and ids by field. One of several is drawn. */
export type Known = Readonly<Record<string, string | readonly string[]>>

const valuesOf = ({ additionalProperties: values }: Schema): Schema | undefined =>
  typeof values === 'object' ? values : undefined

const childrenOf = ({ anyOf = [], items, properties = {}, ...schema }: Schema): readonly Schema[] => [
  ...anyOf,
  ...(items === undefined ? [] : [items]),
  ...Object.values(properties),
  ...[valuesOf(schema) ?? []].flat(),
]

/** True if the schema may contain a number: directly, or in a free object. */
export const holdsNumbers = (schema: Schema): boolean =>
  schema.type === 'number' ||
  schema.type === 'integer' ||
  Object.keys(valuesOf(schema) ?? { none: true }).length === 0 ||
  childrenOf(schema).some(holdsNumbers)

const CORNERS = [
  0,
  -0,
  5e-324,
  2.2250738585072014e-308,
  1e-308,
  1e-160,
  1e-38,
  9.99e-39,
  1e-30,
  0.1,
  1,
  1e10,
  2 ** 31,
  2 ** 53 - 1,
  2 ** 53,
  1e30,
  3.4e38,
  3.5e38,
  1e100,
  1e154,
  1e200,
  1e308,
  Number.MAX_VALUE,
]

/** Generates bodies from schemas, the same for the same seed. */
export const createNumberFuzz = (seed: number, known: Known) => {
  const random = seededRandom(seed)
  const chance = (share: number): boolean => random.uniform() < share
  const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(random.uniform() * values.length)]!

  /** A finite double: a corner case, a neighbor of one, or random bits. */
  const extreme = (): number => {
    const sign = chance(0.5) ? -1 : 1
    if (chance(0.6)) return sign * pick(CORNERS)
    const bits = new DataView(new ArrayBuffer(8))
    for (const at of [0, 4]) bits.setUint32(at, Math.floor(random.uniform() * 2 ** 32))
    const value = bits.getFloat64(0)
    return Number.isFinite(value) ? value : sign * Number.MAX_VALUE
  }

  const usual = ({ type, minimum, maximum, exclusiveMinimum }: Schema): number => {
    const least = minimum ?? (exclusiveMinimum === undefined ? 0 : exclusiveMinimum + (type === 'integer' ? 1 : 0.1))
    return Math.min(maximum ?? Number.POSITIVE_INFINITY, least + (type === 'integer' ? 1 : 0.25))
  }

  const free = () => ({ x: extreme(), accuracy: extreme(), loss: extreme(), deep: { list: [extreme(), null] } })

  const fill = (schema: Schema, name: string): unknown => {
    if (schema.enum !== undefined) return pick(schema.enum)
    if (schema.anyOf !== undefined) return fill(pick(schema.anyOf), name)
    switch (schema.type) {
      case 'number':
      case 'integer':
        // A field with limits rejects most extreme values, and with them the whole body.
        return chance(schema.minimum === undefined && schema.exclusiveMinimum === undefined ? 0.8 : 0.04)
          ? extreme()
          : usual(schema)
      case 'boolean':
        return chance(0.5)
      case 'null':
        return null
      case 'array':
        return [fill(schema.items ?? {}, name), fill(schema.items ?? {}, name)]
      case 'string': {
        const words = known[name]
        return typeof words === 'string' ? words : words === undefined ? `text-${random.uniform()}` : pick(words)
      }
      case 'object':
        return fillObject(schema)
      default:
        return extreme()
    }
  }

  const fillObject = (schema: Schema): object => {
    const { properties, required = [] } = schema
    if (properties === undefined) {
      if (Object.keys(valuesOf(schema) ?? {}).length === 0) return free()
      return Object.fromEntries(['x', 'accuracy', 'loss'].map((key) => [key, chance(0.8) ? extreme() : null]))
    }
    const wanted = Object.entries(properties).filter(([key]) => required.includes(key) || chance(0.6))
    return Object.fromEntries(wanted.map(([key, schema]) => [key, fill(schema, key)]))
  }

  return { fill, extreme, chance, pick }
}
