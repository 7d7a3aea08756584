import { describe, expect, it } from 'vitest'
import { conditionOf, conditionOrFault, conditionText, conditionTexts } from './condition-text.ts'
import { FILTER_CASES, FILTERED_DEVICES } from './device-filter.fixture.ts'
import { type DeviceCondition, filterTest, readFilter } from './device-filter.ts'

const namesOf = (filter: readonly DeviceCondition[]): string =>
  FILTERED_DEVICES.filter(filterTest(filter))
    .map(({ deviceId }) => deviceId)
    .join(' ')

describe('a filter of devices', () => {
  it.each(FILTER_CASES)('%s %s %j is met by: %4$s', (field, op, value, matching) => {
    expect(namesOf([{ field, op, value }])).toBe(matching)
    expect(readFilter([{ field, op, value }])).toEqual([{ field, op, value }])
  })

  it('needs all of its conditions to be met', () => {
    expect(namesOf(['platform=android', 'm>=6', 'gpu=true'].map((text) => conditionOf(text)!))).toBe('six')
  })

  it.each([
    [[], 'filter must be a list of 1 to 16 conditions'],
    [Array(17).fill({ field: 'trains', op: 'eq', value: true }), 'filter must be a list of 1 to 16 conditions'],
    ['platform=ios', 'filter must be a list of 1 to 16 conditions'],
    [[null], 'filter[0] must be an object with field, op, and value, got null'],
    [[{ field: 'memory_gb', op: 'gte', value: 6 }], 'filter[0].field must be platform, trains, device_id, or capabili'],
    [[{ field: 'capabilities', op: 'exists', value: true }], 'filter[0].field must be'],
    [[{ field: 'capabilities.a..b', op: 'exists', value: true }], 'filter[0].field must be'],
    [[{ field: 'capabilities.a\\', op: 'exists', value: true }], 'filter[0].field must be'],
    [[{ field: 'capabilities.\u001b[31m', op: 'exists', value: true }], 'filter[0].field must be'],
    [[{ field: 'capabilities.\0', op: 'exists', value: true }], 'filter[0].field must be'],
    [[{ field: `capabilities.${'x'.repeat(250)}`, op: 'exists', value: true }], 'on one line of at most 255'],
    [[{ field: 'constructor', op: 'eq', value: 1 }], 'filter[0].field must be'],
    [
      [{ field: 'capabilities.m', op: '>=', value: 6 }],
      'filter[0].op must be one of eq, ne, lt, lte, gt, gte, in, exists',
    ],
    [
      [{ field: 'trains', op: 'eq', value: true, not: true }],
      'filter[0] must have only field, op, and value, got "not"',
    ],
    [[{ field: 'capabilities.m', op: 'gte', value: '6' }], 'filter[0].value must be a finite number for gte of capab'],
    [[{ field: 'capabilities.m', op: 'lt', value: Number.POSITIVE_INFINITY }], 'must be a finite number'],
    [[{ field: 'capabilities.m', op: 'eq', value: Number.NaN }], 'must be text of at most 255 characters on one line'],
    [[{ field: 'capabilities.m', op: 'eq', value: null }], 'must be text of at most 255 characters on one line'],
    [[{ field: 'capabilities.m', op: 'eq', value: 'x'.repeat(256) }], 'must be text of at most 255 characters'],
    [[{ field: 'capabilities.m', op: 'in', value: [] }], 'filter[0].value must be a list of 1 to 100 values for in of'],
    [[{ field: 'capabilities.m', op: 'in', value: [[6]] }], 'filter[0].value must be text'],
    [[{ field: 'capabilities.m', op: 'exists', value: 'yes' }], 'filter[0].value must be true or false for exists of'],
    [[{ field: 'capabilities.m', op: 'prefix', value: 6 }], 'filter[0].value must be text of at most 255 characters'],
    [[{ field: 'platform', op: 'eq', value: 'andriod' }], 'filter[0].value must be one of ios, android, macos'],
    [[{ field: 'platform', op: 'gt', value: 6 }], 'filter[0].op must be eq, ne, or in for platform: only numbers are'],
    [[{ field: 'trains', op: 'eq', value: 'true' }], 'filter[0].value must be true or false for eq of trains'],
    [[{ field: 'trains', op: 'prefix', value: 't' }], 'filter[0].op must be eq or ne for trains'],
    [[{ field: 'device_id', op: 'in', value: ['a', 7] }], 'filter[0].value must be text for in of device_id'],
  ])('is refused with its fault: %j', (filter, message) => {
    expect(() => readFilter(filter)).toThrow(message)
  })
})

describe('a condition as text', () => {
  it.each([
    ['platform=android', 'platform', 'eq', 'android'],
    ['memory_gb>=6', 'capabilities.memory_gb', 'gte', 6],
    [' memory_gb <= 6.5 ', 'capabilities.memory_gb', 'lte', 6.5, 'memory_gb<=6.5'],
    ['memory_gb<-1e3', 'capabilities.memory_gb', 'lt', -1000, 'memory_gb<-1000'],
    ['memory_gb>six', 'capabilities.memory_gb', 'gt', 'six'],
    ['gpu=true', 'capabilities.gpu', 'eq', true],
    ['gpu!="true"', 'capabilities.gpu', 'ne', 'true'],
    ['chip=a=b', 'capabilities.chip', 'eq', 'a=b'],
    ['chip == a', 'capabilities.chip', 'eq', 'a', 'chip=a'],
    ['chip=">a"', 'capabilities.chip', 'eq', '>a'],
    ['chip=', 'capabilities.chip', 'eq', ''],
    ['chip=null', 'capabilities.chip', 'eq', 'null'],
    ['chip name=A 15', 'capabilities.chip name', 'eq', 'A 15'],
    ['gpu', 'capabilities.gpu', 'exists', true],
    ['!gpu', 'capabilities.gpu', 'exists', false],
    ['capabilities.trains=1', 'capabilities.trains', 'eq', 1],
    ['os.version in (14, "15", x)', 'capabilities.os.version', 'in', [14, '15', 'x']],
    ['inside=1', 'capabilities.inside', 'eq', 1],
    ['chip in ("A, B", "", c)', 'capabilities.chip', 'in', ['A, B', '', 'c']],
    ['chip in ("say \\"a,b\\"")', 'capabilities.chip', 'in', ['say "a,b"']],
    ['device_id=7', 'device_id', 'eq', '7'],
    ['device_id in (7, " a")', 'device_id', 'in', ['7', ' a']],
    ['device_id^=" a"', 'device_id', 'prefix', ' a'],
    ['chip^="=8"', 'capabilities.chip', 'prefix', '=8'],
    ['chip^=8', 'capabilities.chip', 'prefix', '8'],
    ['chip="A, B"', 'capabilities.chip', 'eq', 'A, B'],
    ['capabilities.capabilities.x=1', 'capabilities.capabilities.x', 'eq', 1],
    ['device_id=8', 'device_id', 'eq', '8'],
    ['device_id^=lab-', 'device_id', 'prefix', 'lab-'],
    ['a\\.b\\=c=1', 'capabilities.a\\.b\\=c', 'eq', 1],
  ])('%s is read and written', (text, field, op, value, written = text) => {
    expect(conditionOf(text)).toEqual({ field, op, value })
    expect(conditionText(conditionOf(text)!)).toBe(written)
  })

  it('escapes what would end the name of a capability', () => {
    const text = conditionText({ field: 'capabilities.a=b\\.c', op: 'eq', value: 1 })
    expect([text, conditionOf(text)]).toEqual(['a\\=b\\.c=1', { field: 'capabilities.a\\=b\\.c', op: 'eq', value: 1 }])
  })

  it.each<[text: string, parts: readonly string[]]>([
    ['', []],
    ['  platform=android ', ['platform=android']],
    ['platform=android and m>=6 and !gpu', ['platform=android', 'm>=6', '!gpu']],
    ['brand=sand', ['brand=sand']],
    ['a="x and y" and b in ("1 and 2", 3)', ['a="x and y"', 'b in ("1 and 2", 3)']],
    ['a and', ['a and']],
    ['a and  and b', ['a', 'and b']],
    ['a\\ and b=1 and c', ['a\\ and b=1', 'c']],
  ])('%j has the conditions %j', (text, parts) => {
    expect(conditionTexts(text)).toEqual(parts)
  })

  it('writes conditions so that they can be joined with `and`', () => {
    const conditions = [
      { field: 'capabilities.a and b', op: 'eq', value: 'x and y' },
      { field: 'device_id', op: 'in', value: ['p and q', 'r'] },
    ] as const
    const text = conditions.map(conditionText).join(' and ')
    expect(text).toBe('a\\ and b="x and y" and device_id in ("p and q", r)')
    expect(conditionTexts(text).map(conditionOf)).toEqual([
      { ...conditions[0], field: 'capabilities.a\\ and b' },
      conditions[1],
    ])
  })

  it.each([
    'site=berlin or ram_gb>4',
    'site=berlin AND gpu',
    'site=berlin && gpu',
    'site=berlin, ram_gb>=4',
    'os in (14) or os in (15)',
  ])('%j is taken for several conditions, unless its value is quoted', (text) => {
    expect(conditionOrFault(text)).toContain('joined with "and"')
    const quoted = conditionText(conditionOf(text)!)
    expect([quoted.includes('"'), conditionOrFault(quoted)]).toEqual([true, conditionOf(text)])
  })

  it.each(['chip=A, B', 'chip=black or white', 'chip=a=b', 'chip in (a=b, c=d)', 'chip="x or y=1"'])(
    '%j is one condition',
    (text) => expect(conditionOrFault(text)).toEqual(conditionOf(text)),
  )

  it.each(['', '=1', '!', '>=6', 'a!b', 'a=>6', 'a = <6', 'a in 1,2', 'platform android', '(a)'])(
    '%j is none',
    (text) => {
      expect(conditionOf(text)).toBeNull()
    },
  )
})
