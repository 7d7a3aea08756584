import { isObject } from '../../domain/is-object.ts'
import { pointerTo } from '../../domain/json-pointer.ts'
import { constantsNode, constantsOf } from './constant-grammar.ts'
import { choice, type Grammar, type GrammarNode, rule, text } from './grammar.ts'
import { anyInteger, anyNumber, anyValue, JSON_RULES } from './json-nodes.ts'
import { type Bounds, numbersWithin, wholeNumbers } from './number-range.ts'
import { arrayNode, objectNode } from './object-grammar.ts'
import { type Alternative, type Alternatives, alike, checkApart, createAlternatives } from './schema-alternatives.ts'
import { checkBudget } from './schema-budget.ts'
import { type Schema, schemaFault, shown } from './schema-fault.ts'
import { constraintsOf } from './schema-keywords.ts'
import { Readings } from './schema-readings.ts'
import { type Follow, referencesIn } from './schema-references.ts'
import type { SchemaType } from './schema-types.ts'
import { stringNode } from './string-grammar.ts'
import { type StringPatterns, stringPatterns } from './string-patterns.ts'

/** A factor creates this many rules per digit at most. */
const MAX_REMAINDERS = 250

/** Matches a number within whole bounds, or an integer, which may have to be a multiple of another. */
export const numberNode = (
  schema: Schema,
  place: string,
  isInteger: boolean,
  rules: Map<string, GrammarNode>,
): GrammarNode => {
  const { multipleOf } = schema
  const factor = factorOf(multipleOf, pointerTo(place, 'multipleOf'))
  const whole = isInteger || multipleOf !== undefined
  const bounds = boundsOf(schema, place, whole)
  const { min, max } = bounds
  if (min === Number.NEGATIVE_INFINITY && max === Number.POSITIVE_INFINITY && multipleOf === undefined)
    return isInteger ? anyInteger : anyNumber
  const node = min > max ? null : whole ? wholeNumbers(min, max, factor, rules) : numbersWithin(bounds)
  if (node !== null) return node
  if (multipleOf === undefined || min > max) throw schemaFault(place, 'no number lies between its bounds.')
  throw schemaFault(pointerTo(place, 'multipleOf'), `got ${factor}, and no multiple lies between the bounds.`)
}

const factorOf = (factor: unknown, place: string): number => {
  if (factor === undefined) return 1
  if (!Number.isSafeInteger(factor) || (factor as number) < 1)
    throw schemaFault(place, `got ${shown(factor)}; only whole numbers from 1 are supported.`)
  if (Number(String(factor).replace(/0+$/, '')) > MAX_REMAINDERS)
    throw schemaFault(place, `got ${factor}, for which the grammar would be too large.`)
  return factor as number
}

/** Returns the bounds. Open bounds of integers become closed ones at the next integer. */
const boundsOf = (schema: Schema, place: string, whole: boolean): Bounds => {
  const lower = lowest(schema, place, whole, ['minimum', 'exclusiveMinimum'], 1)
  const upper = lowest(schema, place, whole, ['maximum', 'exclusiveMaximum'], -1)
  return { min: lower.at, minOpen: lower.open, max: -upper.at, maxOpen: upper.open }
}

/** Returns the tighter of two keywords as a lower bound; with sign -1, on the mirrored number line. */
const lowest = (
  schema: Schema,
  place: string,
  whole: boolean,
  [closed, exclusive]: readonly [string, string],
  sign: 1 | -1,
) => {
  const at = (keyword: string): number => {
    const value = schema[keyword]
    if (value === undefined) return Number.NEGATIVE_INFINITY
    if (typeof value !== 'number') throw schemaFault(pointerTo(place, keyword), `got ${shown(value)}, not a number.`)
    if (!Number.isSafeInteger(whole ? Math.trunc(value) : value))
      throw schemaFault(pointerTo(place, keyword), `got ${value}; only whole numbers within ±2^53 are supported.`)
    return sign * value
  }
  const [from, above] = [at(closed), at(exclusive)]
  if (whole) return { at: Math.max(Math.ceil(from), Math.floor(above) + 1), open: false }
  return { at: Math.max(from, above), open: above >= from && above > Number.NEGATIVE_INFINITY }
}

export interface SchemaGrammar extends Grammar {
  /** The schema location that each rule comes from. */
  readonly places: ReadonlyMap<string, string>
}

/**
 * Creates a grammar of JSON that is valid under the schema. Not every valid text matches it: properties are in the order of the
 * schema, and objects with named properties have no others.
 * @throws InferenceError unsupported for what it cannot enforce
 */
export const schemaGrammar = (schema: Schema): SchemaGrammar => new SchemaCompiler(schema).compile(schema)

const MAX_RULES = 12_000

/** The rules of one schema, limited in number. */
class Rules extends Map<string, GrammarNode> {
  override set(name: string, node: GrammarNode): this {
    if (this.size >= MAX_RULES) throw schemaFault('', `its grammar has more than ${MAX_RULES} rules. Make it smaller.`)
    return super.set(name, node)
  }
}

/** Uses a queue instead of recursion, so that a chain of references may be of any length. */
class SchemaCompiler {
  readonly #rules: Map<string, GrammarNode> = new Rules()
  readonly #places = new Map<string, string>()
  readonly #follow: Follow
  readonly #alternatives: Alternatives
  readonly #patterns: StringPatterns
  readonly #readings = new Readings()
  readonly #values = new Map<string, GrammarNode>()
  readonly #shared = new Map<string, GrammarNode>()
  readonly #waiting: (() => void)[] = []

  constructor(root: Schema) {
    for (const [name, node] of JSON_RULES) this.#rules.set(name, node)
    this.#follow = referencesIn(root, checkBudget(root))
    this.#alternatives = createAlternatives(this.#follow)
    this.#patterns = stringPatterns(this.#rules)
  }

  compile(schema: Schema): SchemaGrammar {
    const root = this.#value(schema, '')
    for (let work = this.#waiting.pop(); work !== undefined; work = this.#waiting.pop()) work()
    for (const [place, exclusive] of this.#alternatives.exclusive) checkApart(exclusive, place, this.#alternatives)
    this.#readings.check()
    return { root, rules: this.#rules, places: this.#places }
  }

  /** Compiles each place once, however many references lead to it. */
  readonly #value = (schema: unknown, place: string): GrammarNode => {
    const passed = new Set<string>()
    let at = { schema, place }
    while (isObject(at.schema) && at.schema.$ref !== undefined && constraintsOf(at.schema).length === 1) {
      if (this.#values.has(at.place) || passed.has(at.place)) break
      passed.add(at.place)
      at = this.#follow(at.schema.$ref, at.place)
    }
    const node = this.#values.get(at.place) ?? this.#choice(this.#alternatives.at(at.schema, at.place), at.place)
    for (const one of [...passed, at.place]) this.#values.set(one, node)
    return node
  }

  #choice(alternatives: readonly Alternative[], place: string): GrammarNode {
    if (alternatives.length === 0)
      throw schemaFault(place, 'no value can be valid: the schema requires itself endlessly.')
    if (alternatives.some(({ type }) => type === null)) return anyValue
    const constants = alternatives.filter(({ type }) => type === 'constant')
    const others = alternatives.filter(({ type }) => type !== 'constant')
    const nodes = others.map((one) => this.#ofType(one))
    const values = constants.flatMap((one) => constantsOf(one.schema, one.place))
    if (values.length > 0) nodes.push(this.#share(`constants ${JSON.stringify(values)}`, () => constantsNode(values)))
    if (nodes.length === 1) return nodes[0]!
    const name = this.#newRule('value', place)
    this.#rules.set(name, choice(...nodes))
    const groups = alike(others).map((group) => group.map((one) => nameOf(nodes[others.indexOf(one)]!)))
    this.#readings.add(name, place, nodes.length, groups)
    return rule(name)
  }

  #ofType({ schema, place, type }: Alternative): GrammarNode {
    if (type === 'object' || type === 'array') return this.#container(schema, place, type)
    const keywords = constraintsOf(schema).map((keyword) => [keyword, schema[keyword]])
    return this.#share(JSON.stringify([type, keywords]), () => this.#scalar(type as SchemaType, schema, place))
  }

  #container(schema: Schema, place: string, type: 'object' | 'array'): GrammarNode {
    return this.#share(`${type} at ${place}`, (name) => {
      this.#places.set(name, place)
      const inside = new Set<string>()
      const value = (inner: unknown, at: string): GrammarNode => {
        const node = this.#value(inner, at)
        inside.add(nameOf(node))
        return node
      }
      const named = (node: GrammarNode): GrammarNode => {
        const name = this.#newRule('members', place)
        this.#rules.set(name, node)
        return rule(name)
      }
      this.#waiting.push(() => {
        const node = (type === 'object' ? objectNode : arrayNode)(schema, place, { value, named })
        this.#rules.set(name, node)
        this.#readings.add(
          name,
          place,
          1,
          [...inside].map((one) => [one]),
        )
      })
      return null
    })
  }

  /** Returns one rule for identical parts. If `build` returns null, it sets the rule itself later. */
  #share(key: string, build: (name: string) => GrammarNode | null): GrammarNode {
    const known = this.#shared.get(key)
    if (known !== undefined) return known
    const name = `schema-${this.#shared.size}`
    this.#shared.set(key, rule(name))
    const node = build(name)
    if (node?.kind === 'rule') this.#shared.set(key, node)
    else if (node !== null) this.#rules.set(name, node)
    return node?.kind === 'rule' ? node : rule(name)
  }

  #newRule(prefix: string, place: string): string {
    const name = `${prefix}-${this.#places.size}`
    this.#places.set(name, place)
    return name
  }

  #scalar(type: SchemaType, schema: Schema, place: string): GrammarNode {
    if (type === 'string') return stringNode(schema, place, this.#patterns)
    if (type === 'boolean') return choice(text('true'), text('false'))
    if (type === 'null') return text('null')
    return numberNode(schema, place, type === 'integer', this.#rules)
  }
}

/** Only the names of rules matter here; other nodes have none. */
const nameOf = (node: GrammarNode): string => (node.kind === 'rule' ? node.name : '')
