/** The parts of a JSON schema that say how text becomes a value. */
interface Typed {
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Typed[]
  readonly items?: Typed
  readonly properties?: Readonly<Record<string, Typed>>
}

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i

const toNumber = (text: string): number | string => {
  const value = NUMBER.test(text) ? Number(text) : Number.NaN
  return Number.isFinite(value) ? value : text
}

/** An integer beyond 2^53 would silently be rounded, so it stays text and is rejected by the validator. */
const toInteger = (text: string): number | string => {
  const value = toNumber(text)
  return typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER ? text : value
}

const toBoolean = (text: string): boolean | string => (text === 'true' ? true : text === 'false' ? false : text)

const coerceAs = (type: string | undefined, text: string): unknown => {
  if (type === 'integer') return toInteger(text)
  if (type === 'number') return toNumber(text)
  if (type === 'boolean') return toBoolean(text)
  return text
}

const coerceText = (schema: Typed, text: string): unknown => {
  const options = schema.const !== undefined ? [schema.const] : schema.enum
  if (options !== undefined) return options.find((option) => String(option) === text) ?? text
  const attempts =
    schema.anyOf?.map((branch) => coerceText(branch, text)) ?? [schema.type].flat().map((type) => coerceAs(type, text))
  return attempts.find((value) => value !== text) ?? text
}

const coerceValue = (schema: Typed, value: unknown): unknown => {
  if (schema.type === 'array') {
    const { items = {} } = schema
    return [value].flat().map((item) => (typeof item === 'string' ? coerceText(items, item) : item))
  }
  return typeof value === 'string' ? coerceText(schema, value) : value
}

/**
 * Turns the text of query, path and form fields into the numbers and booleans that their schema asks for. Text that is
 * not such a value ('', 'NaN', '1e999') is left as it is, so that the validator refuses it and shows it.
 */
export const coerceFields = (schema: object, fields: Readonly<Record<string, unknown>>): Record<string, unknown> => {
  const { properties = {} } = schema as Typed
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined
      return [name, property === undefined ? value : coerceValue(property, value)]
    }),
  )
}
