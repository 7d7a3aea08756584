import { MAX_REPETITIONS } from './gbnf.ts'
import { type GrammarNode, repeat } from './grammar.ts'
import { anyString, quotedString, stringCharacter } from './json-nodes.ts'
import { PatternFault } from './pattern/parse-pattern.ts'
import type { Lengths } from './pattern/string-automaton.ts'
import type { StringPatterns } from './pattern/string-patterns.ts'
import { below, countAt, type Schema, schemaFault, shown } from './schema-fault.ts'
import { STRING_FORMATS } from './string-formats.ts'

/** A string of some length, of a known format, or that a pattern is found in. */
export const stringNode = (schema: Schema, place: string, patterns: StringPatterns): GrammarNode => {
  const min = countAt(schema, 'minLength', place) ?? 0
  const max = countAt(schema, 'maxLength', place) ?? null
  if (max !== null && max < min) throw schemaFault(below(place, 'maxLength'), `must be at least 'minLength'.`)
  if (min > MAX_REPETITIONS) throw schemaFault(below(place, 'minLength'), `must be at most ${MAX_REPETITIONS}.`)
  if (schema.format !== undefined) {
    const beside = ['pattern', 'minLength', 'maxLength'].find((keyword) => schema[keyword] !== undefined)
    if (beside !== undefined)
      throw schemaFault(below(place, 'format'), `'${beside}' cannot be combined with it: leave one out.`)
    return quotedString(formatNode(schema.format, place))
  }
  if (schema.pattern !== undefined) return patternNode(schema.pattern, { min, max }, below(place, 'pattern'), patterns)
  if (min === 0 && max === null) return anyString
  return quotedString(repeat(stringCharacter, min, max === null ? null : Math.min(max, MAX_REPETITIONS)))
}

/** A string that the pattern at that place is found in. */
export const patternNode = (
  pattern: unknown,
  lengths: Lengths,
  place: string,
  patterns: StringPatterns,
): GrammarNode => {
  if (typeof pattern !== 'string') throw schemaFault(place, `got ${shown(pattern)}, which is not a regular expression.`)
  try {
    return patterns(pattern, lengths)
  } catch (error) {
    if (error instanceof PatternFault) throw schemaFault(place, `got ${shown(pattern)}, which ${error.message}`)
    throw error
  }
}

const formatNode = (format: unknown, place: string): GrammarNode => {
  const name = String(format)
  const node = Object.hasOwn(STRING_FORMATS, name) ? STRING_FORMATS[name] : undefined
  if (node !== undefined) return node
  const known = Object.keys(STRING_FORMATS).join(', ')
  throw schemaFault(below(place, 'format'), `got ${shown(format)}; supported are ${known}.`)
}
