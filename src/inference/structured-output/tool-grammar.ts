import { isObject } from '../../domain/is-object.ts'
import { pointerTo } from '../../domain/json-pointer.ts'
import { InferenceError } from '../errors.ts'
import { constantsNode } from './constant-grammar.ts'
import { choice, type GrammarNode, optional, repeat, rule, sequence, text } from './grammar.ts'
import { withinLimits } from './grammar-limits.ts'
import { anyObject, JSON_RULES } from './json-nodes.ts'
import { type Schema, schemaFault } from './schema-fault.ts'
import { type SchemaGrammar, schemaGrammar } from './schema-grammar.ts'
import type { ToolSyntax } from './tool-syntax.ts'

export interface GrammarTool {
  readonly name: string
  /** The schema of the arguments object. */
  readonly parameters: Schema
  /** A strict schema that cannot be enforced is refused. Otherwise the function takes any object. */
  readonly strict: boolean
}

/** The allowed replies of a request with functions. */
export interface ToolGrammarRequest {
  readonly syntax: ToolSyntax
  readonly tools: readonly GrammarTool[]
  /** A reply has at least one call; otherwise it may also be text. */
  readonly required: boolean
  /** A reply may have several calls. */
  readonly parallel: boolean
  /** The schema of a reply without calls; null if it may be any text. */
  readonly format: Schema | null
}

/** More calls in one reply are a loop rather than a plan. */
const MAX_CALLS = 32

/** Creates the grammar of replies, including arguments. @throws InferenceError unsupported that names the function */
export const toolGrammar = ({ syntax, tools, required, parallel, format }: ToolGrammarRequest): SchemaGrammar => {
  const rules = new Map(JSON_RULES)
  const places = new Map<string, string>()
  const include = ({ root, ...own }: SchemaGrammar, prefix: string): GrammarNode => {
    const renamed = (name: string): string => (JSON_RULES.has(name) ? name : `${prefix}-${name}`)
    for (const [name, node] of own.rules) if (!JSON_RULES.has(name)) rules.set(renamed(name), withNames(node, renamed))
    for (const [name, place] of own.places) places.set(renamed(name), place)
    return withNames(root, renamed)
  }
  const calls = tools.map((tool, index) => {
    rules.set(`arguments-${index}`, include(argumentsGrammar(tool, index), `tool-${index}`))
    return { name: tool.name, arguments: rule(`arguments-${index}`) }
  })
  const { trigger, beforeName, beforeArguments, afterArguments, between, end } = syntax
  // Functions with the same arguments get separate rules, because the name before them differs.
  rules.set(
    'call',
    choice(
      ...calls.map((call) => sequence(text(call.name), text(beforeArguments), call.arguments, text(afterArguments))),
    ),
  )
  const more =
    parallel && between !== null
      ? repeat(sequence(text(between), text(beforeName), rule('call')), 0, MAX_CALLS - 1)
      : text('')
  const gap = optional(constantsNode([' ', '\n']))
  rules.set('calls', sequence(gap, text(syntax.open), text(beforeName), rule('call'), more, text(end)))
  const replyOfCalls = sequence(text(trigger), rule('calls'))
  if (required) return { root: replyOfCalls, rules, places }
  if (format !== null) return { root: choice(replyOfCalls, include(schemaGrammar(format), 'format')), rules, places }
  return { root: textWithout(syntax, rules), rules, places }
}

const argumentsGrammar = ({ name, parameters, strict }: GrammarTool, index: number): SchemaGrammar => {
  try {
    const grammar = schemaGrammar(asObject(parameters, ''))
    withinLimits(grammar)
    return grammar
  } catch (error) {
    if (!(error instanceof InferenceError)) throw error
    if (!strict) return { root: anyObject, rules: JSON_RULES, places: new Map() }
    throw new InferenceError('unsupported', `The function '${name}' is strict, and ${lower(error.message)}`, {
      param: `tools[${index}].function.parameters`,
    })
  }
}

/** Requires arguments to be an object, in every alternative. */
const asObject = (schema: Schema, place: string): Schema => {
  const alternatives = (['anyOf', 'oneOf'] as const).find((keyword) => Array.isArray(schema[keyword]))
  if (alternatives !== undefined && schema.type === undefined) {
    const each = (schema[alternatives] as unknown[]).map((one, index) =>
      isObject(one) ? asObject(one, pointerTo(pointerTo(place, alternatives), index)) : one,
    )
    return { ...schema, [alternatives]: each }
  }
  const { type = 'object' } = schema
  if (type !== 'object')
    throw schemaFault(pointerTo(place, 'type'), `must be 'object', because arguments are an object.`)
  return { ...schema, type }
}

const lower = (sentence: string): string => sentence.charAt(0).toLowerCase() + sentence.slice(1)

const withNames = (node: GrammarNode, renamed: (name: string) => string): GrammarNode => {
  const inner = (part: GrammarNode): GrammarNode => withNames(part, renamed)
  switch (node.kind) {
    case 'rule':
      return rule(renamed(node.name))
    case 'sequence':
      return { ...node, parts: node.parts.map(inner) }
    case 'choice':
      return { ...node, options: node.options.map(inner) }
    case 'repeat':
    case 'reluctant':
      return { ...node, part: inner(node.part) }
    default:
      return node
  }
}

const LAST_CODE_POINT = 0x10ffff

/** Matches any code point except these, even invalid ones. */
const except = (characters: readonly string[]): GrammarNode => {
  const points = characters.map((one) => one.codePointAt(0)!).sort((a, b) => a - b)
  const starts = [0, ...points.map((point) => point + 1)]
  const ends = [...points.map((point) => point - 1), LAST_CODE_POINT]
  return {
    kind: 'characters',
    ranges: starts.flatMap((start, index) => (start <= ends[index]! ? [[start, ends[index]!] as const] : [])),
  }
}

/** The Knuth-Morris-Pratt automaton as rules: a text that may end anywhere, and continues with calls after the trigger. */
const textWithout = ({ trigger, anywhere }: ToolSyntax, rules: Map<string, GrammarNode>): GrammarNode => {
  const state = (read: string): GrammarNode => (read === trigger ? rule('calls') : rule(`text-${read.length}`))
  /** Returns the longest suffix of the read text that is a prefix of the trigger. */
  const suffix = (read: string): string => {
    let found = read
    while (!trigger.startsWith(found)) found = found.slice(1)
    return found
  }
  for (let length = 0; length < trigger.length; length++) {
    const read = trigger.slice(0, length)
    const special = anywhere ? [...new Set(trigger)] : [trigger[length]!]
    const options = special.map((one) => sequence(text(one), state(anywhere ? suffix(read + one) : read + one)))
    const other = rule(anywhere ? 'text-0' : 'text')
    rules.set(`text-${length}`, choice(text(''), ...options, sequence(except(special), other)))
  }
  if (!anywhere) rules.set('text', choice(text(''), sequence(except([]), rule('text'))))
  return rule('text-0')
}
