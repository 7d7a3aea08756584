import type { ResponseFormat } from '../engine.ts'
import { toGbnf } from './gbnf.ts'
import type { Grammar } from './grammar.ts'
import { sequence } from './grammar.ts'
import { anyObject, JSON_RULES, LENIENT_RULES, space } from './json-nodes.ts'
import { schemaGrammar } from './schema-grammar.ts'
import { compileEndings } from './walk.ts'

const ANY_OBJECT: Grammar = { root: anyObject, rules: JSON_RULES }
const LENIENT_OBJECT: Grammar = { root: sequence(space, anyObject, space), rules: LENIENT_RULES }

const endLeniently = compileEndings(LENIENT_OBJECT)

/**
 * The grammar that holds a model to the format, in llama.cpp's notation (GBNF, rule 'root'); null for text. Throws
 * InferenceError unsupported for a schema that cannot be kept.
 */
export const grammarFor = (format: ResponseFormat): string | null => {
  if (format.type === 'text') return null
  return toGbnf(format.type === 'json_object' ? ANY_OBJECT : schemaGrammar(format.schema))
}

/** Refuses what a schema asks for and no grammar of ours can keep: InferenceError unsupported naming the keyword and its place. */
export const checkSchema = (schema: Readonly<Record<string, unknown>>): void => {
  schemaGrammar(schema)
}

/**
 * The shortest ending that makes the beginning of a JSON object a whole one; '' where it is whole. Missing values become null.
 * Throws where `text` is no beginning of a JSON object.
 */
export const closeJson = (text: string): string => {
  const ending = endLeniently(text)
  if (ending === null) throw new Error('This is not the beginning of a JSON object, so it has no ending.')
  return ending
}

/**
 * As closeJson, for what was written under the grammar of `format`: for a schema the whole is valid under it, with the
 * shortest values that it allows. '' for text.
 */
export const closerFor = (format: ResponseFormat): ((text: string) => string) => {
  if (format.type === 'text') return () => ''
  if (format.type === 'json_object') return closeJson
  const end = compileEndings(schemaGrammar(format.schema))
  return (text) => {
    const ending = end(text)
    if (ending === null) throw new Error('This was not written under the grammar of its schema, so it has no ending.')
    return ending
  }
}
