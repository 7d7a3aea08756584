import { MAX_REPETITIONS } from './gbnf.ts'
import { choice, type GrammarNode, sequence, text } from './grammar.ts'
import { anyArray, anyValue, bracketed, list, space } from './json-nodes.ts'
import type { Inner } from './object-grammar.ts'
import { below, countAt, type Schema, schemaFault } from './schema-fault.ts'

/** An array: its items one after another, or the named places of a tuple. */
export const arrayNode = (schema: Schema, place: string, inner: Inner): GrammarNode => {
  const min = countAt(schema, 'minItems', place) ?? 0
  const requested = countAt(schema, 'maxItems', place) ?? null
  if (requested !== null && requested < min) throw schemaFault(below(place, 'maxItems'), `must be at least 'minItems'.`)
  if (min > MAX_REPETITIONS) throw schemaFault(below(place, 'minItems'), `must be at most ${MAX_REPETITIONS}.`)
  const max = requested === null ? null : Math.min(requested, MAX_REPETITIONS)
  if (schema.prefixItems !== undefined) return tupleNode(schema, place, { min, max: requested }, inner)
  if (schema.items === undefined && min === 0 && max === null) return anyArray
  if (schema.items === false || max === 0) return emptyArray(min, place)
  const item = schema.items === undefined ? anyValue : inner.value(schema.items, below(place, 'items'))
  return bracketed('[', arrayItems(list(item, Math.max(1, min), max), min === 0), ']')
}

const tupleNode = (
  schema: Schema,
  place: string,
  { min, max }: { readonly min: number; readonly max: number | null },
  { value }: Inner,
): GrammarNode => {
  const first = schema.prefixItems
  if (!Array.isArray(first) || first.length === 0)
    throw schemaFault(below(place, 'prefixItems'), 'expected a list of schemas.')
  if (min > first.length || (max !== null && max < first.length))
    throw schemaFault(place, `'minItems' and 'maxItems' leave out items of 'prefixItems' or ask for more.`)
  const items = first.map((item, i) => value(item, below(below(place, 'prefixItems'), i)))
  const rest = items.slice(1).flatMap((item) => [text(','), space, item])
  return bracketed('[', arrayItems(sequence(items[0]!, ...rest), false), ']')
}

const arrayItems = (items: GrammarNode, mayBeEmpty: boolean): GrammarNode => {
  const some = sequence(items, space)
  return mayBeEmpty ? choice(text(''), some) : some
}

const emptyArray = (min: number, place: string): GrammarNode => {
  if (min > 0) throw schemaFault(below(place, 'minItems'), 'is more than the array may hold.')
  return text('[]')
}
