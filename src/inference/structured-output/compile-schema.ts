import { toGbnf } from './gbnf.ts'
import { type Grammar, type ReadGrammar, readGrammar, writeGrammar } from './grammar.ts'
import { MAX_ENDING, withinLimits } from './grammar-limits.ts'
import { anyObject, JSON_RULES } from './json-nodes.ts'
import type { Schema } from './schema-fault.ts'
import { type SchemaGrammar, schemaGrammar } from './schema-grammar.ts'
import { type Costs, shortestCosts } from './shortest.ts'
import { type ToolGrammarRequest, toolGrammar } from './tool-grammar.ts'
import { endingCost, Walk } from './walk.ts'

/** What an engine needs to enforce a schema, as strings that can be sent between threads and processes. */
export interface CompiledSchema {
  /** Identical for identical schemas. */
  readonly key: string
  /** In llama.cpp's notation (GBNF, rule 'root'). */
  readonly gbnf: string
  /** The grammar with its rules' costs (writeGrammar), for completing text written under it. */
  readonly grammar: string
  /** The shortest valid answer. */
  readonly smallest: string
}

/** @throws InferenceError unsupported for a schema that cannot be enforced, or with too large a grammar or smallest answer */
export const compileSchema = (schema: Schema, key: string): CompiledSchema => compileGrammar(schemaGrammar(schema), key)

/** Like compileSchema, but for replies that call functions. */
export const compileTools = (request: ToolGrammarRequest, key: string): CompiledSchema =>
  compileGrammar(toolGrammar(request), key)

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

/** Enforces a format on a model, and completes what it wrote. */
export interface ResponseGrammar {
  /** In llama.cpp's notation (GBNF, rule 'root'). */
  readonly gbnf: string
  /** Follows one answer. */
  follow(): Closing
}

/** Follows one answer as it is written, so that it can be completed at any point. */
export interface Closing {
  /**
   * Appends text. Returns false if the ending would then exceed MAX_ENDING: omit the text and end the answer.
   * @throws Error if the text does not match the grammar
   */
  take(text: string): boolean
  /** Returns the shortest text that completes the answer; '' if it is already complete. */
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

/** Any JSON object. Endings use null if any value is valid. */
export const jsonObject: ResponseGrammar = {
  gbnf: toGbnf(OBJECT),
  follow: () => closing(OBJECT, OBJECT_COSTS),
}

export const schemaResponse = ({ gbnf, grammar }: CompiledSchema): ResponseGrammar => {
  const read = readGrammar(grammar)
  return { gbnf, follow: () => closing(read.grammar, read.costs) }
}
