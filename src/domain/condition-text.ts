import { DEVICE_FIELD_NAMES, type DeviceCondition, type FilterOp, isDeviceField, type Scalar } from './device-filter.ts'
import { infiniteIn } from './infinite-number.ts'
import { meantBy } from './misspelling.ts'
import { jsonOrNull } from './parse-json.ts'

/** The operators of conditions as text; `==` is `=`, too. */
const SIGNS: readonly (readonly [sign: string, op: FilterOp])[] = [
  ['!=', 'ne'],
  ['<=', 'lte'],
  ['>=', 'gte'],
  ['^=', 'prefix'],
  ['=', 'eq'],
  ['<', 'lt'],
  ['>', 'gt'],
]

const NAME = '(?:\\\\.|[^\\\\=!<>^()\\s])(?:\\\\.|[^\\\\=!<>^()])*?'
/** A value that begins with a sign, as in `memory=>6`, is a mistake unless it is quoted. */
const COMPARISON = new RegExp(`^(${NAME})\\s*(!=|<=|>=|\\^=|==?|<|>)(?!\\s*[=<>])\\s*(.*)$`, 'su')
const MEMBERSHIP = new RegExp(`^(${NAME})\\s+in\\s*\\((.*)\\)$`, 'su')
/** The values of a list; commas may be in quotes. */
const LISTED = /\s*"(?:\\.|[^"\\])*"\s*(?=,|$)|[^,]+/gsu
const EXISTENCE = /^(!?)((?:\\.|[^\\=!<>^()\s])+)$/su

/** The grammar of `conditionOf`, to follow "must be". */
const CONDITION_GRAMMAR =
  "a condition such as platform=android, 'memory_gb>=6', gpu!=true, 'device_id^=lab-', 'os in (14,15)', gpu, or '!gpu'"

/** A name that is not a field of devices is a capability. */
const fieldOf = (name: string): string =>
  isDeviceField(name) || name.startsWith('capabilities.') ? name : `capabilities.${name}`

type Compared = Pick<DeviceCondition, 'field' | 'op'>

/** Numbers, true, and false as such, where they are possible; other text as it is; `"8"` is the text 8. */
const scalarOf = ({ field, op }: Compared, text: string): Scalar => {
  const value = jsonOrNull(text)
  if (typeof value === 'string') return value
  const isText = op === 'prefix' || field === 'device_id' || field === 'platform'
  return !isText && (typeof value === 'number' || typeof value === 'boolean') ? value : text
}

/** `'memory_gb>=6'` -> `{ field: 'capabilities.memory_gb', op: 'gte', value: 6 }`; null if it is not a condition. */
export const conditionOf = (text: string): DeviceCondition | null => {
  const [, name, list] = MEMBERSHIP.exec(text.trim()) ?? []
  if (name !== undefined && list !== undefined) {
    const listed = { field: fieldOf(name), op: 'in' } as const
    return { ...listed, value: (list.match(LISTED) ?? []).map((each) => scalarOf(listed, each.trim())) }
  }
  const [, compared, sign, value] = COMPARISON.exec(text.trim()) ?? []
  if (compared !== undefined && value !== undefined) {
    const condition = { field: fieldOf(compared), op: SIGNS.find(([each]) => each === sign)?.[1] ?? 'eq' }
    return { ...condition, value: scalarOf(condition, value) }
  }
  const [, not, found] = EXISTENCE.exec(text.trim()) ?? []
  return found === undefined ? null : { field: fieldOf(found), op: 'exists', value: not === '' }
}

/** In a value that is not quoted, what was meant to begin another condition. */
const JOINED = /\s(?:AND|OR)\s|&&|\|\||(?:\sor\s|[,;])\s*[^\s=!<>^(),;]+\s*(?:[=<>^]|!=|in\s*\()/su

const isJoined = (text: string): boolean => {
  const list = MEMBERSHIP.exec(text.trim())?.[2]
  const values = list === undefined ? [COMPARISON.exec(text.trim())?.[3] ?? ''] : (list.match(LISTED) ?? [])
  return values.some((value) => JOINED.test(value.replaceAll(/"(?:\\.|[^"\\])*"/gsu, '')))
}

/** Like `conditionOf`; returns a sentence if the text is not a condition, or seems to be a mistake. */
export const conditionOrFault = (text: string): DeviceCondition | string => {
  const condition = conditionOf(text)
  if (condition === null) return `It must be ${CONDITION_GRAMMAR}.`
  if (isJoined(text)) {
    return 'Conditions are joined with "and", in lowercase; there is no "or". Put a value that contains such words, or a comma, in quotes.'
  }
  if (infiniteIn(condition.value) !== null) return 'A number is out of range.'
  const { field } = condition
  if (isDeviceField(field) || text.includes(field)) return condition
  const meant = meantBy(field.replace('capabilities.', ''), DEVICE_FIELD_NAMES)
  return meant === null ? condition : `Did you mean ${meant}? The capability is ${field}.`
}

/** The parts between `and`, which may be in quotes. */
const PARTS = /(?:^|\s+and\s+)((?:\\.|"(?:\\.|[^"\\])*"|(?!\s+and\s).)+)/gsu

/** `'platform=android and memory_gb>=6'` -> a list of condition texts. */
export const conditionTexts = (text: string): readonly string[] =>
  [...text.trim().matchAll(PARTS)].map(([, part]) => part!)

/** Text that would be read as something else is quoted. */
const valueText = (condition: Compared, value: Scalar): string => {
  if (typeof value !== 'string') return String(value)
  const isPlain = value === value.trim() && scalarOf(condition, value) === value
  return isPlain && !JOINED.test(value) && !(condition.op === 'in' ? /[",]|^$|\sand\s/ : /,|^[=<>]|\sand\s/).test(value)
    ? value
    : JSON.stringify(value)
}

/** Characters that would end the name are escaped. */
const nameText = (name: string): string =>
  name.replaceAll(/\\.|[=!<>^()]|\s(?=and\s)/gsu, (found) => (found.length > 1 ? found : `\\${found}`))

/** The text of a condition, as `conditionOf` reads it. */
export const conditionText = (condition: DeviceCondition): string => {
  const { field, op, value } = condition
  const short = field.replace(/^capabilities\./, '')
  const name = isDeviceField(short) || short.startsWith('capabilities.') ? field : nameText(short)
  if (op === 'exists') return value === true ? name : `!${name}`
  if (op === 'in')
    return `${name} in (${(value as readonly Scalar[]).map((each) => valueText(condition, each)).join(', ')})`
  const sign = SIGNS.find(([, each]) => each === op)![0]
  return `${name}${sign}${valueText(condition, value as Scalar)}`
}
