import { schemaFault } from './schema-fault.ts'

/** Each reading is checked against the whole vocabulary for each token. */
const MAX_READINGS = 100

/**
 * Counts how many readings of a text may be open at once, for each rule of values that contain others. Alternatives that start
 * the same way are all open until they differ, with everything inside them. Alternatives in sequence cost no more than the
 * worst of them.
 */
export class Readings {
  readonly #rules = new Map<string, { readonly place: string; readonly own: number; readonly groups: Groups }>()

  /** `own` readings are open at the start of the rule, later those of all rules in one group. */
  add(rule: string, place: string, own: number, groups: Groups): void {
    this.#rules.set(rule, { place, own, groups })
  }

  /** Throws for a place with too many readings, or with alternatives that contain themselves and are therefore unlimited. */
  check(): void {
    const counts = new Map<string, number>()
    const countOf = (rule: string): number => counts.get(rule) ?? 1
    // Terminates: counts only grow, and none exceeds the limit.
    for (let changed = true; changed; ) {
      changed = false
      for (const [rule, { place, own, groups }] of this.#rules) {
        let count = own
        for (const group of groups)
          count = Math.max(
            count,
            group.reduce((sum, one) => sum + countOf(one), 0),
          )
        if (count > MAX_READINGS)
          throw schemaFault(
            place,
            `more than ${MAX_READINGS} alternatives are open at once. Let each begin with a required property that has its own 'const'.`,
          )
        if (count === counts.get(rule)) continue
        counts.set(rule, count)
        changed = true
      }
    }
  }
}

type Groups = readonly (readonly string[])[]
