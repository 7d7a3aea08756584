import { characters, choice, type GrammarNode, rule, sequence, text } from './grammar.ts'

/** As many digits as JSON readers keep of a whole number (2^53). */
const MAX_MAGNITUDE = 999_999_999_999_999
/** With its remainders, a factor makes as many rules for each digit. */
const MAX_REMAINDERS = 250

/**
 * Whole multiples of `factor` from `min` to `max`, both included (null: without end, 15 digits); null where there is none,
 * and 'too many' where the factor, without its zeros, makes too many rules.
 */
export const multiplesNode = (
  factor: number,
  min: number | null,
  max: number | null,
  rules: Map<string, GrammarNode>,
): GrammarNode | null | 'too many' => {
  let [base, zeros] = [factor, '']
  while (base % 10 === 0) [base, zeros] = [base / 10, `${zeros}0`]
  if (base > MAX_REMAINDERS) return 'too many'
  const [from, to] = [min ?? -MAX_MAGNITUDE, max ?? MAX_MAGNITUDE]
  const unit = 10 ** zeros.length
  const digits = digitRules(base, rules)
  const natural = (least: number, most: number): GrammarNode[] => {
    const low = Math.ceil(least / unit)
    const high = Math.floor(most / unit)
    return low > high ? [] : digits(low, high).map((node) => (zeros === '' ? node : sequence(node, text(zeros))))
  }
  const options: GrammarNode[] = []
  if (from <= 0 && to >= 0) options.push(text('0'))
  options.push(...natural(Math.max(from, 1), to))
  const negative = natural(Math.max(-to, 1), -from)
  if (negative.length > 0) options.push(sequence(text('-'), choice(...negative)))
  return options.length === 0 ? null : choice(...options)
}

/** Multiples of `base` between two natural numbers of at least 1, written digit by digit: a rule says what remains. */
const digitRules = (base: number, rules: Map<string, GrammarNode>) => {
  const prefix = `multiple-${rules.size}`
  const known = new Map<string, GrammarNode | null>([['0-0', text('')]])
  /** `left` digits that make a multiple of what leaves `remainder` before them; null where none do. */
  const free = (left: number, remainder: number): GrammarNode | null => {
    const name = `${left}-${remainder}`
    const before = left === 0 ? (known.get(name) ?? null) : known.get(name)
    if (before !== undefined) return before
    const node = step(remainder, [0, 9], (next) => free(left - 1, next))
    if (node !== null) rules.set(`${prefix}-${name}`, node)
    known.set(name, node === null ? null : rule(`${prefix}-${name}`))
    return known.get(name) ?? null
  }
  const step = (
    remainder: number,
    [first, last]: readonly [number, number],
    rest: (remainder: number, digit: number) => GrammarNode | null,
  ): GrammarNode | null => {
    const digitsBefore = new Map<GrammarNode, string[]>()
    for (let digit = first; digit <= last; digit++) {
      const node = rest((remainder * 10 + digit) % base, digit)
      if (node !== null) digitsBefore.set(node, [...(digitsBefore.get(node) ?? []), String(digit)])
    }
    if (digitsBefore.size === 0) return null
    return choice(...[...digitsBefore].map(([node, digits]) => sequence(characters(...digits), node)))
  }
  /** Of as many digits as both ends have; `above` and `under` say which of them can no longer be passed. */
  const between = (
    least: string,
    most: string,
    remainder: number,
    above: boolean,
    under: boolean,
  ): GrammarNode | null => {
    if (least === '' || (above && under)) return free(least.length, remainder)
    const [low, high] = [above ? 0 : Number(least[0]), under ? 9 : Number(most[0])]
    return step(remainder, [low, high], (next, digit) =>
      between(least.slice(1), most.slice(1), next, above || digit > low, under || digit < high),
    )
  }
  return (min: number, max: number): GrammarNode[] => {
    const options: GrammarNode[] = []
    for (let length = String(min).length; length <= String(max).length; length++) {
      const least = length === String(min).length ? String(min) : `1${'0'.repeat(length - 1)}`
      const most = length === String(max).length ? String(max) : '9'.repeat(length)
      const node = between(least, most, 0, false, false)
      if (node !== null) options.push(node)
    }
    return options
  }
}
