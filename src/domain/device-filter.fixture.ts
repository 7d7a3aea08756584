import type { DeviceCondition, FilteredDevice, FilterOp } from './device-filter.ts'

const device = (deviceId: string, capabilities: object, fields: Partial<FilteredDevice> = {}): FilteredDevice => ({
  deviceId,
  platform: 'linux',
  trains: true,
  capabilities: capabilities as FilteredDevice['capabilities'],
  ...fields,
})

/** Devices whose attributes are missing, of other types, nested, or at the limits of numbers. */
export const FILTERED_DEVICES: readonly FilteredDevice[] = [
  device('none', {}),
  device('six', { m: 6, gpu: true, os: { name: 'Ω-15', 'a.b': 1 } }, { platform: 'android' }),
  device('eight', { m: 8, gpu: false, os: ['name'] }, { platform: 'android', trains: false }),
  device('text', { m: '8', gpu: 'true', os: { name: 'Ω' } }, { platform: 'ios' }),
  device('null', { m: null, gpu: null, os: null }),
  device('list', { m: [8], gpu: {}, os: { name: ['Ω-15'] } }),
  device('tiny', { m: 5e-38, big: -3.4e38, 'os.name': 'flat', 'a\\b': 1 }),
  device('sum', { m: 0.1 + 0.2, big: 3.4e38, '0': 'zero', length: 1, "it's": '%_' }),
  device('true', { m: true, big: 9_007_199_254_740_992, __proto__: { inherited: 1 } }),
]

const c = (name: string) => `capabilities.${name}`

/** A condition, and the devices that meet it. */
export const FILTER_CASES: readonly (readonly [
  field: string,
  op: FilterOp,
  value: DeviceCondition['value'],
  matching: string,
])[] = [
  ['platform', 'eq', 'android', 'six eight'],
  ['platform', 'ne', 'linux', 'six eight text'],
  ['platform', 'in', ['ios', 'android'], 'six eight text'],
  ['platform', 'prefix', 'and', 'six eight'],
  ['trains', 'eq', false, 'eight'],
  ['trains', 'ne', false, 'none six text null list tiny sum true'],
  ['device_id', 'prefix', 't', 'text tiny true'],
  ['device_id', 'in', ['six', 'SIX', '6'], 'six'],
  [c('m'), 'eq', 8, 'eight'],
  [c('m'), 'eq', '8', 'text'],
  [c('m'), 'eq', true, 'true'],
  [c('m'), 'ne', 8, 'none six text null list tiny sum true'],
  [c('m'), 'gte', 6, 'six eight'],
  [c('m'), 'gt', 6, 'eight'],
  [c('m'), 'lt', 6, 'tiny sum'],
  [c('m'), 'lte', 0.3, 'tiny'],
  [c('m'), 'lte', 0.30000000000000004, 'tiny sum'],
  [c('m'), 'gt', 0, 'six eight tiny sum'],
  [c('m'), 'lt', 1e300, 'six eight tiny sum'],
  [c('big'), 'gte', -3.4e38, 'tiny sum true'],
  [c('big'), 'eq', 9_007_199_254_740_992, 'true'],
  [c('m'), 'in', [6, '8', true], 'six text true'],
  [c('m'), 'exists', true, 'six eight text list tiny sum true'],
  [c('m'), 'exists', false, 'none null'],
  [c('gpu'), 'eq', true, 'six'],
  [c('gpu'), 'ne', true, 'none eight text null list tiny sum true'],
  [c('os.name'), 'exists', true, 'six text list'],
  [c('os.name'), 'prefix', 'Ω-', 'six'],
  [c('os.name'), 'prefix', '', 'six text'],
  [c('os\\.name'), 'eq', 'flat', 'tiny'],
  [c('os.a\\.b'), 'eq', 1, 'six'],
  [c('a\\\\b'), 'eq', 1, 'tiny'],
  [c("it's"), 'prefix', '%_', 'sum'],
  [c('0'), 'eq', 'zero', 'sum'],
  [c('os.0'), 'exists', true, ''],
  [c('m.0'), 'exists', true, ''],
  [c('os.length'), 'exists', true, ''],
  [c('length'), 'eq', 1, 'sum'],
  [c('__proto__'), 'exists', true, ''],
  [c('__proto__.inherited'), 'exists', true, ''],
  [c('constructor.name'), 'exists', true, ''],
  [c('toString'), 'exists', false, 'none six eight text null list tiny sum true'],
]
