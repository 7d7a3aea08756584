import { toGbnf } from './gbnf.ts'
import { schemaFault } from './schema-fault.ts'
import type { SchemaGrammar } from './schema-grammar.ts'
import { type Costs, costOf, shortestCosts } from './shortest.ts'

/** The maximum length of the smallest answer, and of any ending. */
export const MAX_ENDING = 64 * 1024
const MAX_GRAMMAR = 1024 * 1024
/** llama.cpp creates a rule for each possible repetition. */
const MAX_REPEATED = 10_000

/**
 * Returns the grammar in llama.cpp's notation and its rules' costs.
 * @throws InferenceError unsupported for a grammar that is too large or has no finite reply
 */
export const withinLimits = ({
  root,
  rules,
  places,
}: SchemaGrammar): { readonly gbnf: string; readonly costs: Costs } => {
  const costs = shortestCosts(rules)
  checkSmallest(costOf(root, costs), '')
  for (const [name, place] of places) checkSmallest(costs.get(name) ?? Number.POSITIVE_INFINITY, place)
  const gbnf = toGbnf({ root, rules })
  const repeated = [...gbnf.matchAll(/\{(\d+),(\d*)\}/g)].reduce((sum, [, min, max]) => sum + Number(max || min), 0)
  if (repeated > MAX_REPEATED) throw tooLarge(`${repeated} repetitions of items and characters`, MAX_REPEATED)
  if (gbnf.length > MAX_GRAMMAR) throw tooLarge(`a grammar of ${gbnf.length} characters`, MAX_GRAMMAR)
  return { gbnf, costs }
}

const tooLarge = (what: string, limit: number) =>
  schemaFault('', `it requires ${what}; at most ${limit} are supported. Simplify it, or reduce its lengths.`)

const checkSmallest = (cost: number, place: string): void => {
  if (cost === Number.POSITIVE_INFINITY)
    throw schemaFault(place, 'no value can be valid: the schema requires itself endlessly.')
  if (cost > MAX_ENDING)
    throw schemaFault(
      place,
      `the shortest valid value has ${cost} characters; at most ${MAX_ENDING} are supported. Reduce 'minItems', 'minLength', and 'required'.`,
    )
}
