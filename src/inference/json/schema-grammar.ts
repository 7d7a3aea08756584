import { arrayNode } from './array-grammar.ts'
import { constantNode } from './constant-grammar.ts'
import { choice, type Grammar, type GrammarNode, rule, text } from './grammar.ts'
import { anyInteger, anyNumber, anyValue, JSON_RULES } from './json-nodes.ts'
import { mapNode } from './map-grammar.ts'
import { multiplesNode } from './multiple-of.ts'
import { numbersWithin, wholeNumbers } from './number-range.ts'
import { objectNode } from './object-grammar.ts'
import { type StringPatterns, stringPatterns } from './pattern/string-patterns.ts'
import { boundsOf } from './schema-bounds.ts'
import { below, isSchema, type Schema, schemaFault, shown } from './schema-fault.ts'
import { checkKeywords } from './schema-keywords.ts'
import { alternativesOf, merged, saysMore } from './schema-merge.ts'
import { mayOverlap } from './schema-overlap.ts'
import { type References, referencesOf } from './schema-references.ts'
import { type SchemaType, typesOf } from './schema-types.ts'
import { stringNode } from './string-grammar.ts'
import { canEnd } from './walk.ts'

/** Longer ones make the sampling of each token slow and the schema is not one of an answer. */
const MOST_SCHEMAS = 2000
const DEEPEST = 100

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
  readonly #patterns: StringPatterns
  readonly #places = new Map<string, GrammarNode>()
  readonly #wholes = new Map<string, GrammarNode>()
  #schemas = 0

  constructor(root: Schema) {
    this.#references = referencesOf(root)
    this.#patterns = stringPatterns(this.rules)
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
    if (saysMore(schema)) return this.#together(schema, place)
    if (schema.$ref !== undefined) return this.#reference(schema, place)
    if (schema.anyOf !== undefined) return this.#alternatives(schema, 'anyOf', place)
    if (schema.oneOf !== undefined) return this.#alternatives(schema, 'oneOf', place)
    if (schema.enum !== undefined || schema.const !== undefined) return constantNode(schema, place)
    const types = typesOf(schema, place)
    return types === null ? anyValue : choice(...types.map((type) => this.#ofType(type, schema, place)))
  }

  /** The same schemas together are compiled once, so that they may form circles, too. */
  #together(schema: Schema, place: string): GrammarNode {
    const whole = merged(schema, place, this.#references)
    const key = JSON.stringify(whole)
    const known = this.#wholes.get(key)
    if (known !== undefined) return known
    const name = `whole-${this.#wholes.size}`
    this.#wholes.set(key, rule(name))
    this.rules.set(name, this.#node(whole, below(place, 'allOf')))
    return rule(name)
  }

  /** The schema without references and 'allOf', for looking into it. */
  readonly #whole = (schema: unknown, place: string): unknown =>
    isSchema(schema) && (schema.$ref !== undefined || saysMore(schema))
      ? merged(schema, place, this.#references)
      : schema

  #ofType(type: SchemaType, schema: Schema, place: string): GrammarNode {
    switch (type) {
      case 'object':
        return schema.properties === undefined && schema.required === undefined
          ? mapNode(schema, place, this.named, this.#patterns)
          : objectNode(schema, place, this.rules, this.#node)
      case 'array':
        return arrayNode(schema, place, { rules: this.rules, named: this.named, whole: this.#whole })
      case 'string':
        return stringNode(schema, place, this.#patterns)
      case 'integer': {
        if (schema.multipleOf !== undefined) return this.#multiples(schema, place)
        const bounds = boundsOf(schema, place, true)
        return bounds === null ? anyInteger : wholeNumbers(bounds.min, bounds.max)
      }
      case 'number': {
        if (schema.multipleOf !== undefined) return this.#multiples(schema, place)
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

  #multiples(schema: Schema, place: string): GrammarNode {
    const at = below(place, 'multipleOf')
    const factor = schema.multipleOf
    if (!Number.isSafeInteger(factor) || (factor as number) < 1)
      throw schemaFault(at, `stands ${shown(factor)}; supported are whole numbers from 1.`)
    const bounds = boundsOf(schema, place, true)
    const multiples = multiplesNode(factor as number, bounds?.min ?? null, bounds?.max ?? null, this.rules)
    if (multiples === 'too many') throw schemaFault(at, `stands ${factor}, for which the grammar would be too large.`)
    if (multiples === null) throw schemaFault(at, `stands ${factor}, and no multiple lies between the bounds.`)
    return multiples
  }

  #alternatives(schema: Schema, keyword: 'anyOf' | 'oneOf', place: string): GrammarNode {
    const schemas = alternativesOf(schema, keyword, place)
    const at = below(place, keyword)
    if (keyword === 'oneOf') this.#checkApart(schemas, at)
    return choice(...schemas.map((part, i) => this.named(part, below(at, i))))
  }

  #checkApart(schemas: readonly unknown[], at: string): void {
    const whole = (schema: unknown) => this.#whole(schema, at)
    for (const [i, one] of schemas.entries())
      for (const other of schemas.slice(i + 1))
        if (mayOverlap(whole(one), whole(other), whole))
          throw schemaFault(
            at,
            `two alternatives may hold at once, which 'oneOf' forbids: tell them apart by 'type', a 'const' in a required property, or say 'anyOf'.`,
          )
  }

  #reference(schema: Schema, place: string): GrammarNode {
    const target = this.#references.follow(schema.$ref, place)
    return this.named(target.schema, target.place)
  }
}
