import { type DeviceCondition, type FilterOp, isDeviceField, type Scalar } from './device-filter.ts'
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
const EXISTENCE = /^(!?)((?:\\.|[^\\=!<>^()\s])+)$/su

/** The grammar of `conditionOf`, to follow "must be". */
export const CONDITION_GRAMMAR =
  "a condition such as platform=android, 'memory_gb>=6', gpu!=true, 'device_id^=lab-', 'os in (14,15)', gpu, or '!gpu'"

/** A name that is not a field of devices is a capability. */
const fieldOf = (name: string): string =>
  isDeviceField(name) || name.startsWith('capabilities.') ? name : `capabilities.${name}`

/** Numbers, true, and false as such, other text as it is; `"8"` is the text 8. */
const scalarOf = (field: string, text: string): Scalar => {
  const value = field === 'device_id' || field === 'platform' ? text : jsonOrNull(text)
  return typeof value === 'number' || typeof value === 'boolean' || typeof value === 'string' ? value : text
}

/** `'memory_gb>=6'` -> `{ field: 'capabilities.memory_gb', op: 'gte', value: 6 }`; null if it is not a condition. */
export const conditionOf = (text: string): DeviceCondition | null => {
  const [, name, list] = MEMBERSHIP.exec(text.trim()) ?? []
  if (name !== undefined && list !== undefined) {
    const field = fieldOf(name)
    return { field, op: 'in', value: list.split(',').map((each) => scalarOf(field, each.trim())) }
  }
  const [, compared, sign, value] = COMPARISON.exec(text.trim()) ?? []
  if (compared !== undefined && value !== undefined) {
    const field = fieldOf(compared)
    const op = SIGNS.find(([each]) => each === sign)?.[1] ?? 'eq'
    return { field, op, value: op === 'prefix' ? value : scalarOf(field, value) }
  }
  const [, not, found] = EXISTENCE.exec(text.trim()) ?? []
  return found === undefined ? null : { field: fieldOf(found), op: 'exists', value: not === '' }
}

/** Text that would be read as another type is quoted. */
const valueText = (field: string, value: Scalar): string =>
  typeof value === 'string' && (scalarOf(field, value) !== value || /^[=<>\s]|\s$/.test(value))
    ? JSON.stringify(value)
    : String(value)

/** The text of a condition, as `conditionOf` reads it. */
export const conditionText = ({ field, op, value }: DeviceCondition): string => {
  const short = field.replace(/^capabilities\./, '')
  const name = isDeviceField(short) ? field : short
  if (op === 'exists') return value === true ? name : `!${name}`
  if (op === 'in')
    return `${name} in (${(value as readonly Scalar[]).map((each) => valueText(field, each)).join(', ')})`
  const sign = SIGNS.find(([, each]) => each === op)![0]
  return `${name}${sign}${op === 'prefix' ? String(value) : valueText(field, value as Scalar)}`
}
