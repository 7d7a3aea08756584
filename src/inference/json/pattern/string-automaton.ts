import type { DFA, Element, NFA, NoParent } from 'refa'
import {
  type Alternatives,
  BEGINNING,
  classOf,
  concatenation,
  END,
  leadingLookaheads,
  library,
  PatternFault,
  parsed,
  repeated,
  withMarks,
} from './parse-pattern.ts'

/** The strings of some kind as a deterministic automaton. Its states are numbered breadth first; the first is the start. */
export type StringAutomaton = readonly State[]

export interface State {
  /** Whether a string may end here. */
  readonly ends: boolean
  readonly edges: readonly { readonly to: number; readonly ranges: readonly (readonly [number, number])[] }[]
}

/** Lengths in characters (code points); `max` null is without end. */
export interface Lengths {
  readonly min: number
  readonly max: number | null
}

/** How many states the automata of one schema may have on the way, which bounds the time, too: to some seconds at the worst. */
const MOST_NFA_NODES = 6000
const MOST_DFA_NODES = 2000

/** What is left of that for a schema. */
export interface Budget {
  readonly nfa: NFA.LimitedNodeFactory
  readonly dfa: DFA.LimitedNodeFactory
}

export const newBudget = (): Budget => ({
  nfa: new (library().NFA.LimitedNodeFactory)(MOST_NFA_NODES),
  dfa: new (library().DFA.LimitedNodeFactory)(MOST_DFA_NODES),
})

/** What a string of JSON can hold without \u escapes: no halves of surrogate pairs, controls only where they have a letter. */
const WRITTEN = [
  { min: 0x08, max: 0x0a },
  { min: 0x0c, max: 0x0d },
  { min: 0x20, max: 0x7e },
  { min: 0xa0, max: 0xd7ff },
  { min: 0xe000, max: 0xfffd },
  { min: 0x10000, max: 0x10ffff },
]

/**
 * The strings that `pattern` is found in (ECMA-262, as JSON Schema says) and that have such a length. Lookaheads are kept
 * right behind a leading ^; other assertions but ^ and $ are not. Throws PatternFault.
 */
export const automatonOf = (pattern: string, lengths: Lengths, budget: Budget): StringAutomaton => {
  try {
    return numbered(smallestOf(pattern, lengths, budget))
  } catch (error) {
    if (!(error instanceof library().TooManyNodesError)) throw error
    throw new PatternFault(
      'needs too large an automaton, alone or with the others of this schema; say something simpler.',
    )
  }
}

const smallestOf = (pattern: string, { min, max }: Lengths, { nfa, dfa }: Budget): DFA => {
  const { CharSet, DFA, NFA } = library()
  const { alternatives, maxCharacter } = parsed(pattern)
  const any = CharSet.all(maxCharacter)
  const written = any.intersect(CharSet.empty(maxCharacter).union(WRITTEN.filter((range) => range.max <= maxCharacter)))
  const mark = (character: number) => classOf(CharSet.fromCharacter(maxCharacter, character))
  const automaton = (...elements: readonly NoParent<Element>[]): NFA =>
    NFA.fromRegex(concatenation(elements), { maxCharacter }, {}, nfa)
  const anything = repeated(classOf(any), 0, null)
  const containing = (parts: Alternatives): NFA =>
    automaton(anything, { type: 'Alternation', alternatives: withMarks(parts, any, mark) }, anything)

  const { conditions, rest } = leadingLookaheads(alternatives)
  const ofLength = automaton(mark(BEGINNING), repeated(classOf(written), min, max), mark(END))
  let strings = NFA.fromIntersection(ofLength, containing(rest), nfa)
  for (const { negate, parts } of conditions) {
    const found = containing(parts)
    strings = negate
      ? NFA.fromIntersection(strings, complement(found, dfa), nfa)
      : NFA.fromIntersection(strings, found, nfa)
  }
  const smallest = DFA.fromFA(strings, dfa)
  smallest.minimize()
  return smallest
}

const complement = (one: NFA, factory: DFA.LimitedNodeFactory): DFA => {
  const other = library().DFA.fromFA(one, factory)
  other.complement(factory)
  return other
}

/** States without the marks: the one behind the beginning is the start, those before the end end. */
const numbered = (automaton: DFA): StringAutomaton => {
  const start = automaton.initial.out.get(BEGINNING)
  if (automaton.isEmpty || start === undefined) throw new PatternFault('is found in no string of such a length.')
  const order = [start]
  const numbers = new Map([[start, 0]])
  return Array.from(
    (function* (): Generator<State> {
      for (const node of order) {
        const edges = new Map<number, (readonly [number, number])[]>()
        let ends = false
        for (const [{ min, max }, next] of node.out) {
          if (min === END) ends = true
          else {
            if (!numbers.has(next)) numbers.set(next, order.push(next) - 1)
            const to = numbers.get(next)!
            edges.set(to, [...(edges.get(to) ?? []), [min, max]])
          }
        }
        yield { ends, edges: [...edges].map(([to, ranges]) => ({ to, ranges })) }
      }
    })(),
  )
}
