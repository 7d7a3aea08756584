import type { components } from '../../../client/client.ts'
import { meanInterval } from '../../../domain/statistics/t-test.ts'
import type { RangeRow } from '../../parts/range-plot.tsx'
import { measure, plural } from '../../text/format.ts'
import type { Query } from './federation-records.ts'

type Schemas = components['schemas']
type Described = Schemas['Description']['groups'][number]
type Summary = Schemas['TTest']['groups'][number]

/** A query's result, discriminated by its kind. */
export type Result =
  | ({ readonly kind: 'descriptive' } & Schemas['Description'])
  | ({ readonly kind: 't-test' } & Schemas['TTest'])
  | ({ readonly kind: 'anova' } & Schemas['Anova'])
  | ({ readonly kind: 'chi-square' } & Schemas['ChiSquare'])

/** Returns null if the query failed. */
export const resultOf = ({ query_type, variable, result }: Query): Result | null =>
  result === null ? null : ({ kind: query_type, ...result, variable } as unknown as Result)

export type NameOf = (groupId: string) => string

const WITHHELD = / is withheld: /

/** Replaces group ids with names in warnings, and separates those about withheld groups. */
export const sortWarnings = (warnings: readonly string[], names: ReadonlyMap<string, string>) => {
  const named = warnings.map((warning) =>
    [...names].reduce((text, [id, name]) => text.replaceAll(`'${id}'`, `'${name}'`), warning),
  )
  return {
    withheld: named.filter((warning) => WITHHELD.test(warning)),
    others: named.filter((warning) => !WITHHELD.test(warning)),
  }
}

export const boxRows = (groups: readonly Described[], nameOf: NameOf): RangeRow[] =>
  groups.map(({ group_id, count: devices, mean, min, max, median, percentiles }) => ({
    key: group_id,
    label: nameOf(group_id),
    text: `${nameOf(group_id)}: ${measure(min)} to ${measure(max)}, median ${measure(median)}, quartiles ${measure(percentiles?.p25)} and ${measure(percentiles?.p75)}, mean ${measure(mean)} of ${plural(devices, 'device')}`,
    whiskers: [min, max],
    dot: mean,
    ...(median !== null && { line: median }),
    ...(percentiles?.p25 != null && percentiles.p75 !== null && { box: [percentiles.p25, percentiles.p75] }),
  }))

/** Equal values form a spike without a width; it is drawn with this share of the range. */
const NARROWEST = 1 / 200

/**
 * Returns a histogram with four bars, each with a quarter of the devices. It shows no more than the quartiles, so nothing about
 * single devices. Heights are densities, relative to the group's largest.
 */
export const quartileRows = (groups: readonly Described[], nameOf: NameOf): RangeRow[] =>
  groups.flatMap(({ group_id, min, max, percentiles }) => {
    const { p25, p50, p75 } = percentiles ?? {}
    if (p25 == null || p50 == null || p75 == null) return []
    const narrowest = (max - min || 1) * NARROWEST
    const edges = [min, p25, p50, p75, max]
    const bars = edges.slice(1).map((to, index) => {
      const from = edges[index]!
      const width = Math.max(to - from, narrowest)
      return { from, to: from + width, density: 1 / width }
    })
    const largest = Math.max(...bars.map(({ density }) => density))
    return [
      {
        key: group_id,
        label: nameOf(group_id),
        text: `${nameOf(group_id)}: quarters of the devices, bounded by ${edges.map((edge) => measure(edge)).join(', ')}`,
        bars: bars.map(({ from, to, density }) => ({ from, to, height: density / largest })),
      },
    ]
  })

/** Returns means with confidence intervals (Student's t). */
export const meanRows = (groups: readonly Summary[], level: number, nameOf: NameOf): RangeRow[] =>
  groups.map(({ group_id, count: devices, mean, std_dev }) => {
    const m2 = std_dev === null ? 0 : std_dev ** 2 * (devices - 1)
    const interval = std_dev === null ? null : meanInterval({ count: devices, mean, m2 }, level)
    const range = interval === null ? '' : `, ${measure(interval.lower)} to ${measure(interval.upper)}`
    return {
      key: group_id,
      label: nameOf(group_id),
      text: `${nameOf(group_id)}: mean ${measure(mean)}${range}, of ${plural(devices, 'device')}`,
      dot: mean,
      ...(interval !== null && { whiskers: [interval.lower, interval.upper] as const }),
    }
  })
