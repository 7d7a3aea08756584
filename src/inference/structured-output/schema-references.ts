import { isObject } from '../../domain/is-object.ts'
import { pointerTo, stepsOf } from '../../domain/json-pointer.ts'
import { type Schema, schemaFault, shown } from './schema-fault.ts'

/** Returns the target of the reference (`$ref`) at `place` within one schema. */
export type Follow = (reference: unknown, place: string) => { readonly schema: unknown; readonly place: string }

/** `schemas` are those that were counted. Anything else, such as an example, is not a schema. */
export const referencesIn =
  (root: Schema, schemas: ReadonlySet<unknown>): Follow =>
  (reference, place) => {
    const pointer = pointerOf(reference, place)
    let at: unknown = root
    for (const key of stepsOf(pointer)) {
      const inside = typeof at === 'object' && at !== null && Object.hasOwn(at, key)
      if (!inside) throw schemaFault(pointerTo(place, '$ref'), `got '#${pointer}', which is not in this schema.`)
      at = (at as Record<string, unknown>)[key]
    }
    if (isObject(at) && !schemas.has(at))
      throw schemaFault(
        pointerTo(place, '$ref'),
        `got '#${pointer}', where no schema is expected. Put it under '$defs'.`,
      )
    return { schema: at, place: pointer }
  }

/** Parses a JSON pointer in a URL fragment (RFC 6901, section 6). */
const pointerOf = (reference: unknown, place: string): string => {
  const pointer = typeof reference === 'string' && /^#(\/|$)/.test(reference) ? decoded(reference.slice(1)) : null
  if (pointer !== null) return pointer
  throw schemaFault(pointerTo(place, '$ref'), `got ${shown(reference)}; only '#/...' inside this schema is supported.`)
}

const decoded = (fragment: string): string | null => {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return null
  }
}
