import { useMemo } from 'react'
import { Curve } from '../../parts/curve.tsx'
import type { Series } from '../../parts/curve-data.ts'
import { Columns, Panel, Quiet } from '../../parts/layout.tsx'
import { percent } from '../../text/format.ts'
import type { Estimates } from './experiment-records.ts'

const seconds = (time: string): number => Date.parse(time) / 1000

const variantSeries = ({ points }: Estimates): Series[] =>
  (points[0]?.variants ?? []).map(({ name }, index) => {
    const own = points.map(({ at, variants }) => ({ at, ...variants[index]! }))
    return {
      name,
      points: own.map(({ at, mean }) => [seconds(at), mean] as const),
      band: own.map(({ lower, upper }) => [lower, upper] as const),
    }
  })

/** The zero line comes first, so that each variant has the same color as in the chart of means. */
const differenceSeries = ({ points }: Estimates): Series[] => [
  { name: 'no difference', points: points.map(({ at }) => [seconds(at), 0] as const) },
  ...(points[0]?.comparisons ?? []).map(({ variant }, index) => {
    const own = points.map(({ at, comparisons }) => ({ at, ...comparisons[index]! }))
    return {
      name: variant,
      points: own.map(({ at, difference }) => [seconds(at), difference] as const),
      band: own.map(({ lower, upper }) => [lower, upper] as const),
    }
  }),
]

/** Estimates over time: each variant's mean, and its difference from the first, with confidence intervals. */
export const EstimateCurves = ({ estimates }: { readonly estimates: Estimates }) => {
  const { primary_metric: metric, confidence_level, points } = estimates
  const variants = useMemo(() => variantSeries(estimates), [estimates])
  const differences = useMemo(() => differenceSeries(estimates), [estimates])
  if (points.length === 0) {
    return (
      <Panel title="Estimates over time">
        <Quiet>{`No device has reported ${metric} yet. A running experiment adds a point when devices report.`}</Quiet>
      </Panel>
    )
  }
  return (
    <Columns>
      <Panel title={`${metric} over time`} aside={`bands: ${percent(confidence_level, 0)} intervals of the means`}>
        <Curve title={metric} x="time" series={variants} />
      </Panel>
      <Panel title={`Difference from ${points[0]!.variants[0]!.name}`} aside="bands: always-valid intervals">
        <Curve title={`Difference of ${metric}`} x="time" series={differences} />
      </Panel>
    </Columns>
  )
}
