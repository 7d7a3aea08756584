import { characters, choice, type GrammarNode, optional, repeat, sequence, text } from './grammar.ts'

const DIGIT = characters('09')
/** Digits beyond these 15 are not kept by JSON readers (2^53), so a model is not let write them. */
const MAX_MAGNITUDE = 999_999_999_999_999
/** Decimals of so many digits stay apart when they are read as doubles (IEEE 754): an open bound is not rounded to. */
const DIGITS_APART = 15
const MAX_ZEROS = 6

/** Whole numbers from `min` to `max`, both included; null is without end (15 digits). There is at least one. */
export const wholeNumbers = (min: number | null, max: number | null): GrammarNode => {
  const from = min ?? -Math.max(MAX_MAGNITUDE, Math.abs(max ?? 0))
  const to = max ?? Math.max(MAX_MAGNITUDE, Math.abs(min ?? 0))
  const options: GrammarNode[] = []
  if (to >= 0) options.push(naturals(Math.max(from, 0), to))
  if (from < 0) options.push(sequence(text('-'), naturals(Math.max(-to, 1), -from)))
  return choice(...options)
}

/** Whole numbers; an open one is not itself included. */
export interface Bounds {
  readonly min: number | null
  readonly minOpen: boolean
  readonly max: number | null
  readonly maxOpen: boolean
}

/** Decimal numbers within bounds that are written without an exponent; null where nothing lies between them. */
export const numbersWithin = ({ min, minOpen, max, maxOpen }: Bounds): GrammarNode | null => {
  const options: GrammarNode[] = []
  if (max === null || max > 0 || (max === 0 && !maxOpen)) {
    const fromZero = min === null || min < 0
    options.push(...decimals(fromZero ? 0 : min, !fromZero && minOpen, max, maxOpen))
  }
  if (min === null || min < 0) {
    const toZero = max === null || max > 0
    const mirrored = decimals(toZero ? 0 : -max, toZero || maxOpen || max === 0, min === null ? null : -min, minOpen)
    if (mirrored.length > 0) options.push(sequence(text('-'), choice(...mirrored)))
  }
  return options.length === 0 ? null : choice(...options)
}

/** Decimal numbers from `min` >= 0 on, in so many alternatives; none where an open bound leaves nothing. */
const decimals = (min: number, minOpen: boolean, max: number | null, maxOpen: boolean): GrammarNode[] => {
  const high = max ?? Math.max(MAX_MAGNITUDE, min + 1)
  const atMax = maxOpen ? [] : [text(String(high))]
  if (min === high) return minOpen ? [] : atMax
  // Longer ones may be read as the next whole number, which an open bound excludes.
  const digits = maxOpen ? DIGITS_APART - String(high).length : DIGITS_APART
  const fraction = digits > 0 ? optional(sequence(text('.'), repeat(DIGIT, 1, digits))) : text('')
  const aboveMin = minOpen ? aboveZero(DIGITS_APART - String(min).length) : fraction
  const between = min + 1 < high ? [sequence(naturals(min + 1, high - 1), fraction)] : []
  return [...(aboveMin === null ? [] : [sequence(text(String(min)), aboveMin)]), ...between, ...atMax]
}

/** A fraction whose digits are not all zero; null where there is no room for one. */
const aboveZero = (digits: number): GrammarNode | null => {
  if (digits < 1) return null
  const zeros = Math.min(MAX_ZEROS, Math.floor((digits - 1) / 2))
  const rest = digits - 1 - zeros
  const more = rest > 0 ? [repeat(DIGIT, 0, rest)] : []
  return sequence(text('.'), ...(zeros > 0 ? [repeat(text('0'), 0, zeros)] : []), characters('19'), ...more)
}

/** Whole numbers from `min` >= 0 to `max`, without leading zeros: one alternative for each number of digits. */
const naturals = (min: number, max: number): GrammarNode => {
  const options: GrammarNode[] = []
  for (let digits = String(min).length; digits <= String(max).length; digits++) {
    const least = digits === String(min).length ? String(min) : `1${'0'.repeat(digits - 1)}`
    const most = digits === String(max).length ? String(max) : '9'.repeat(digits)
    options.push(sameLength(least, most))
  }
  return choice(...options)
}

/** Numbers with the same count of digits: their first digits apart, the rest bounded only below the outer two. */
const sameLength = (least: string, most: string): GrammarNode => {
  if (least === most) return text(least)
  if (/^0*$/.test(least) && /^9*$/.test(most)) return repeat(DIGIT, least.length, least.length)
  const [low, high] = [least[0]!, most[0]!]
  const rest = least.length - 1
  if (low === high) return sequence(text(low), sameLength(least.slice(1), most.slice(1)))
  if (rest === 0) return characters(low + high)
  const options: GrammarNode[] = []
  let from = Number(low)
  let to = Number(high)
  if (!/^0*$/.test(least.slice(1))) {
    options.push(sequence(text(low), sameLength(least.slice(1), '9'.repeat(rest))))
    from++
  }
  if (!/^9*$/.test(most.slice(1))) {
    options.push(sequence(text(high), sameLength('0'.repeat(rest), most.slice(1))))
    to--
  }
  if (from <= to) options.push(sequence(characters(`${from}${to}`), repeat(DIGIT, rest, rest)))
  return choice(...options)
}
