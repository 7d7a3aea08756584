import type { CharSet, DFA, NFA } from 'refa'
import {
  BEGINNING,
  classesIn,
  classOf,
  concatenation,
  END,
  library,
  PatternFault,
  parsed,
  repeated,
  withClasses,
  withMarks,
} from './parse-pattern.ts'

/** The strings of some kind as a deterministic automaton. Its states are numbered breadth first; the first is the start. */
export type StringAutomaton = readonly State[]

export interface State {
  /** Whether a string may end here. */
  readonly ends: boolean
  readonly edges: readonly { readonly to: number; readonly characters: CharSet }[]
}

/** Lengths in characters (code points); `max` null is without end. */
export interface Lengths {
  readonly min: number
  readonly max: number | null
}

/** How many states the automata of one schema may have on the way, which bounds the time, too. */
const MAX_NFA_NODES = 6000
const MAX_DFA_NODES = 2000

/** What is left of that for a schema. */
export interface Budget {
  readonly nfa: NFA.LimitedNodeFactory
  readonly dfa: DFA.LimitedNodeFactory
}

export const newBudget = (): Budget => ({
  nfa: new (library().NFA.LimitedNodeFactory)(MAX_NFA_NODES),
  dfa: new (library().DFA.LimitedNodeFactory)(MAX_DFA_NODES),
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
 * The strings that `pattern` is found in (ECMA-262, as JSON Schema says) and that have such a length, without assertions but
 * ^ and $. Throws PatternFault.
 */
export const automatonOf = (pattern: string, lengths: Lengths, budget: Budget): StringAutomaton => {
  try {
    return smallestOf(pattern, lengths, budget)
  } catch (error) {
    if (!(error instanceof library().TooManyNodesError)) throw error
    throw new PatternFault(
      'needs too large an automaton, alone or with the others of this schema; say something simpler.',
    )
  }
}

const smallestOf = (pattern: string, { min, max }: Lengths, { nfa, dfa }: Budget): StringAutomaton => {
  const { CharBase, CharSet, DFA, NFA } = library()
  const { alternatives, maxCharacter } = parsed(pattern)
  const any = CharSet.all(maxCharacter)
  const written = any.intersect(CharSet.empty(maxCharacter).union(WRITTEN.filter((range) => range.max <= maxCharacter)))
  const [beginning, end] = [BEGINNING, END].map((mark) => CharSet.fromCharacter(maxCharacter, mark)) as [
    CharSet,
    CharSet,
  ]
  const anything = repeated(classOf(any), 0, null)
  const marked = withMarks(alternatives, any, (mark) => classOf(mark === BEGINNING ? beginning : end))
  const found = [concatenation([anything, { type: 'Alternation', alternatives: marked }, anything])]
  const ofLength = [concatenation([classOf(beginning), repeated(classOf(written), min, max), classOf(end)])]

  // The automata count classes that the pattern does not tell apart as one letter: \p{L} has hundreds of ranges.
  const letters = new CharBase(classesIn([...found, ...ofLength]))
  const last = Math.max(letters.sets.length - 1, 0)
  const lettersOf = (characters: CharSet): CharSet =>
    CharSet.empty(last).union(letters.split(characters).map((letter) => ({ min: letter, max: letter })))
  const automata = [ofLength, found].map((parts) =>
    NFA.fromRegex(withClasses(parts, lettersOf), { maxCharacter: last }, {}, nfa),
  ) as [NFA, NFA]
  const smallest = DFA.fromFA(NFA.fromIntersection(...automata, nfa), dfa)
  smallest.minimize()
  const charactersOf = (ranges: readonly number[]): CharSet =>
    CharSet.empty(maxCharacter).union(...ranges.map((letter) => letters.sets[letter]!))
  return numbered(smallest, lettersOf(beginning).ranges[0]!.min, lettersOf(end).ranges[0]!.min, charactersOf)
}

/** States without the marks: the one behind the beginning is the start, those before the end end. */
const numbered = (
  automaton: DFA,
  beginning: number,
  end: number,
  charactersOf: (letters: readonly number[]) => CharSet,
): StringAutomaton => {
  const start = automaton.initial.out.get(beginning)
  if (automaton.isEmpty || start === undefined) throw new PatternFault('is found in no string of such a length.')
  const order = [start]
  const numbers = new Map([[start, 0]])
  const known = new Map<string, CharSet>()
  const states: State[] = []
  for (const node of order) {
    const edges = new Map<number, number[]>()
    let ends = false
    for (const [{ min, max }, next] of node.out)
      for (let letter = min; letter <= max; letter++) {
        if (letter === end) {
          ends = true
          continue
        }
        if (!numbers.has(next)) numbers.set(next, order.push(next) - 1)
        const to = numbers.get(next)!
        edges.set(to, [...(edges.get(to) ?? []), letter])
      }
    states.push({
      ends,
      edges: [...edges].map(([to, letters]) => {
        const key = letters.join()
        const characters = known.get(key) ?? charactersOf(letters)
        known.set(key, characters)
        return { to, characters }
      }),
    })
  }
  return states
}
