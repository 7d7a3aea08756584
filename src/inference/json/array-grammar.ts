import { constantsOf } from './constant-grammar.ts'
import { MOST_REPETITIONS } from './gbnf.ts'
import { choice, type GrammarNode, sequence, text } from './grammar.ts'
import { anyArray, anyValue, bracketed, list, space } from './json-nodes.ts'
import { below, countAt, isSchema, type Schema, schemaFault } from './schema-fault.ts'
import { MOST_UNIQUE, uniqueItemsNode } from './unique-items.ts'

/** What an array needs of the schema's compiler. */
export interface ItemCompiler {
  readonly rules: Map<string, GrammarNode>
  /** The grammar of the schema at that place. */
  readonly named: (schema: unknown, place: string) => GrammarNode
  /** The schema without references and 'allOf'. */
  readonly whole: (schema: unknown, place: string) => unknown
}

/** An array: its items one after another, or the named places of a tuple. */
export const arrayNode = (schema: Schema, place: string, compiler: ItemCompiler): GrammarNode => {
  const min = countAt(schema, 'minItems', place) ?? 0
  const asked = countAt(schema, 'maxItems', place) ?? null
  if (asked !== null && asked < min) throw schemaFault(below(place, 'maxItems'), `stands less than 'minItems'.`)
  if (min > MOST_REPETITIONS) throw schemaFault(below(place, 'minItems'), `stands more than ${MOST_REPETITIONS}.`)
  const max = asked === null ? null : Math.min(asked, MOST_REPETITIONS)
  if (schema.uniqueItems === true && (max === null || max > 1)) return uniqueNode(schema, place, min, max, compiler)
  if (schema.prefixItems !== undefined) return tupleNode(schema, place, { min, max: asked }, compiler)
  if (schema.items === undefined && min === 0 && max === null) return anyArray
  if (schema.items === false || max === 0) return emptyArray(min, place)
  const item = schema.items === undefined ? anyValue : compiler.named(schema.items, below(place, 'items'))
  return bracketed('[', arrayItems(list(item, Math.max(1, min), max), min === 0), ']')
}

/** Without two equal items: of a few constants each is written at most once; how often others were, no grammar can tell. */
const uniqueNode = (schema: Schema, place: string, min: number, max: number | null, compiler: ItemCompiler) => {
  const at = below(place, 'items')
  const items = schema.prefixItems === undefined ? compiler.whole(schema.items, at) : undefined
  const values = isSchema(items) ? finiteValues(items, at) : null
  if (values === null || values.length > MOST_UNIQUE)
    throw schemaFault(
      below(place, 'uniqueItems'),
      `stands true; that is supported for items of an 'enum' of at most ${MOST_UNIQUE} values. Check the answer yourself.`,
    )
  if (min > values.length) throw schemaFault(below(place, 'minItems'), 'stands more than there are different items.')
  return uniqueItemsNode(values, min, max ?? values.length, compiler.rules)
}

const finiteValues = (items: Schema, place: string): readonly string[] | null => {
  if (items.enum !== undefined || items.const !== undefined) return constantsOf(items, place)
  return items.type === 'boolean' ? ['true', 'false'] : null
}

const tupleNode = (
  schema: Schema,
  place: string,
  { min, max }: { readonly min: number; readonly max: number | null },
  compiler: ItemCompiler,
): GrammarNode => {
  const first = schema.prefixItems
  if (!Array.isArray(first) || first.length === 0)
    throw schemaFault(below(place, 'prefixItems'), 'stands no list of schemas.')
  if (min > first.length || (max !== null && max < first.length))
    throw schemaFault(place, `'minItems' and 'maxItems' leave out items of 'prefixItems' or ask for more.`)
  const items = first.map((item, i) => compiler.named(item, below(below(place, 'prefixItems'), i)))
  const rest = items.slice(1).map((item) => sequence(text(','), space, item))
  return bracketed('[', arrayItems(sequence(items[0]!, ...rest), false), ']')
}

const arrayItems = (items: GrammarNode, mayBeEmpty: boolean): GrammarNode => {
  const some = sequence(items, space)
  return mayBeEmpty ? choice(text(''), some) : some
}

const emptyArray = (min: number, place: string): GrammarNode => {
  if (min > 0) throw schemaFault(below(place, 'minItems'), 'stands more than the array may hold.')
  return text('[]')
}
