import { type CompiledSchema, MAX_ENDING } from './compile-schema.ts'
import { toGbnf } from './gbnf.ts'
import { type Grammar, type ReadGrammar, readGrammar } from './grammar.ts'
import { anyObject, JSON_RULES } from './json-nodes.ts'
import { type Costs, shortestCosts } from './shortest.ts'
import { endingCost, Walk } from './walk.ts'

/** What holds a model to a format, and ends what it wrote. */
export interface ResponseGrammar {
  /** In llama.cpp's notation (GBNF, rule 'root'). */
  readonly gbnf: string
  /** For one answer. */
  follow(): Closing
}

/** Follows one answer as it is written, so that it can be ended anywhere. */
export interface Closing {
  /**
   * Goes on with this text; false where the ending would then be longer than MAX_ENDING: the text is to be left out, and the
   * answer to be ended. Throws where the text does not belong to the grammar.
   */
  take(text: string): boolean
  /** The shortest text that makes of what was taken a whole and valid answer; '' where it is one. */
  ending(): string
}

const closing = (grammar: ReadGrammar, costs: Costs): Closing => {
  const walk = new Walk(grammar, costs)
  let readings = walk.start
  return {
    take: (text) => {
      const next = walk.after(readings, text)
      if (next.size === 0) throw new Error('This was not written under its grammar, so it has no ending.')
      if (endingCost(next) > MAX_ENDING) return false
      readings = next
      return true
    },
    ending: () => walk.ending(readings),
  }
}

const OBJECT: Grammar = { root: anyObject, rules: JSON_RULES }
const OBJECT_COSTS = shortestCosts(JSON_RULES)

/** Any JSON object. An ending says null where any value will do. */
export const jsonObject: ResponseGrammar = {
  gbnf: toGbnf(OBJECT),
  follow: () => closing(OBJECT, OBJECT_COSTS),
}

export const schemaResponse = ({ gbnf, grammar }: CompiledSchema): ResponseGrammar => {
  const read = readGrammar(grammar)
  return { gbnf, follow: () => closing(read.grammar, read.costs) }
}

/** Everything is a text. */
export const anyText: Closing = { take: () => true, ending: () => '' }
