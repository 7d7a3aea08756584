import { pointerTo } from '../../domain/json-pointer.ts'
import { ownEntry } from '../../domain/own-entry.ts'
import { type Schema, schemaFault } from './schema-fault.ts'

const words = (list: string): ReadonlySet<string> => new Set(list.split(/\s+/))

/** Keywords that only describe (JSON Schema 2020-12, parts 8 and 9 of the core and the meta-data of validation). */
const DESCRIPTIONS = words(
  `$schema $id $comment $defs definitions $anchor title description default example examples deprecated readOnly writeOnly
  discriminator`,
)
const KEPT = words(
  `type const enum oneOf anyOf allOf $ref properties required additionalProperties items prefixItems minItems maxItems
  minLength maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf`,
)
/** Unsupported keywords with a value that has no effect, as people write them. */
const WITHOUT_EFFECT: Readonly<Record<string, unknown>> = {
  nullable: false,
  strict: true,
  uniqueItems: false,
  minProperties: 0,
}
const HINTS: Readonly<Record<string, string>> = {
  nullable: "Use 'type': ['...', 'null'] instead.",
  not: "Describe what is allowed with 'anyOf' or 'enum'.",
  unevaluatedProperties: "Use 'additionalProperties' instead.",
  patternProperties: "List the 'properties', or describe all values with 'additionalProperties'.",
  propertyNames: "List the 'properties'.",
  minProperties: "List the properties in 'required'.",
  if: "List the cases with 'anyOf'.",
  dependentRequired: "List the cases with 'anyOf'.",
}

/** Refuses every keyword that the grammars cannot enforce. */
export const checkKeywords = (schema: Schema, place: string): void => {
  for (const [keyword, value] of Object.entries(schema)) {
    if (value === undefined || DESCRIPTIONS.has(keyword) || KEPT.has(keyword) || keyword.startsWith('x-')) continue
    if (ownEntry(WITHOUT_EFFECT, keyword) === value) continue
    // Names are always strings. Schema libraries write this for maps.
    if (keyword === 'propertyNames' && JSON.stringify(value) === '{"type":"string"}') continue
    // Properties other than the named ones are never written.
    if (keyword === 'unevaluatedProperties' && value === false && schema.properties !== undefined) continue
    // Nor are items after those of a tuple.
    if (keyword === 'additionalItems' && Array.isArray(schema.items)) continue
    const hint = ownEntry(HINTS, keyword) ?? 'Leave it out, and check the reply yourself.'
    throw schemaFault(pointerTo(place, keyword), `the keyword '${keyword}' is not supported. ${hint}`)
  }
}

/** Returns the keywords of a schema that constrain it. */
export const constraintsOf = (schema: Schema): readonly string[] =>
  Object.keys(schema).filter((keyword) => KEPT.has(keyword) && schema[keyword] !== undefined)
