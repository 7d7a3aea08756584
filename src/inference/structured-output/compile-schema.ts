import { toGbnf } from './gbnf.ts'
import { type Grammar, type ReadGrammar, readGrammar, writeGrammar } from './grammar.ts'
import { MAX_ENDING, withinLimits } from './grammar-limits.ts'
import { anyObject, JSON_RULES } from './json-nodes.ts'
import type { Schema } from './schema-fault.ts'
import { type SchemaGrammar, schemaGrammar } from './schema-grammar.ts'
import { type Costs, shortestCosts } from './shortest.ts'
import { type ToolOrder, toolGrammar } from './tool-grammar.ts'
import { endingCost, Walk } from './walk.ts'

/** What an engine needs to hold a model to a schema, as texts that travel between threads and processes. */
export interface CompiledSchema {
  /** The same for the same schema. */
  readonly key: string
  /** In llama.cpp's notation (GBNF, rule 'root'). */
  readonly gbnf: string
  /** The grammar and the costs of its rules (writeGrammar), for ending what was written under it. */
  readonly grammar: string
  /** The shortest valid answer. */
  readonly smallest: string
}

/** Throws InferenceError unsupported for a schema that cannot be kept, or whose grammar or smallest answer is too large. */
export const compileSchema = (schema: Schema, key: string): CompiledSchema => compileGrammar(schemaGrammar(schema), key)

/** The same for replies that call functions. */
export const compileTools = (order: ToolOrder, key: string): CompiledSchema => compileGrammar(toolGrammar(order), key)

const compileGrammar = (grammar: SchemaGrammar, key: string): CompiledSchema => {
  const { root, rules } = grammar
  const { gbnf, costs } = withinLimits(grammar)
  const walk = new Walk({ root, rules }, costs)
  return {
    key,
    gbnf,
    grammar: writeGrammar({ root, rules }, costs),
    smallest: walk.ending(walk.start),
  }
}

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
