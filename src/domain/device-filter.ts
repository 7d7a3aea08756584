import { PLATFORMS } from './device.ts'
import { badRequest, type ServiceError } from './errors.ts'
import { isObject } from './is-object.ts'
import { ownEntry } from './own-entry.ts'
import { NAME_CHARACTERS } from './text.ts'

export const FILTER_OPS = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'in', 'exists', 'prefix'] as const
export type FilterOp = (typeof FILTER_OPS)[number]

export type Scalar = string | number | boolean

/** A condition on one attribute of a device: `{ field: 'capabilities.memory_gb', op: 'gte', value: 6 }`. */
export interface DeviceCondition {
  readonly field: string
  readonly op: FilterOp
  /** A list for `in`; true or false for `exists`. */
  readonly value: Scalar | readonly Scalar[]
}

/** The conditions of a dynamic group. A device matches if all of them hold. */
export type DeviceFilter = readonly DeviceCondition[]

/** What conditions can be about. */
export interface FilteredDevice {
  readonly deviceId: string
  readonly platform: string
  readonly trains: boolean
  readonly capabilities: Readonly<Record<string, unknown>>
}

export const MAX_CONDITIONS = 16
/** The maximum length of fields and text values. */
export const MAX_TEXT = 255
const PLAIN_TEXT = new RegExp(`^(?:${NAME_CHARACTERS})?$`, 'u')
const MAX_LISTED = 100

/** The fields besides capabilities, and what their values must be. */
const DEVICE_FIELDS: Readonly<Record<string, readonly [expected: string, test: (value: Scalar) => boolean]>> = {
  device_id: ['text', (value) => typeof value === 'string'],
  platform: [`one of ${PLATFORMS.join(', ')}`, (value) => PLATFORMS.some((platform) => platform === value)],
  trains: ['true or false', (value) => typeof value === 'boolean'],
}

export const DEVICE_FIELD_NAMES: readonly string[] = Object.keys(DEVICE_FIELDS)

export const isDeviceField = (field: string): boolean => Object.hasOwn(DEVICE_FIELDS, field)

/** `capabilities.os.version` -> `['os', 'version']`; a backslash makes the next character, such as a dot, part of a key. */
export const capabilityPath = (field: string): readonly string[] =>
  [...field.slice('capabilities'.length).matchAll(/\.((?:\\.|[^.\\])*)/gsu)].map(([, key]) =>
    key!.replaceAll(/\\(.)/gsu, '$1'),
  )

const isCapability = (field: string): boolean => isText(field) && /^capabilities(?:\.(?:\\.|[^.\\])+)+$/su.test(field)

/** The value of a capability; undefined if it is missing or null. Only objects have keys: no inherited ones, no indexes. */
const capabilityAt = (capabilities: unknown, path: readonly string[]): unknown => {
  let value = capabilities
  for (const key of path) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return undefined
    value = value[key]
  }
  return value ?? undefined
}

const readerOf = (field: string): ((device: FilteredDevice) => unknown) => {
  if (field === 'device_id') return ({ deviceId }) => deviceId
  if (field === 'platform') return ({ platform }) => platform
  if (field === 'trains') return ({ trains }) => trains
  const path = capabilityPath(field)
  return ({ capabilities }) => capabilityAt(capabilities, path)
}

/** Values of different types are never equal, and only numbers are ordered. A missing value meets `ne` and `exists: false` only. */
const testOf = ({ op, value: wanted }: DeviceCondition): ((value: unknown) => boolean) => {
  const ordered = (test: (value: number, limit: number) => boolean) => (value: unknown) =>
    typeof value === 'number' && test(value, wanted as number)
  switch (op) {
    case 'eq':
      return (value) => value === wanted
    case 'ne':
      return (value) => value !== wanted
    case 'lt':
      return ordered((value, limit) => value < limit)
    case 'lte':
      return ordered((value, limit) => value <= limit)
    case 'gt':
      return ordered((value, limit) => value > limit)
    case 'gte':
      return ordered((value, limit) => value >= limit)
    case 'in':
      return (value) => (wanted as readonly unknown[]).includes(value)
    case 'exists':
      return (value) => (value !== undefined) === wanted
    case 'prefix':
      return (value) => typeof value === 'string' && value.startsWith(wanted as string)
  }
}

/** Prepares a filter for many devices. Stores have the same rule in SQL. */
export const filterTest = (filter: DeviceFilter): ((device: FilteredDevice) => boolean) => {
  const tests = filter.map((condition) => {
    const [read, test] = [readerOf(condition.field), testOf(condition)]
    return (device: FilteredDevice) => test(read(device))
  })
  return (device) => tests.every((test) => test(device))
}

const shown = (value: unknown): string => JSON.stringify(value)?.slice(0, 80) ?? 'nothing'

/** Without control characters, which would reach terminals; may be empty. */
const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= MAX_TEXT && PLAIN_TEXT.test(value)

const isScalar = (value: unknown): value is Scalar =>
  typeof value === 'boolean' || Number.isFinite(value) || isText(value)

const TEXT = `text of at most ${MAX_TEXT} characters on one line`
const SCALAR = `${TEXT}, a finite number, true, or false`

/** Checks a filter in a request. @throws bad_request that names the field, the fault, and what is accepted */
export const readFilter = (filter: unknown): DeviceFilter => {
  if (!Array.isArray(filter) || filter.length === 0 || filter.length > MAX_CONDITIONS) {
    throw badRequest(
      `filter must be a list of 1 to ${MAX_CONDITIONS} conditions such as {"field": "platform", "op": "eq", "value": "android"}.`,
    )
  }
  return filter.map((condition: unknown, at) => readCondition(condition, `filter[${at}]`))
}

const readCondition = (condition: unknown, at: string): DeviceCondition => {
  if (!isObject(condition))
    throw badRequest(`${at} must be an object with field, op, and value, got ${shown(condition)}.`)
  const { field, op, value, ...others } = condition
  const [other] = Object.keys(others)
  if (other !== undefined) throw badRequest(`${at} must have only field, op, and value, got ${shown(other)}.`)
  if (typeof field !== 'string' || !(isDeviceField(field) || isCapability(field))) {
    throw badRequest(
      `${at}.field must be platform, trains, device_id, or capabilities.<key> on one line of at most ${MAX_TEXT} characters, got ${shown(field)}.`,
    )
  }
  const known = FILTER_OPS.find((each) => each === op)
  if (known === undefined) throw badRequest(`${at}.op must be one of ${FILTER_OPS.join(', ')}, got ${shown(op)}.`)
  const fault = (wanted: string): ServiceError =>
    badRequest(`${at}.value must be ${wanted} for ${known} of ${field}, got ${shown(value)}.`)
  if (known === 'exists') {
    if (typeof value !== 'boolean') throw fault('true or false')
    return { field, op: known, value }
  }
  if (known === 'in') {
    if (!Array.isArray(value) || value.length === 0 || value.length > MAX_LISTED) {
      throw fault(`a list of 1 to ${MAX_LISTED} values`)
    }
    for (const each of value as unknown[]) requireComparable(field, each, fault)
    return { field, op: known, value: value as Scalar[] }
  }
  if (known === 'prefix') {
    if (!isText(value)) throw fault(TEXT)
    if (field === 'trains') throw badRequest(`${at}.op must be eq or ne for trains, which is true or false.`)
    return { field, op: known, value }
  }
  if (known !== 'eq' && known !== 'ne') {
    if (isDeviceField(field)) throw badRequest(`${at}.op must be eq, ne, or in for ${field}: only numbers are ordered.`)
    if (!Number.isFinite(value)) throw fault('a finite number')
    return { field, op: known, value: value as number }
  }
  requireComparable(field, value, fault)
  return { field, op: known, value }
}

function requireComparable(
  field: string,
  value: unknown,
  fault: (wanted: string) => ServiceError,
): asserts value is Scalar {
  if (!isScalar(value)) throw fault(SCALAR)
  const [expected, test] = ownEntry(DEVICE_FIELDS, field) ?? []
  if (expected !== undefined && test?.(value) === false) throw fault(expected)
}
