import { type RawBuilder, sql } from 'kysely'
import { capabilityPath, type DeviceCondition, type DeviceFilter } from '../../../domain/device-filter.ts'

/** The rule of `filterTest` in SQL, about a row of `devices`; null counts as false. */
export const filterSql = (filter: DeviceFilter): RawBuilder<boolean> =>
  sql<boolean>`(${sql.join(filter.map(conditionSql), sql` and `)})`

const conditionSql = (condition: DeviceCondition): RawBuilder<unknown> => {
  const { op, value: wanted } = condition
  const value = valueSql(condition)
  const json = sql`${JSON.stringify(wanted)}::jsonb`
  const ordered = (sign: RawBuilder<unknown>) => sql`(jsonb_typeof(${value}) = 'number' and ${value} ${sign} ${json})`
  switch (op) {
    case 'eq':
      return sql`${value} = ${json}`
    case 'ne':
      return sql`${value} is distinct from ${json}`
    case 'lt':
      return ordered(sql`<`)
    case 'lte':
      return ordered(sql`<=`)
    case 'gt':
      return ordered(sql`>`)
    case 'gte':
      return ordered(sql`>=`)
    case 'in':
      return sql`${value} = any(${(wanted as readonly unknown[]).map((each) => JSON.stringify(each))}::jsonb[])`
    case 'exists':
      return wanted === true ? sql`${value} is not null` : sql`${value} is null`
    case 'prefix':
      return sql`(jsonb_typeof(${value}) = 'string' and starts_with(${value} #>> '{}', ${wanted}))`
  }
}

/** The value as jsonb. With a text on its right, `->` returns null for anything but an object. */
const valueSql = ({ field }: DeviceCondition): RawBuilder<unknown> => {
  if (field === 'device_id') return sql`to_jsonb(devices.device_id)`
  if (field === 'platform') return sql`to_jsonb(devices.platform)`
  if (field === 'trains') return sql`to_jsonb(devices.trains)`
  const path = sql.join(
    capabilityPath(field).map((key) => sql`${key}::text`),
    sql` -> `,
  )
  return sql`nullif(devices.capabilities -> ${path}, 'null'::jsonb)`
}
