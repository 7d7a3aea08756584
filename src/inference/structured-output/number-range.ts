import { characters, choice, type GrammarNode, optional, repeat, rule, sequence, text } from './grammar.ts'

const DIGIT = characters('09')
/** JSON readers do not keep more than these 15 digits (2^53), so a model may not write more. */
const MAX_MAGNITUDE = 999_999_999_999_999
/** Decimals with this many digits are distinct as doubles (IEEE 754), so none is rounded to an open bound. */
const DIGITS_APART = 15
const MAX_ZEROS = 6

/**
 * Matches whole multiples of `factor` from `min` to `max`, inclusive (infinite: 15 digits); null if there are none. A factor
 * adds as many `rules` per digit as it has remainders, not counting its trailing zeros.
 */
export const wholeNumbers = (
  min: number,
  max: number,
  factor = 1,
  rules = new Map<string, GrammarNode>(),
): GrammarNode | null => {
  const from = Math.max(min, -Math.max(MAX_MAGNITUDE, -max))
  const to = Math.min(max, Math.max(MAX_MAGNITUDE, min))
  const [, base, zeros] = /^(.*?)(0*)$/.exec(String(factor)) as unknown as [string, string, string]
  const unit = Number(`1${zeros}`)
  const naturals = digitRules(Number(base), rules)
  const multiples = (least: number, most: number): GrammarNode[] =>
    naturals(Math.ceil(least / unit), Math.floor(most / unit)).map((node) =>
      zeros === '' ? node : sequence(node, text(zeros)),
    )
  const negative = multiples(Math.max(-to, 1), -from)
  const options = [
    ...(from <= 0 && to >= 0 ? [text('0')] : []),
    ...multiples(Math.max(from, 1), to),
    ...(negative.length > 0 ? [sequence(text('-'), choice(...negative))] : []),
  ]
  return options.length === 0 ? null : choice(...options)
}

/** Matches multiples of `base` between two natural numbers of at least 1, with one alternative per number of digits. */
const digitRules = (base: number, rules: Map<string, GrammarNode>) => {
  const prefix = `multiple-${rules.size}`
  const known = new Map<string, GrammarNode | null>()
  /** Matches `left` digits that complete a multiple after digits with this `remainder`; null if there are none. */
  const free = (left: number, remainder: number): GrammarNode | null => {
    const name = `${prefix}-${left}-${remainder}`
    const before = known.get(name)
    if (before !== undefined) return before
    const node = freeNode(left, remainder)
    const named = node === null || left === 0 || base === 1 ? node : rule(name)
    if (named !== node) rules.set(name, node!)
    known.set(name, named)
    return named
  }
  const freeNode = (left: number, remainder: number): GrammarNode | null => {
    if (left === 0) return remainder === 0 ? text('') : null
    if (base === 1) return repeat(DIGIT, left, left)
    return step(remainder, '0', '9', (next) => free(left - 1, next))
  }
  const step = (
    remainder: number,
    first: string,
    last: string,
    rest: (remainder: number, digit: number) => GrammarNode | null,
  ): GrammarNode | null => {
    const digitsBefore = new Map<GrammarNode, string[]>()
    for (let digit = Number(first); digit <= Number(last); digit++) {
      const node = rest((remainder * 10 + digit) % base, digit)
      if (node !== null) digitsBefore.set(node, [...(digitsBefore.get(node) ?? []), String(digit)])
    }
    if (digitsBefore.size === 0) return null
    return choice(...[...digitsBefore].map(([node, digits]) => sequence(characters(...digits), node)))
  }
  /** Both bounds have the same number of digits. */
  const between = (least: string, most: string, remainder: number): GrammarNode | null => {
    if (/^0*$/.test(least) && /^9*$/.test(most)) return free(least.length, remainder)
    const [low, high] = [least[0]!, most[0]!]
    return step(remainder, low, high, (next, digit) =>
      between(
        digit > Number(low) ? '0'.repeat(least.length - 1) : least.slice(1),
        digit < Number(high) ? '9'.repeat(most.length - 1) : most.slice(1),
        next,
      ),
    )
  }
  return (min: number, max: number): GrammarNode[] => {
    if (min > max) return []
    const [shortest, longest] = [String(min), String(max)]
    return Array.from({ length: longest.length - shortest.length + 1 }, (_, i) => {
      const digits = shortest.length + i
      const least = i === 0 ? shortest : `1${'0'.repeat(digits - 1)}`
      return between(least, digits === longest.length ? longest : '9'.repeat(digits), 0)
    }).filter((node) => node !== null)
  }
}

/** Whole numbers or infinite. An open bound is excluded. */
export interface Bounds {
  readonly min: number
  readonly minOpen: boolean
  readonly max: number
  readonly maxOpen: boolean
}

/** Matches decimal numbers within bounds, without an exponent; null if there are none. */
export const numbersWithin = ({ min, minOpen, max, maxOpen }: Bounds): GrammarNode | null => {
  const positive =
    max > 0 || (max === 0 && !maxOpen) ? decimals(Math.max(min, 0), min >= 0 && minOpen, max, maxOpen) : []
  const negative = min < 0 ? decimals(Math.max(-max, 0), max >= 0 || maxOpen, -min, minOpen) : []
  const options = [...positive, ...(negative.length > 0 ? [sequence(text('-'), choice(...negative))] : [])]
  return options.length === 0 ? null : choice(...options)
}

/** Alternatives for decimal numbers from `min` >= 0 on; none if an open bound excludes everything. */
const decimals = (min: number, minOpen: boolean, max: number, maxOpen: boolean): GrammarNode[] => {
  const high = Math.min(max, Math.max(MAX_MAGNITUDE, min + 1))
  const atMax = maxOpen ? [] : [text(String(high))]
  if (min === high) return minOpen ? [] : atMax
  // More digits may be read as the next whole number, which an open bound excludes.
  const digits = maxOpen ? DIGITS_APART - String(high).length : DIGITS_APART
  const fraction = digits > 0 ? optional(sequence(text('.'), repeat(DIGIT, 1, digits))) : text('')
  const aboveMin = minOpen ? aboveZero(DIGITS_APART - String(min).length) : fraction
  const between = wholeNumbers(min + 1, high - 1)
  return [
    ...(aboveMin === null ? [] : [sequence(text(String(min)), aboveMin)]),
    ...(between === null ? [] : [sequence(between, fraction)]),
    ...atMax,
  ]
}

/** Matches a fraction that is not zero; null if there is no room for one. */
const aboveZero = (digits: number): GrammarNode | null => {
  if (digits < 1) return null
  const zeros = Math.min(MAX_ZEROS, Math.floor((digits - 1) / 2))
  const rest = digits - 1 - zeros
  const more = rest > 0 ? [repeat(DIGIT, 0, rest)] : []
  return sequence(text('.'), ...(zeros > 0 ? [repeat(text('0'), 0, zeros)] : []), characters('19'), ...more)
}
