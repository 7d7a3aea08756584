import { schemaFault } from './schema-fault.ts'

/** Each is checked against the whole vocabulary for each token. */
const MAX_READINGS = 100

/**
 * How many readings of a text may be open at once, for each rule of values that hold others: alternatives that begin alike are
 * all open until they differ, with everything inside them; one after another costs no more than the worst of them.
 */
export class Readings {
  readonly #rules = new Map<string, { readonly place: string; readonly own: number; readonly groups: Groups }>()

  /** `own` are open at the rule's beginning; then, of one group, all of its rules. */
  add(rule: string, place: string, own: number, groups: Groups): void {
    this.#rules.set(rule, { place, own, groups })
  }

  /** Throws for the place where they are too many, or where alternatives hold themselves and so have no end of them. */
  check(): void {
    const counts = new Map<string, number>()
    const countOf = (rule: string): number => counts.get(rule) ?? 1
    // Counts only grow, and none grows beyond the limit.
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
