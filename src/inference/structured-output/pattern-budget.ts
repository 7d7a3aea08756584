import { createRequire } from 'node:module'
import type { DFA, NFA } from 'refa'

/** Loading takes a tenth of a second, so it happens only for a schema with a pattern. Node caches the module. */
export const library = () => createRequire(import.meta.url)('refa') as typeof import('refa')

/** Limits the states that one schema's automata may have in between. */
const MAX_NFA_NODES = 6000
const MAX_DFA_NODES = 2000
/** A state of a DFA is a set of states of an NFA. This limits the sizes of all sets together, and thereby the time. */
const MAX_STEPS = 200_000

/** What the automata of one schema may cost together. Exceeding it throws refa's TooManyNodesError. */
export interface Budget {
  readonly nfa: NFA.LimitedNodeFactory
  readonly dfa: DFA.LimitedNodeFactory
  /** Returns the edges of an automaton for the construction of a DFA. */
  readonly steps: (automaton: NFA) => ReturnType<NFA['transitionIterator']>
}

export const createBudget = (): Budget => {
  const { DFA, NFA, TooManyNodesError } = library()
  let taken = 0
  return {
    nfa: new NFA.LimitedNodeFactory(MAX_NFA_NODES),
    dfa: new DFA.LimitedNodeFactory(MAX_DFA_NODES),
    steps: (automaton) => {
      const edges = automaton.transitionIterator()
      const getOut: typeof edges.getOut = (state) => {
        TooManyNodesError.assert(++taken, MAX_STEPS, 'DFA')
        return edges.getOut(state)
      }
      return { ...edges, getOut }
    },
  }
}
