import { arrayNode } from './array-grammar.ts'
import { constantNode } from './constant-grammar.ts'
import { choice, type Grammar, type GrammarNode, rule, sequence, text } from './grammar.ts'
import {
  anyInteger,
  anyNumber,
  anyObject,
  anyString,
  anyValue,
  bracketed,
  JSON_RULES,
  list,
  space,
} from './json-nodes.ts'
import { numbersWithin, wholeNumbers } from './number-range.ts'
import { objectNode } from './object-grammar.ts'
import { boundsOf } from './schema-bounds.ts'
import { below, isSchema, type Schema, schemaFault, shown } from './schema-fault.ts'
import { checkKeywords, constraintsOf } from './schema-keywords.ts'
import { mayOverlap } from './schema-overlap.ts'
import { type References, referencesOf } from './schema-references.ts'
import { possibleTypes, type SchemaType, typesOf } from './schema-types.ts'
import { stringNode } from './string-grammar.ts'
import { canEnd } from './walk.ts'

/** Longer ones make the sampling of each token slow and the schema is not one of an answer. */
const MOST_SCHEMAS = 2000
const DEEPEST = 100
const CONSTANTS: readonly string[] = ['enum', 'const']

/**
 * The grammar of JSON texts that are valid under the schema. Not each valid text is in it: properties come in the order of the
 * schema, and beside named ones there are no others. Throws InferenceError unsupported for what it cannot keep.
 */
export const schemaGrammar = (schema: Schema): Grammar => {
  const compiler = new SchemaCompiler(schema)
  const grammar = { root: compiler.named(schema, ''), rules: compiler.rules }
  if (!canEnd(grammar)) throw schemaFault('', 'nothing can be valid: it needs itself without end.')
  return grammar
}

/** Holds the rules that grow while a schema is compiled. */
class SchemaCompiler {
  readonly rules = new Map(JSON_RULES)
  readonly #references: References
  readonly #places = new Map<string, GrammarNode>()
  #schemas = 0

  constructor(root: Schema) {
    this.#references = referencesOf(root)
  }

  /** Compiled once for each place, so that references may form circles. */
  readonly named = (schema: unknown, place: string): GrammarNode => {
    const known = this.#places.get(place)
    if (known !== undefined) return known
    const name = `schema-${this.#places.size}`
    this.#places.set(place, rule(name))
    this.rules.set(name, this.#node(schema, place))
    return rule(name)
  }

  readonly #node = (schema: unknown, place: string): GrammarNode => {
    if (schema === true) return anyValue
    if (!isSchema(schema)) throw schemaFault(place, `stands ${shown(schema)}; a schema is an object or true.`)
    if (++this.#schemas > MOST_SCHEMAS) throw schemaFault('', `there are more than ${MOST_SCHEMAS} schemas.`)
    if (place.split('/').length > DEEPEST) throw schemaFault(place, 'it is nested too deeply.')
    checkKeywords(schema, place)
    for (const [keyword, compile] of [
      ['$ref', () => this.#reference(schema, place)],
      ['enum', () => constantNode(schema, place)],
      ['const', () => constantNode(schema, place)],
      ['anyOf', () => this.#alternatives(schema, 'anyOf', place)],
      ['oneOf', () => this.#alternatives(schema, 'oneOf', place)],
      ['allOf', () => this.#only(schema, place)],
    ] as const) {
      if (schema[keyword] === undefined) continue
      checkAlone(schema, keyword, place)
      this.#checkTypes(schema, keyword, place)
      return compile()
    }
    const types = typesOf(schema, place)
    return types === null ? anyValue : choice(...types.map((type) => this.#ofType(type, schema, place)))
  }

  #ofType(type: SchemaType, schema: Schema, place: string): GrammarNode {
    switch (type) {
      case 'object':
        return schema.properties === undefined && schema.required === undefined
          ? this.#map(schema, place)
          : objectNode(schema, place, this.rules, this.#node)
      case 'array':
        return arrayNode(schema, place, this.named)
      case 'string':
        return stringNode(schema, place)
      case 'integer': {
        const bounds = boundsOf(schema, place, true)
        return bounds === null ? anyInteger : wholeNumbers(bounds.min, bounds.max)
      }
      case 'number': {
        const bounds = boundsOf(schema, place, false)
        const numbers = bounds === null ? anyNumber : numbersWithin(bounds)
        if (numbers === null) throw schemaFault(place, 'no number lies between its bounds.')
        return numbers
      }
      case 'boolean':
        return choice(text('true'), text('false'))
      case 'null':
        return text('null')
    }
  }

  #map(schema: Schema, place: string): GrammarNode {
    const values = schema.additionalProperties
    if (values === undefined || values === true) return anyObject
    if (values === false) return text('{}')
    const value = this.named(values, below(place, 'additionalProperties'))
    const member = sequence(anyString, text(':'), space, value)
    return bracketed('{', choice(text(''), sequence(list(member, 1, null), space)), '}')
  }

  #alternatives(schema: Schema, keyword: 'anyOf' | 'oneOf', place: string): GrammarNode {
    const schemas = schema[keyword]
    const at = below(place, keyword)
    if (!Array.isArray(schemas) || schemas.length === 0) throw schemaFault(at, 'stands no list of schemas.')
    if (keyword === 'oneOf') this.#checkApart(schemas, at)
    return choice(...schemas.map((part, i) => this.named(part, below(at, i))))
  }

  #checkApart(schemas: readonly unknown[], at: string): void {
    const { resolved } = this.#references
    for (const [i, one] of schemas.entries())
      for (const other of schemas.slice(i + 1))
        if (mayOverlap(resolved(one), resolved(other), resolved))
          throw schemaFault(
            at,
            `two alternatives may hold at once, which 'oneOf' forbids: tell them apart by 'type', a 'const' in a required property, or say 'anyOf'.`,
          )
  }

  /** A type beside alternatives narrows them, which is not done: it has to say what they say. */
  #checkTypes(schema: Schema, keyword: string, place: string): void {
    if (schema.type === undefined || CONSTANTS.includes(keyword)) return
    const allowed = typesOf({ type: schema.type }, place)!
    const possible = possibleTypes({ [keyword]: schema[keyword] }, place, this.#references.resolved)
    const fits = (type: SchemaType) => allowed.includes(type) || (type === 'integer' && allowed.includes('number'))
    if (possible !== null && [...possible].every(fits)) return
    throw schemaFault(
      below(place, 'type'),
      `stands another type than '${keyword}' allows; leave it out or write both as one.`,
    )
  }

  #only(schema: Schema, place: string): GrammarNode {
    if (Array.isArray(schema.allOf) && schema.allOf.length === 1)
      return this.named(schema.allOf[0], below(below(place, 'allOf'), 0))
    throw schemaFault(below(place, 'allOf'), 'stand several schemas; only one is supported. Write them as one.')
  }

  #reference(schema: Schema, place: string): GrammarNode {
    const target = this.#references.follow(schema.$ref, place)
    return this.named(target.schema, target.place)
  }
}

const checkAlone = (schema: Schema, keyword: string, place: string): void => {
  const borne = ['type', keyword, ...(keyword === 'enum' ? ['const'] : [])]
  const beside = constraintsOf(schema).filter((other) => !borne.includes(other))
  if (beside.length > 0)
    throw schemaFault(place, `'${beside[0]}' stands beside '${keyword}'; write both as one schema.`)
}
