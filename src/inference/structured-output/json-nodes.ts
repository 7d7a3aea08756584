import { characters, choice, type GrammarNode, optional, reluctant, repeat, rule, sequence, text } from './grammar.ts'

const DIGIT = characters('09')
const DIGIT_1_TO_9 = characters('19')
const HEX = characters('09', 'af', 'AF')

/** All characters except quotes, backslashes, and control characters. The hyphen is first because endings use the first one. */
const PLAIN = characters('--', ' !', '#,', '.[', ']~', '\u00a0\ud7ff', '\ue000\u{10ffff}')
const ESCAPED = characters('""', '\\\\', '//', 'bb', 'ff', 'nn', 'rr', 'tt')
/** One character of a string that a model writes. Unpaired surrogates are excluded: a pair would count as two. */
const STRING_CHARACTER = choice(
  PLAIN,
  sequence(
    text('\\'),
    choice(
      ESCAPED,
      sequence(
        text('u'),
        choice(
          sequence(characters('09', 'ac', 'ef', 'AC', 'EF'), repeat(HEX, 3, 3)),
          sequence(characters('dd', 'DD'), characters('07'), repeat(HEX, 2, 2)),
        ),
      ),
    ),
  ),
)

/** The whitespace between JSON tokens, limited to a space, or a new line with its indent. */
const SPACE = choice(text(''), text(' '), sequence(text('\n'), repeat(characters('  ', '\t\t'), 0, 20)))

const FRACTION = sequence(text('.'), repeat(DIGIT, 1, 15))
const EXPONENT = sequence(characters('ee', 'EE'), optional(characters('++', '--')), repeat(DIGIT, 1, 2))
export const WHOLE = choice(text('0'), sequence(DIGIT_1_TO_9, repeat(DIGIT, 0, 14)))

/** If any value is valid, endings use null, which claims nothing. These costs keep shorter values from being used. */
const BEFORE_NULL = 10

export const space = rule('space')
export const anyValue = rule('value')
export const anyObject = rule('object')
export const anyArray = rule('array')
export const anyString = rule('string')
export const anyNumber = rule('number')
export const anyInteger = rule('integer')
export const stringCharacter = rule('character')

const comma = sequence(text(','), space)

/** Repeats `part`, separated by commas. */
export const list = (part: GrammarNode, min: number, max: number | null): GrammarNode => {
  if (max === 0) return text('')
  const some = sequence(part, repeat(sequence(comma, part), Math.max(0, min - 1), max === null ? null : max - 1))
  return min === 0 ? optional(some) : some
}

/** Puts `inner` in brackets, with room for whitespace after the first and before the last. */
export const bracketed = (open: string, inner: GrammarNode, close: string): GrammarNode =>
  sequence(text(open), space, inner, text(close))

export const quotedString = (inner: GrammarNode): GrammarNode => sequence(text('"'), inner, text('"'))

const member = sequence(anyString, text(':'), space, anyValue)

/** Rules for any JSON that a model may write. */
export const JSON_RULES: ReadonlyMap<string, GrammarNode> = new Map([
  ['space', SPACE],
  ['character', STRING_CHARACTER],
  ['string', quotedString(repeat(stringCharacter, 0, null))],
  ['integer', sequence(optional(text('-')), WHOLE)],
  ['number', sequence(anyInteger, optional(FRACTION), optional(EXPONENT))],
  ['object', bracketed('{', optional(sequence(list(member, 1, null), space)), '}')],
  ['array', bracketed('[', optional(sequence(list(anyValue, 1, null), space)), ']')],
  [
    'value',
    choice(
      text('null'),
      reluctant(choice(anyString, anyNumber, anyObject, anyArray, text('true'), text('false')), BEFORE_NULL),
    ),
  ],
])
