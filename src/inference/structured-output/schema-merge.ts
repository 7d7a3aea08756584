import { isObject } from '../../domain/is-object.ts'
import { pointerTo } from '../../domain/json-pointer.ts'
import { ownEntry } from '../../domain/own-entry.ts'
import { type Schema, schemaFault, shown } from './schema-fault.ts'
import { checkKeywords, constraintsOf } from './schema-keywords.ts'
import type { Follow } from './schema-references.ts'

const MAX_PARTS = 200

/**
 * Merges schemas that must hold at the same time: 'allOf', and a reference with other keywords. Properties are merged; any
 * other keyword may occur several times only with the same value.
 */
export const merged = (schema: Schema, place: string, follow: Follow): unknown => {
  const parts = partsOf(schema, place, follow)
  const composed = parts.find(({ anyOf, oneOf }) => anyOf !== undefined || oneOf !== undefined)
  if (composed !== undefined && parts.length > 1) throw standsBeside(composed, place)
  return parts.length === 0 ? true : parts.reduce((one, other) => both(one, other, place))
}

export const standsBeside = (schema: Schema, place: string) => {
  const keyword = schema.anyOf === undefined ? 'oneOf' : 'anyOf'
  return schemaFault(place, `keywords next to '${keyword}' are not supported: move them into each of its alternatives.`)
}

/** Returns the schemas in such a keyword. */
export const listOf = (schema: Schema, keyword: 'allOf' | 'anyOf' | 'oneOf', place: string): readonly unknown[] => {
  const schemas = schema[keyword]
  if (Array.isArray(schemas) && schemas.length > 0) return schemas
  throw schemaFault(pointerTo(place, keyword), 'expected a list of schemas.')
}

/** Lists the schemas that must hold at the same time, with references and 'allOf' resolved. */
const partsOf = (root: Schema, place: string, follow: Follow): Schema[] => {
  const parts: Schema[] = []
  const waiting: unknown[] = [root]
  for (let seen = 0; waiting.length > 0; seen++) {
    if (seen === MAX_PARTS) throw schemaFault(place, `it combines more than ${MAX_PARTS} schemas, or refers to itself.`)
    const schema = waiting.shift()
    if (schema === true) continue
    if (!isObject(schema)) throw schemaFault(place, `got ${shown(schema)}; a schema is an object or true.`)
    checkKeywords(schema, place)
    const { allOf, $ref, ...rest } = schema
    if (constraintsOf(rest).length > 0) parts.push(rest)
    if ($ref !== undefined) waiting.push(follow($ref, place).schema)
    if (allOf !== undefined) waiting.push(...listOf(schema, 'allOf', place))
  }
  return parts
}

/** Keywords that apply to the properties or items not named in the same schema. */
const OF_OTHERS = { additionalProperties: 'properties', items: 'prefixItems' } as const

const both = (one: Schema, other: Schema, place: string): Schema => {
  for (const [keyword, named] of Object.entries(OF_OTHERS))
    for (const [mine, its] of [
      [one, other],
      [other, one],
    ] as const)
      if ((mine[keyword] ?? true) !== true && its[named] !== undefined && !covers(mine[named], its[named]))
        throw schemaFault(
          pointerTo(place, keyword),
          `it would also apply to '${named}' of another schema. Merge the two schemas.`,
        )
  const result: Record<string, unknown> = { ...one, ...other }
  for (const keyword of constraintsOf(one)) {
    const [mine, its] = [one[keyword], other[keyword]]
    if (its === undefined) continue
    const at = pointerTo(place, keyword)
    if (keyword === 'required') result[keyword] = [...new Set([mine, its].flat())]
    else if (keyword === 'properties' && isObject(mine) && isObject(its)) {
      for (const name of Object.keys(its))
        if (Object.hasOwn(mine, name)) checkSame(ownEntry(mine, name), ownEntry(its, name), pointerTo(at, name))
      result[keyword] = { ...mine, ...its }
    } else checkSame(mine, its, at)
  }
  return result
}

const covers = (mine: unknown, its: unknown): boolean =>
  isObject(mine) && isObject(its) ? Object.keys(its).every((name) => Object.hasOwn(mine, name)) : mine !== undefined

const checkSame = (mine: unknown, its: unknown, place: string): void => {
  if (JSON.stringify(mine) !== JSON.stringify(its))
    throw schemaFault(place, 'two schemas that apply together contradict each other. Merge them.')
}
