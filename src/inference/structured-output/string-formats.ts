import { characters, choice, type GrammarNode, optional, repeat, sequence, text } from './grammar.ts'
import { wholeNumbers } from './number-range.ts'

const DIGIT = characters('09')
const HEX = characters('09', 'af')
const LETTER_OR_DIGIT = characters('az', 'AZ', '09')

const hex = (count: number) => repeat(HEX, count, count)

/** Two digits, from 00 or 01 to the last given. */
const two = (first: 0 | 1, last: number): GrammarNode => {
  const tens = Math.floor(last / 10)
  return choice(
    sequence(text('0'), characters(`${first}9`)),
    ...(tens > 1 ? [sequence(characters(`1${tens - 1}`), DIGIT)] : []),
    sequence(text(String(tens)), characters(`0${last % 10}`)),
  )
}

/** Days that every month has: a 31st of June would be no date. */
const DATE = sequence(repeat(DIGIT, 4, 4), text('-'), two(1, 12), text('-'), two(1, 28))
const TIME = sequence(
  two(0, 23),
  text(':'),
  two(0, 59),
  text(':'),
  two(0, 59),
  optional(sequence(text('.'), repeat(DIGIT, 1, 6))),
  choice(text('Z'), sequence(characters('++', '--'), two(0, 23), text(':'), two(0, 59))),
)
const OCTET = wholeNumbers(0, 255)
const LABEL = sequence(LETTER_OR_DIGIT, repeat(LETTER_OR_DIGIT, 0, 20))
const HOST = sequence(LABEL, repeat(sequence(text('.'), LABEL), 0, 4))
const WORD = repeat(characters('az', 'AZ', '09', '--', '__', '..', '~~'), 1, 40)
const COUNT = wholeNumbers(0, 9999)
const GROUP = repeat(HEX, 1, 4)

/** Units of a duration from the largest on, none left out in between: 1Y2M, 2M3D, 3D. */
const units = (first: string, ...smaller: readonly string[]): GrammarNode => {
  const [next, ...rest] = smaller
  const counted = sequence(COUNT, text(first))
  return next === undefined ? counted : sequence(counted, optional(units(next, ...rest)))
}
const CLOCK = sequence(text('T'), choice(units('H', 'M', 'S'), units('M', 'S'), units('S')))
const CALENDAR = choice(units('Y', 'M', 'D'), units('M', 'D'), units('D'))

/**
 * The values of 'format' that can be kept, as what stands between the quotes (RFC 3339 with its appendix A, 4122,
 * 2673, 4291; of 5321, 1123 and 3986 the plain forms).
 */
export const STRING_FORMATS: Readonly<Record<string, GrammarNode>> = {
  date: DATE,
  time: TIME,
  duration: sequence(text('P'), choice(CLOCK, sequence(CALENDAR, optional(CLOCK)), units('W'))),
  'date-time': sequence(DATE, text('T'), TIME),
  uuid: sequence(hex(8), text('-'), hex(4), text('-'), hex(4), text('-'), hex(4), text('-'), hex(12)),
  ipv4: sequence(OCTET, text('.'), OCTET, text('.'), OCTET, text('.'), OCTET),
  ipv6: sequence(GROUP, repeat(sequence(text(':'), GROUP), 7, 7)),
  hostname: HOST,
  uri: sequence(choice(text('https://'), text('http://')), HOST, repeat(sequence(text('/'), WORD), 0, 8)),
  email: sequence(
    LETTER_OR_DIGIT,
    repeat(characters('az', 'AZ', '09', '__'), 0, 40),
    text('@'),
    LABEL,
    repeat(sequence(text('.'), LABEL), 1, 4),
  ),
}
