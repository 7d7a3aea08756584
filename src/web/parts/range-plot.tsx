import type { ReactNode } from 'react'
import { tickLabel } from '../text/format.ts'
import styles from './range-plot.module.css'
import { type Scale, scaleOf } from './scale.ts'

/** What to draw for one group along the shared axis; undefined parts are omitted. */
export interface RangeRow {
  readonly key: string
  readonly label: ReactNode
  /** The same as text, for screen readers. */
  readonly text: string
  /** A thin line, such as an interval, or from the minimum to the maximum. */
  readonly whiskers?: readonly [from: number, to: number]
  /** From the first quartile to the third. */
  readonly box?: readonly [from: number, to: number]
  /** A line across the box: the median. */
  readonly line?: number
  /** The mean. */
  readonly dot?: number
  /** A histogram; heights are 0 to 1. */
  readonly bars?: readonly { readonly from: number; readonly to: number; readonly height: number }[]
}

const valuesOf = ({ whiskers, box, line, dot, bars = [] }: RangeRow): number[] => [
  ...(whiskers ?? []),
  ...(box ?? []),
  ...(line === undefined ? [] : [line]),
  ...(dot === undefined ? [] : [dot]),
  ...bars.flatMap(({ from, to }) => [from, to]),
]

const percentOf = (share: number): string => `${share * 100}%`

const Marks = ({ row, scale }: { readonly row: RangeRow; readonly scale: Scale }) => {
  const { whiskers, box, line, dot, bars = [], text } = row
  const x = (value: number): string => percentOf(scale.at(value))
  const between = (from: number, to: number) => ({ x: x(from), width: percentOf(scale.at(to) - scale.at(from)) })
  return (
    <svg className={styles.marks} role="img" aria-label={text}>
      {scale.ticks.map((tick) => (
        <line key={tick} className={styles.grid} x1={x(tick)} x2={x(tick)} y1="0" y2="100%" />
      ))}
      {bars.map(({ from, to, height }) => (
        <rect
          key={`${from} ${to}`}
          className={styles.bar}
          {...between(from, to)}
          y={percentOf(1 - height)}
          height={percentOf(height)}
        />
      ))}
      {whiskers && <line className={styles.whisker} x1={x(whiskers[0])} x2={x(whiskers[1])} y1="50%" y2="50%" />}
      {whiskers?.map((end, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an end is identified by its position
        <line key={index} className={styles.whisker} x1={x(end)} x2={x(end)} y1="32%" y2="68%" />
      ))}
      {box && <rect className={styles.box} {...between(...box)} y="20%" height="60%" />}
      {line !== undefined && <line className={styles.median} x1={x(line)} x2={x(line)} y1="20%" y2="80%" />}
      {dot !== undefined && <circle className={styles.dot} cx={x(dot)} cy="50%" r="4" />}
    </svg>
  )
}

interface RangePlotProps {
  readonly label: string
  readonly axis: string
  readonly rows: readonly RangeRow[]
  readonly zero?: boolean
}

/** Groups in rows along one axis: box plots, intervals, or histograms. With `zero`, the axis includes and marks zero. */
export const RangePlot = ({ label, axis, rows, zero = false }: RangePlotProps) => {
  const scale = scaleOf([...rows.flatMap(valuesOf), ...(zero ? [0] : [])])
  return (
    <figure className={styles.plot} aria-label={label}>
      {rows.map((row) => (
        <div key={row.key} className={`${styles.row} ${row.bars ? styles.tall : ''}`}>
          <span>{row.label}</span>
          <div className={styles.area}>
            <Marks row={row} scale={scale} />
            {zero && <span className={styles.zero} style={{ left: percentOf(scale.at(0)) }} />}
          </div>
        </div>
      ))}
      <div className={styles.row} aria-hidden="true">
        <span className={styles.axis}>{axis}</span>
        <div className={styles.ticks}>
          {scale.ticks.map((tick) => (
            <span key={tick} style={{ left: percentOf(scale.at(tick)) }}>
              {tickLabel(tick)}
            </span>
          ))}
        </div>
      </div>
    </figure>
  )
}
