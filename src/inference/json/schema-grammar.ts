import { MOST_REPETITIONS } from './gbnf.ts'
import { choice, type Grammar, type GrammarNode, repeat, rule, sequence, text } from './grammar.ts'
import {
  anyArray,
  anyInteger,
  anyNumber,
  anyObject,
  anyString,
  anyValue,
  bracketed,
  JSON_RULES,
  list,
  quotedString,
  space,
  stringCharacter,
} from './json-nodes.ts'
import { numbersWithin, wholeNumbers } from './number-range.ts'
import { objectNode } from './object-grammar.ts'
import { boundsOf } from './schema-bounds.ts'
import { below, countAt, isSchema, type Schema, schemaFault } from './schema-fault.ts'
import { checkKeywords, constraintsOf } from './schema-keywords.ts'
import { mayOverlap } from './schema-overlap.ts'
import { STRING_FORMATS } from './string-formats.ts'
import { canEnd } from './walk.ts'

/** Longer ones make the sampling of each token slow and the schema is not one of an answer. */
const MOST_SCHEMAS = 2000

const TYPES = ['object', 'array', 'string', 'integer', 'number', 'boolean', 'null'] as const
type Type = (typeof TYPES)[number]

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
  readonly #root: Schema
  #schemas = 0

  constructor(root: Schema) {
    this.#root = root
  }

  #node(schema: unknown, place: string): GrammarNode {
    if (schema === true) return anyValue
    if (!isSchema(schema)) throw schemaFault(place, `stands ${shown(schema)}; a schema is an object or true.`)
    if (++this.#schemas > MOST_SCHEMAS) throw schemaFault('', `there are more than ${MOST_SCHEMAS} schemas.`)
    if (place.split('/').length > 100) throw schemaFault(place, 'it is nested too deeply.')
    checkKeywords(schema, place)
    for (const [keyword, compile] of [
      ['$ref', () => this.#reference(schema.$ref, place)],
      ['const', () => this.#constants([schema.const], schema, place)],
      ['enum', () => this.#constants(schema.enum, schema, place)],
      ['anyOf', () => this.#alternatives(schema, 'anyOf', place)],
      ['oneOf', () => this.#alternatives(schema, 'oneOf', place)],
      ['allOf', () => this.#only(schema, place)],
    ] as const) {
      if (schema[keyword] === undefined) continue
      checkAlone(schema, keyword, place)
      return compile()
    }
    const types = typesOf(schema, place)
    return types === null ? anyValue : choice(...types.map((type) => this.#ofType(type, schema, place)))
  }

  #ofType(type: Type, schema: Schema, place: string): GrammarNode {
    switch (type) {
      case 'object':
        return schema.properties === undefined && schema.required === undefined
          ? this.#map(schema, place)
          : objectNode(schema, place, this.rules, (part, at) => this.#node(part, at))
      case 'array':
        return this.#array(schema, place)
      case 'string':
        return this.#string(schema, place)
      case 'integer': {
        const bounds = boundsOf(schema, place, true)
        return bounds === null ? anyInteger : wholeNumbers(bounds.min, bounds.max)
      }
      case 'number': {
        const bounds = boundsOf(schema, place, false)
        return bounds === null ? anyNumber : numbersWithin(bounds)
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

  #array(schema: Schema, place: string): GrammarNode {
    const min = countAt(schema, 'minItems', place) ?? 0
    const asked = countAt(schema, 'maxItems', place) ?? null
    if (asked !== null && asked < min) throw schemaFault(below(place, 'maxItems'), `stands less than 'minItems'.`)
    if (min > MOST_REPETITIONS) throw schemaFault(below(place, 'minItems'), `stands more than ${MOST_REPETITIONS}.`)
    const max = asked === null ? null : Math.min(asked, MOST_REPETITIONS)
    if (schema.prefixItems !== undefined) return this.#tuple(schema, place, min, asked)
    if (schema.items === undefined && min === 0 && max === null) return anyArray
    if (schema.items === false || max === 0) return emptyArray(min, place)
    const item = schema.items === undefined ? anyValue : this.named(schema.items, below(place, 'items'))
    return bracketed('[', arrayItems(list(item, Math.max(1, min), max), min === 0), ']')
  }

  #tuple(schema: Schema, place: string, min: number, max: number | null): GrammarNode {
    const first = schema.prefixItems
    if (!Array.isArray(first) || first.length === 0)
      throw schemaFault(below(place, 'prefixItems'), 'stands no list of schemas.')
    if (min > first.length || (max !== null && max < first.length))
      throw schemaFault(place, `'minItems' and 'maxItems' leave out items of 'prefixItems' or ask for more.`)
    const items = first.map((item, i) => this.named(item, below(below(place, 'prefixItems'), i)))
    const rest = items.slice(1).map((item) => sequence(text(','), space, item))
    return bracketed('[', arrayItems(sequence(items[0]!, ...rest), false), ']')
  }

  #string(schema: Schema, place: string): GrammarNode {
    const min = countAt(schema, 'minLength', place) ?? 0
    const max = countAt(schema, 'maxLength', place) ?? null
    if (max !== null && max < min) throw schemaFault(below(place, 'maxLength'), `stands less than 'minLength'.`)
    if (min > MOST_REPETITIONS) throw schemaFault(below(place, 'minLength'), `stands more than ${MOST_REPETITIONS}.`)
    if (schema.format !== undefined) {
      const format = STRING_FORMATS[String(schema.format)]
      const known = Object.keys(STRING_FORMATS).join(', ')
      if (format === undefined || !Object.hasOwn(STRING_FORMATS, String(schema.format)))
        throw schemaFault(below(place, 'format'), `stands ${shown(schema.format)}; supported are ${known}.`)
      if (min > 0 || max !== null) throw schemaFault(below(place, 'format'), `lengths stand beside it: leave them out.`)
      return quotedString(format)
    }
    if (min === 0 && max === null) return anyString
    return quotedString(repeat(stringCharacter, min, max === null ? null : Math.min(max, MOST_REPETITIONS)))
  }

  #constants(values: unknown, schema: Schema, place: string): GrammarNode {
    if (!Array.isArray(values) || values.length === 0)
      throw schemaFault(below(place, 'enum'), 'stands no list of values.')
    const types = typesOf({ type: schema.type }, place)
    const fitting = values.filter((value) => types === null || types.some((type) => isOfType(value, type)))
    if (fitting.length === 0) throw schemaFault(place, `no value is of the 'type' that stands beside.`)
    return choice(...[...new Set(fitting.map((value) => JSON.stringify(value)))].map(text))
  }

  #alternatives(schema: Schema, keyword: 'anyOf' | 'oneOf', place: string): GrammarNode {
    const schemas = schema[keyword]
    const at = below(place, keyword)
    if (!Array.isArray(schemas) || schemas.length === 0) throw schemaFault(at, 'stands no list of schemas.')
    if (keyword === 'oneOf')
      for (const [i, one] of schemas.entries())
        for (const other of schemas.slice(i + 1))
          if (mayOverlap(this.#resolved(one), this.#resolved(other), (part) => this.#resolved(part)))
            throw schemaFault(
              at,
              `two alternatives may hold at once, which 'oneOf' forbids: tell them apart by 'type', a 'const' in a required property, or say 'anyOf'.`,
            )
    return choice(...schemas.map((part, i) => this.named(part, below(at, i))))
  }

  #only(schema: Schema, place: string): GrammarNode {
    if (Array.isArray(schema.allOf) && schema.allOf.length === 1)
      return this.named(schema.allOf[0], below(below(place, 'allOf'), 0))
    throw schemaFault(below(place, 'allOf'), 'stand several schemas; only one is supported. Write them as one.')
  }

  #reference(reference: unknown, place: string): GrammarNode {
    if (typeof reference !== 'string' || !/^#(\/|$)/.test(reference))
      throw schemaFault(
        below(place, '$ref'),
        `stands ${shown(reference)}; only '#/...' inside this schema is supported.`,
      )
    const pointer = decodeURIComponent(reference.slice(1))
    return this.named(this.#at(pointer, place), pointer)
  }

  /** The schema that a chain of references ends at, for comparing schemas; undefined where there is none. */
  #resolved(schema: unknown): unknown {
    let at = schema
    for (let steps = 0; steps < 100 && isSchema(at) && typeof at.$ref === 'string'; steps++)
      at = this.#at(decodeURIComponent(at.$ref.slice(1)), '')
    return at
  }

  #at(pointer: string, place: string): unknown {
    let at: unknown = this.#root
    for (const step of pointer.split('/').slice(1)) {
      const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
      const inside = typeof at === 'object' && at !== null && Object.hasOwn(at, key)
      if (!inside) throw schemaFault(below(place, '$ref'), `stands '#${pointer}', which is not in this schema.`)
      at = (at as Record<string, unknown>)[key]
    }
    return at
  }

  /** Compiled once for each place, so that references may form circles. */
  named(schema: unknown, place: string): GrammarNode {
    const known = this.#places.get(place)
    if (known !== undefined) return known
    const name = `schema-${this.#places.size}`
    this.#places.set(place, rule(name))
    this.rules.set(name, this.#node(schema, place))
    return rule(name)
  }
  readonly #places = new Map<string, GrammarNode>()
}

const arrayItems = (items: GrammarNode, mayBeEmpty: boolean): GrammarNode => {
  const some = sequence(items, space)
  return mayBeEmpty ? choice(text(''), some) : some
}

const emptyArray = (min: number, place: string): GrammarNode => {
  if (min > 0) throw schemaFault(below(place, 'minItems'), 'stands more than the array may hold.')
  return text('[]')
}

const checkAlone = (schema: Schema, keyword: string, place: string): void => {
  const beside = constraintsOf(schema).filter((other) => other !== keyword && other !== 'type')
  if (beside.length > 0)
    throw schemaFault(place, `'${beside[0]}' stands beside '${keyword}'; write both as one schema.`)
}

/** null: any type. Without 'type', the keywords tell. */
const typesOf = (schema: Schema, place: string): readonly Type[] | null => {
  const { type } = schema
  if (type === undefined) return impliedType(schema)
  const types = Array.isArray(type) ? type : [type]
  if (types.length > 0 && types.every((name): name is Type => TYPES.includes(name))) return [...new Set(types)]
  throw schemaFault(below(place, 'type'), `stands ${shown(type)}; known are ${TYPES.join(', ')}.`)
}

const impliedType = (schema: Schema): readonly Type[] | null => {
  const has = (...keywords: readonly string[]) => keywords.some((keyword) => schema[keyword] !== undefined)
  if (has('properties', 'required', 'additionalProperties')) return ['object']
  if (has('items', 'prefixItems', 'minItems', 'maxItems')) return ['array']
  if (has('minLength', 'maxLength', 'format')) return ['string']
  if (has('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum')) return ['number']
  return null
}

const isOfType = (value: unknown, type: Type): boolean => {
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isSchema(value)
  return typeof value === type
}

const shown = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, 80)
