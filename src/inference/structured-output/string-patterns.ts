import type { CharSet, Concatenation, DFA, Element, NoParent } from 'refa'
import { choice, type GrammarNode, rule, sequence, text } from './grammar.ts'
import { quotedString } from './json-nodes.ts'
import { type Budget, createBudget, library } from './pattern-budget.ts'

/** The message says why a pattern cannot be enforced, as the end of a sentence about it. */
export class PatternFault extends Error {}

/** Lengths in characters (code points); `max` null means unlimited. */
export interface Lengths {
  readonly min: number
  readonly max: number | null
}

/** Matches quoted strings of such a length that contain a match of every pattern. @throws PatternFault */
export type StringPatterns = (patterns: readonly string[], lengths: Lengths) => GrammarNode

const MAX_PARTS = 1000

/** Characters of a JSON string without \u escapes: no unpaired surrogates, and only controls with a letter escape. */
const WRITTEN = [
  { min: 0x08, max: 0x0a },
  { min: 0x0c, max: 0x0d },
  { min: 0x20, max: 0x7e },
  { min: 0xa0, max: 0xd7ff },
  { min: 0xe000, max: 0xfffd },
  { min: 0x10000, max: 0x10ffff },
]

/** Compiles the patterns of one schema, each once. */
export const stringPatterns = (rules: Map<string, GrammarNode>): StringPatterns => {
  let budget: Budget | undefined
  const known = new Map<string, GrammarNode>()
  return (patterns, lengths) => {
    const key = JSON.stringify([patterns, lengths.min, lengths.max])
    budget ??= createBudget()
    const node = known.get(key) ?? withRules(automatonOf(patterns, lengths, budget), `pattern-${known.size}`, rules)
    known.set(key, node)
    return node
  }
}

/** An automaton for strings, and the meaning of the letters on its edges. */
interface Automaton {
  readonly states: DFA
  readonly charactersOf: (letters: readonly number[]) => CharSet
}

/** Builds the automaton for strings of such a length that contain a match of each pattern (ECMA-262, as JSON Schema requires). */
const automatonOf = (patterns: readonly string[], { min, max }: Lengths, budget: Budget): Automaton => {
  const { CharBase, CharSet, DFA, JS, NFA, TooManyNodesError } = library()
  try {
    // With Unicode mode as JSON Schema requires; otherwise without it, because many people use escapes that it does not allow.
    const flags = ['u', ''].find((flags) => patterns.every((pattern) => isExpression(pattern, flags))) ?? 'u'
    const parsed = patterns.map((source) =>
      JS.Parser.fromLiteral({ source, flags }).parse({ backreferences: 'unknown', maxNodes: MAX_PARTS }),
    )
    const { maxCharacter } = parsed[0]!
    const written = CharSet.empty(maxCharacter).union(WRITTEN.filter((range) => range.max <= maxCharacter))
    const parts = [
      ...parsed.map(({ expression }) => found(expression.alternatives, repeated(written, 0, null))),
      [concatenation(repeated(written, min, max))],
    ]
    // Characters that the pattern does not distinguish become one letter of the automata, because \p{L} has hundreds of ranges.
    const classes: CharSet[] = []
    withClasses(parts.flat(), (characters) => classes[classes.push(characters) - 1]!)
    const letters = new CharBase(classes)
    const last = Math.max(letters.sets.length - 1, 0)
    const lettersOf = (characters: CharSet): CharSet =>
      CharSet.empty(last).union(letters.split(characters).map((letter) => ({ min: letter, max: letter })))
    const automata = parts.map((part) =>
      NFA.fromRegex(withClasses(part, lettersOf), { maxCharacter: last }, {}, budget.nfa),
    )
    const automaton = automata.reduce((one, other) => NFA.fromIntersection(one, other, budget.nfa))
    const states = DFA.fromTransitionIterator(budget.steps(automaton), automaton, budget.dfa)
    states.minimize()
    if (states.isEmpty) throw new PatternFault('matches no string of the allowed length and format.')
    return {
      states,
      charactersOf: (some) => CharSet.empty(maxCharacter).union(...some.map((one) => letters.sets[one]!)),
    }
  } catch (error) {
    if (error instanceof PatternFault) throw error
    if (!(error instanceof TooManyNodesError))
      throw new PatternFault(`is not a regular expression: ${(error as Error).message}.`)
    throw new PatternFault(
      'needs too large an automaton, alone or with the other patterns of this schema; simplify it.',
    )
  }
}

const isExpression = (pattern: string, flags: string): boolean => {
  try {
    return new RegExp(pattern, flags) instanceof RegExp
  } catch {
    return false
  }
}

/** Adds `anything` around the alternatives, except at an edge with ^ or $, even inside a group at that edge. */
const found = (
  alternatives: readonly NoParent<Concatenation>[],
  anything: NoParent<Element>,
  before = true,
  behind = true,
): NoParent<Concatenation>[] =>
  alternatives.map(({ elements }) => {
    const inner = [...elements]
    const left = before && !isEdge(inner[0], 'behind')
    const right = behind && !isEdge(inner.at(-1), 'ahead')
    if (before && !left) inner.shift()
    if (behind && !right) inner.pop()
    const around = (element: NoParent<Element> | undefined, left: boolean, right: boolean) =>
      element?.type === 'Alternation'
        ? { ...element, alternatives: found(element.alternatives, anything, left, right) }
        : null
    const whole = inner.length === 1 ? around(inner[0], left, right) : null
    if (whole !== null) return concatenation(whole)
    const [first, last] = [around(inner[0], true, false), around(inner.at(-1), false, true)]
    if (left && first !== null) inner[0] = first
    else if (left) inner.unshift(anything)
    if (right && last !== null) inner[inner.length - 1] = last
    else if (right) inner.push(anything)
    inner.forEach(checkSupported)
    return concatenation(...inner)
  })

/** True for ^ (behind) or $ (ahead). */
const isEdge = (element: NoParent<Element> | undefined, kind: 'behind' | 'ahead'): boolean => {
  if (element?.type !== 'Assertion' || element.kind !== kind || !element.negate) return false
  const [only, ...others] = element.alternatives.flatMap(({ elements }) => elements)
  return others.length === 0 && only?.type === 'CharacterClass' && only.characters.isAll
}

const checkSupported = (element: NoParent<Element>): void => {
  if (element.type === 'Unknown')
    throw new PatternFault(`has the backreference '${element.id}', which is not supported.`)
  if (element.type === 'Assertion')
    throw new PatternFault(
      'has a lookahead or lookbehind (or \\b, or ^ or $ in its middle), which is not supported. Leave it out, or check the reply yourself.',
    )
  if ('alternatives' in element) for (const { elements } of element.alternatives) elements.forEach(checkSupported)
}

const concatenation = (...elements: readonly NoParent<Element>[]): NoParent<Concatenation> => ({
  type: 'Concatenation',
  elements: [...elements],
})

const repeated = (characters: CharSet, min: number, max: number | null): NoParent<Element> => ({
  type: 'Quantifier',
  min,
  max: max ?? Number.POSITIVE_INFINITY,
  lazy: false,
  alternatives: [concatenation({ type: 'CharacterClass', characters })],
})

const withClasses = (
  parts: readonly NoParent<Concatenation>[],
  replace: (characters: CharSet) => CharSet,
): NoParent<Concatenation>[] =>
  parts.map(({ elements }) =>
    concatenation(
      ...elements.map((element) => {
        if (element.type === 'CharacterClass') return { ...element, characters: replace(element.characters) }
        if (!('alternatives' in element)) return element
        return { ...element, alternatives: withClasses(element.alternatives, replace) }
      }),
    ),
  )

/** Creates a rule per state: the string ends there, or a character leads to the next state. Each class is written once. */
const withRules = (
  { states, charactersOf }: Automaton,
  prefix: string,
  rules: Map<string, GrammarNode>,
): GrammarNode => {
  const nodes = [...states.nodes()]
  const nameOf = new Map(nodes.map((node, number) => [node, `${prefix}-${number}`]))
  const classes = new Map<string, GrammarNode>()
  const classOf = (letters: readonly number[]): GrammarNode => {
    const known = classes.get(letters.join())
    if (known !== undefined) return known
    const node = rule(`${prefix}-class-${classes.size}`)
    rules.set(node.name, written(charactersOf(letters).ranges.map(({ min, max }) => [min, max])))
    classes.set(letters.join(), node)
    return node
  }
  for (const node of nodes) {
    const edges = new Map<string, number[]>()
    for (const [{ min, max }, next] of node.out) {
      const to = nameOf.get(next)!
      const letters = Array.from({ length: max - min + 1 }, (_, i) => min + i)
      edges.set(to, [...(edges.get(to) ?? []), ...letters])
    }
    const steps = [...edges].map(([to, letters]) => sequence(classOf(letters), rule(to)))
    rules.set(nameOf.get(node)!, choice(...(states.finals.has(node) ? [text('')] : []), ...steps))
  }
  return quotedString(rule(nameOf.get(states.initial)!))
}

type Ranges = readonly (readonly [number, number])[]

/** The characters that JSON escapes with a backslash: \b \t \n \f \r " and \ itself. */
const ESCAPED = [0x08, 0x09, 0x0a, 0x0c, 0x0d, 0x22, 0x5c]
const HYPHEN = 0x2d

/** Matches one of the characters as written in a JSON string. The hyphen is first because endings use the first one. */
const written = (ranges: Ranges): GrammarNode => {
  const holds = (point: number) => ranges.some(([first, last]) => point >= first && point <= last)
  const plain = ESCAPED.reduce(without, ranges)
  const characters = holds(HYPHEN) ? [[HYPHEN, HYPHEN] as const, ...without(plain, HYPHEN)] : plain
  return choice(
    ...(characters.length > 0 ? [{ kind: 'characters', ranges: characters } as const] : []),
    ...ESCAPED.filter(holds).map((point) => text(JSON.stringify(String.fromCodePoint(point)).slice(1, -1))),
  )
}

const without = (ranges: Ranges, point: number): Ranges =>
  ranges.flatMap(([first, last]) =>
    point < first || point > last
      ? [[first, last] as const]
      : [[first, point - 1] as const, [point + 1, last] as const].filter(([from, to]) => from <= to),
  )
