import { choice, type GrammarNode, rule, sequence, text } from './grammar.ts'
import { bracketed, space } from './json-nodes.ts'

/** Each set of values that were written is a rule: 256 of them. */
export const MOST_UNIQUE = 8

/** An array of `min` to `max` of these values (as JSON, at most MOST_UNIQUE), none twice, in any order. */
export const uniqueItemsNode = (
  values: readonly string[],
  min: number,
  max: number,
  rules: Map<string, GrammarNode>,
): GrammarNode => {
  const prefix = `unique-${rules.size}`
  const after = (written: number, count: number): GrammarNode => {
    const name = `${prefix}-${written}`
    if (rules.has(name)) return rule(name)
    rules.set(name, text(''))
    const more = values.flatMap((value, i) => {
      if ((written & (1 << i)) !== 0 || count === max) return []
      const item = sequence(text(value), after(written | (1 << i), count + 1))
      return [count === 0 ? item : sequence(text(','), space, item)]
    })
    const end = count === 0 ? text('') : space
    rules.set(name, choice(...(count >= min ? [end] : []), ...more))
    return rule(name)
  }
  return bracketed('[', after(0, 0), ']')
}
