import { characters, choice, type GrammarNode, optional, repeat, sequence, text } from './grammar.ts'

const DIGIT = characters('09')
/** Decimals of so many digits stay apart when they are read as doubles (IEEE 754): an open bound is not rounded to. */
export const DIGITS_APART = 15
const MAX_ZEROS = 6

/** A node, or null where nothing is left to write. */
type Maybe = GrammarNode | null

/**
 * What may follow a whole number's digits, '.' and all, so that the decimal lies between two bounds with that whole number: `from`
 * and `to` are the bounds' digits behind the point, without zeros at the end; `to` null: up to the next whole number.
 */
export const fractionsBetween = (
  whole: number,
  { from, fromOpen, to, toOpen }: { from: string; fromOpen: boolean; to: string | null; toOpen: boolean },
): Maybe => {
  const left = DIGITS_APART - String(whole).length
  const none = from === '' && !fromOpen && (to !== '' || !toOpen) ? text('') : null
  if (to === '') return none
  const digits = to === null ? digitsFrom(from, fromOpen, left) : digitsBetween(from, fromOpen, to, toOpen, left)
  return either(none, after('.', digits))
}

const either = (...options: readonly Maybe[]): Maybe => {
  const possible = options.filter((option) => option !== null)
  return possible.length === 0 ? null : choice(...possible)
}
const after = (first: string, then: Maybe): Maybe => then && sequence(text(first), then)

const some = (left: number): Maybe => (left > 0 ? repeat(DIGIT, 1, left) : null)
const any = (left: number): GrammarNode => (left > 0 ? repeat(DIGIT, 0, left) : text(''))

/** Digits that are not all zero. */
const positive = (left: number): Maybe => {
  if (left < 1) return null
  const zeros = Math.min(MAX_ZEROS, Math.floor((left - 1) / 2))
  return sequence(repeat(text('0'), 0, zeros), characters('19'), any(left - 1 - zeros))
}

/** One digit between two, themselves not included, and any others. */
const inside = (low: number, high: number, left: number): Maybe =>
  low + 1 < high ? sequence(characters(`${low + 1}${high - 1}`), any(left - 1)) : null

/** At least one digit; their decimal is at least, or above, that of `from`. */
const digitsFrom = (from: string, open: boolean, left: number): Maybe => {
  if (from === '') return open ? positive(left) : some(left)
  const rest = from.slice(1)
  const tail = rest === '' && !open ? any(left - 1) : digitsFrom(rest, open, left - 1)
  return either(inside(Number(from[0]), 10, left), after(from[0]!, tail))
}

/** At least one digit; their decimal is at most, or below, that of `to`, which is not ''. */
const digitsTo = (to: string, open: boolean, left: number): Maybe =>
  either(inside(-1, Number(to[0]), left), after(to[0]!, restTo(to.slice(1), open, left - 1)))

const restTo = (rest: string, open: boolean, left: number): Maybe => {
  if (rest === '') return open ? null : text('')
  const more = digitsTo(rest, open, left)
  return more === null ? text('') : optional(more)
}

const digitsBetween = (from: string, fromOpen: boolean, to: string, toOpen: boolean, left: number): Maybe => {
  const low = Number(from[0] ?? 0)
  const high = Number(to[0])
  const rest = from.slice(1)
  if (low === high) {
    const stop = rest === '' && !fromOpen ? text('') : null
    const onward = to.length === 1 ? null : digitsBetween(rest, fromOpen, to.slice(1), toOpen, left - 1)
    return after(to[0]!, either(stop, onward))
  }
  const lowTail = rest === '' && !fromOpen ? any(left - 1) : digitsFrom(rest, fromOpen, left - 1)
  return either(
    after(String(low), lowTail),
    inside(low, high, left),
    after(to[0]!, restTo(to.slice(1), toOpen, left - 1)),
  )
}
