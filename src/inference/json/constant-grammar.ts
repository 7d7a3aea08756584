import { choice, type GrammarNode, text } from './grammar.ts'
import { below, type Schema, schemaFault } from './schema-fault.ts'
import { constraintsOf } from './schema-keywords.ts'
import { typeOf, typesOf } from './schema-types.ts'

/** The value of 'const' or one of 'enum', or of both where both stand, of a type that stands beside. */
export const constantNode = (schema: Schema, place: string): GrammarNode =>
  choice(...constantsOf(schema, place).map(text))

/** The values that 'const', 'enum' and 'type' leave, each as JSON and once. At least one of 'const' and 'enum' is there. */
export const constantsOf = (schema: Schema, place: string): readonly string[] => {
  const beside = constraintsOf(schema).find((keyword) => !['type', 'enum', 'const'].includes(keyword))
  if (beside !== undefined) throw schemaFault(place, `'${beside}' stands beside constants: leave out those it forbids.`)
  const listed = schema.enum ?? [schema.const]
  if (!Array.isArray(listed) || listed.length === 0)
    throw schemaFault(below(place, 'enum'), 'stands no list of values.')
  const values = [...new Set(listed.map((value) => JSON.stringify(value)))]
  const types = schema.type === undefined ? null : typesOf(schema, place)
  const ofType = values.filter((value) => {
    const type = typeOf(JSON.parse(value))
    return types === null || types.includes(type) || (type === 'integer' && types.includes('number'))
  })
  if (ofType.length === 0) throw schemaFault(place, `no value is of the 'type' that stands beside.`)
  if (schema.const === undefined) return ofType
  const constant = JSON.stringify(schema.const)
  if (!ofType.includes(constant)) throw schemaFault(below(place, 'const'), `stands none of the values of 'enum'.`)
  return [constant]
}
