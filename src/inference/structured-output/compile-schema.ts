import { toGbnf } from './gbnf.ts'
import { writeGrammar } from './grammar.ts'
import { type Schema, schemaFault } from './schema-fault.ts'
import { type SchemaGrammar, schemaGrammar } from './schema-grammar.ts'
import { costOf, shortestCosts } from './shortest.ts'
import { type ToolOrder, toolGrammar } from './tool-grammar.ts'
import { Walk } from './walk.ts'

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

/** Of the smallest answer, and of the ending of any other. */
export const MAX_ENDING = 64 * 1024
const MAX_GRAMMAR = 1024 * 1024
/** llama.cpp makes a rule for each repetition that is possible. */
const MAX_REPEATED = 10_000

/** Throws InferenceError unsupported for a schema that cannot be kept, or whose grammar or smallest answer is too large. */
export const compileSchema = (schema: Schema, key: string): CompiledSchema => compileGrammar(schemaGrammar(schema), key)

/** The same for replies that call functions. */
export const compileTools = (order: ToolOrder, key: string): CompiledSchema => compileGrammar(toolGrammar(order), key)

const compileGrammar = ({ root, rules, places }: SchemaGrammar, key: string): CompiledSchema => {
  const costs = shortestCosts(rules)
  checkSmallest(costOf(root, costs), '')
  for (const [name, place] of places) checkSmallest(costs.get(name) ?? Number.POSITIVE_INFINITY, place)
  const gbnf = toGbnf({ root, rules })
  const repeated = [...gbnf.matchAll(/\{(\d+),(\d*)\}/g)].reduce((sum, [, min, max]) => sum + Number(max || min), 0)
  if (repeated > MAX_REPEATED) throw tooLarge(`${repeated} repetitions of items and characters`, MAX_REPEATED)
  if (gbnf.length > MAX_GRAMMAR) throw tooLarge(`a grammar of ${gbnf.length} characters`, MAX_GRAMMAR)
  const walk = new Walk({ root, rules }, costs)
  return {
    key,
    gbnf,
    grammar: writeGrammar({ root, rules }, costs),
    smallest: walk.ending(walk.start),
  }
}

const tooLarge = (what: string, limit: number) =>
  schemaFault('', `it makes ${what}, and at most ${limit} are supported. Make it simpler, or its lengths smaller.`)

const checkSmallest = (cost: number, place: string): void => {
  if (cost === Number.POSITIVE_INFINITY) throw schemaFault(place, 'nothing can be valid: it needs itself without end.')
  if (cost > MAX_ENDING)
    throw schemaFault(
      place,
      `the shortest valid value has ${cost} characters, and at most ${MAX_ENDING} are supported. Ask for less: see 'minItems', 'minLength' and 'required'.`,
    )
}
