import type { CharSet } from 'refa'
import { choice, type GrammarNode, rule, sequence, text } from '../grammar.ts'
import { quotedString } from '../json-nodes.ts'
import { automatonOf, type Budget, type Lengths, newBudget, type StringAutomaton } from './string-automaton.ts'

/** Strings in quotes, of such a length, that the pattern is found in. Throws PatternFault. */
export type StringPatterns = (pattern: string, lengths: Lengths) => GrammarNode

/** The patterns of one schema, each kept once among its rules. */
export const stringPatterns = (rules: Map<string, GrammarNode>): StringPatterns => {
  let budget: Budget | undefined
  const known = new Map<string, GrammarNode>()
  return (pattern, lengths) => {
    const key = JSON.stringify([pattern, lengths.min, lengths.max])
    const node =
      known.get(key) ??
      withRules(automatonOf(pattern, lengths, (budget ??= newBudget())), `pattern-${known.size}`, rules)
    known.set(key, node)
    return node
  }
}

/** A rule for each state: the string ends there, or a character leads to the next one. Classes are written out once. */
const withRules = (states: StringAutomaton, prefix: string, rules: Map<string, GrammarNode>): GrammarNode => {
  const classes = new Map<CharSet, GrammarNode>()
  const classOf = (characters: CharSet): GrammarNode => {
    const known = classes.get(characters)
    if (known !== undefined) return known
    const name = `${prefix}-class-${classes.size}`
    rules.set(name, written(characters.ranges.map(({ min, max }) => [min, max])))
    classes.set(characters, rule(name))
    return rule(name)
  }
  for (const [number, { ends, edges }] of states.entries()) {
    const steps = edges.map(({ to, characters }) => sequence(classOf(characters), rule(`${prefix}-${to}`)))
    rules.set(`${prefix}-${number}`, choice(...(ends ? [text('')] : []), ...steps))
  }
  return quotedString(rule(`${prefix}-0`))
}

type Ranges = readonly (readonly [number, number])[]

/** What JSON writes with a backslash: \b \t \n \f \r " and \ itself. */
const ESCAPED = [0x08, 0x09, 0x0a, 0x0c, 0x0d, 0x22, 0x5c]
const HYPHEN = 0x2d

/** One of the characters, as it stands in a string of JSON; a hyphen stands for them where one must be made up. */
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
