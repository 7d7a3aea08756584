import { pointerTo } from '../../domain/json-pointer.ts'
import { choice, type GrammarNode, sequence, text } from './grammar.ts'
import { type Schema, schemaFault } from './schema-fault.ts'
import { constraintsOf } from './schema-keywords.ts'
import { typeOf, typesOf } from './schema-types.ts'

/** Returns the distinct values that 'const', 'enum', and 'type' allow, as JSON. The schema must have 'const' or 'enum'. */
export const constantsOf = (schema: Schema, place: string): readonly string[] => {
  const beside = constraintsOf(schema).find((keyword) => !['type', 'enum', 'const'].includes(keyword))
  if (beside !== undefined)
    throw schemaFault(
      place,
      `'${beside}' together with 'enum' or 'const' is not supported: remove the values it forbids instead.`,
    )
  const listed = schema.enum ?? [schema.const]
  if (!Array.isArray(listed) || listed.length === 0)
    throw schemaFault(pointerTo(place, 'enum'), 'expected a list of values.')
  const types = schema.type === undefined ? null : typesOf(schema, place)
  const ofType = listed.filter((value) => {
    const type = typeOf(value)
    return types === null || types.includes(type) || (type === 'integer' && types.includes('number'))
  })
  if (ofType.length === 0) throw schemaFault(place, `no value has the given 'type'.`)
  const values = new Set(ofType.map((value) => JSON.stringify(value)))
  if (schema.const === undefined) return [...values]
  const constant = JSON.stringify(schema.const)
  if (!values.has(constant)) throw schemaFault(pointerTo(place, 'const'), `expected one of the values of 'enum'.`)
  return [constant]
}

/** Matches one of the texts with a prefix tree, so that only one reading is open at a time. */
export const constantsNode = (values: readonly string[]): GrammarNode =>
  tree([...new Set(values)].map((value) => [...value]))

const tree = (values: readonly (readonly string[])[]): GrammarNode => {
  const byFirst = new Map<string, (readonly string[])[]>()
  for (const value of values) {
    const first = value[0] ?? ''
    const group = byFirst.get(first)
    if (group === undefined) byFirst.set(first, [value])
    else group.push(value)
  }
  return choice(...[...byFirst].map(([first, group]) => (first === '' ? text('') : branch(group))))
}

const branch = (values: readonly (readonly string[])[]): GrammarNode => {
  const [one, ...others] = values
  if (others.length === 0) return text(one!.join(''))
  let length = 1
  while (length < one!.length && others.every((other) => other[length] === one![length])) length++
  return sequence(text(one!.slice(0, length).join('')), tree(values.map((value) => value.slice(length))))
}
