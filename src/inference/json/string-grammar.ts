import { MOST_REPETITIONS } from './gbnf.ts'
import { type GrammarNode, repeat } from './grammar.ts'
import { anyString, quotedString, stringCharacter } from './json-nodes.ts'
import { below, countAt, type Schema, schemaFault, shown } from './schema-fault.ts'
import { STRING_FORMATS } from './string-formats.ts'

/** A string of some length, or of a known format. */
export const stringNode = (schema: Schema, place: string): GrammarNode => {
  const min = countAt(schema, 'minLength', place) ?? 0
  const max = countAt(schema, 'maxLength', place) ?? null
  if (max !== null && max < min) throw schemaFault(below(place, 'maxLength'), `stands less than 'minLength'.`)
  if (min > MOST_REPETITIONS) throw schemaFault(below(place, 'minLength'), `stands more than ${MOST_REPETITIONS}.`)
  if (schema.format !== undefined) {
    if (min > 0 || max !== null) throw schemaFault(below(place, 'format'), `lengths stand beside it: leave them out.`)
    return quotedString(formatNode(schema.format, place))
  }
  if (min === 0 && max === null) return anyString
  return quotedString(repeat(stringCharacter, min, max === null ? null : Math.min(max, MOST_REPETITIONS)))
}

const formatNode = (format: unknown, place: string): GrammarNode => {
  const name = String(format)
  const node = Object.hasOwn(STRING_FORMATS, name) ? STRING_FORMATS[name] : undefined
  if (node !== undefined) return node
  const known = Object.keys(STRING_FORMATS).join(', ')
  throw schemaFault(below(place, 'format'), `stands ${shown(format)}; supported are ${known}.`)
}
