import { useEffect, useMemo, useRef, useState } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { clock, exact, measure, percent } from '../text/format.ts'
import styles from './curve.module.css'
import { align, aroundOne, bandEdges, best, type Series, shareLimits, smooth, tickLabels } from './curve-data.ts'

const COLORS = 6
const HEIGHT = 240
const SMOOTHED_FROM = 12
const HALF_HOUR_S = 1800
/** Distances of ticks. */
const WHOLE = Array.from({ length: 7 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat()

interface CurveProps {
  readonly title: string
  /** What the x axis counts. With `time`, x is in seconds since 1970 and shown as a time. */
  readonly x: string
  readonly series: readonly Series[]
  /** Which point to mark; none if undefined. */
  readonly better?: 'lowest' | 'highest' | undefined
  readonly format?: (value: number | null) => string
  /** y counts things, so that the axis has only whole numbers. */
  readonly whole?: boolean
  /** Weight of previous values, 0 to 1; 0 disables smoothing. */
  readonly smoothing?: number
}

const token = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim()
const colorOf = (index: number): string => token(`--curve-${(index % COLORS) + 1}`)

/** Formats a value of the x axis. */
const place = (x: string, value: number): string => (x === 'time' ? exact(new Date(value * 1000)) : `${x} ${value}`)

type Options = Pick<CurveProps, 'x' | 'series' | 'better' | 'whole'> & {
  /** Their points change while the chart stays. */
  readonly latestSeries: () => readonly Series[]
  readonly format: (value: number | null) => string
  readonly smoothed: boolean
  readonly onHover: (index: number | null) => void
}

/** Draws a ring around each series' best point. */
const drawBest = (plot: uPlot, { latestSeries, better }: Pick<Options, 'latestSeries' | 'better'>): void => {
  const { ctx } = plot
  if (better === undefined) return
  for (const [index, { points }] of latestSeries().entries()) {
    const found = best(points, better)
    if (found === null) continue
    ctx.beginPath()
    ctx.arc(plot.valToPos(found.x, 'x', true), plot.valToPos(found.y, 'y', true), 5 * devicePixelRatio, 0, 2 * Math.PI)
    ctx.lineWidth = 1.5 * devicePixelRatio
    ctx.strokeStyle = colorOf(index)
    ctx.stroke()
  }
}

/** Few enough points to draw each. */
const hasFew = (series: readonly Series[]): boolean => series.every(({ points }) => points.length <= 60)

const lineOf = (name: string, index: number, { faint, points }: { faint: boolean; points: boolean }): uPlot.Series => ({
  label: name,
  stroke: colorOf(index),
  width: faint ? 1 : 2,
  alpha: faint ? 0.35 : 1,
  spanGaps: true,
  points: { show: points, size: 5 },
})

const optionsFor = (width: number, options: Options): uPlot.Options => {
  const { x, series, format, whole, smoothed, onHover } = options
  const showsPoints = hasFew(series)
  const axis: uPlot.Axis = {
    stroke: token('--text-quiet'),
    font: `11px ${token('--font')}`,
    grid: { stroke: token('--line'), width: 1 },
    ticks: { show: false },
  }
  const edges = bandEdges(series)
  const before = 1 + series.length * (smoothed ? 2 : 1)
  const banded = series.flatMap(({ band }, index) => (band === undefined ? [] : [index]))
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { size: 7 } },
    scales: {
      x: {
        time: x === 'time',
        range: (plot, from, to) => aroundOne(Array.from(plot.data[0]), x === 'time' ? HALF_HOUR_S : 1) ?? [from, to],
      },
      ...(format === percent && {
        y: {
          range: (_plot: uPlot, from: number | null, to: number | null): uPlot.Range.MinMax =>
            from === null || to === null ? [null, null] : uPlot.rangeNum(from, to, shareLimits(from, to)),
        },
      }),
    },
    axes: [
      {
        ...axis,
        label: x,
        labelSize: 18,
        labelFont: `11px ${token('--font')}`,
        size: 34,
        ...(x === 'time' ? { values: (_plot, times) => clock(times) } : { incrs: WHOLE }),
      },
      {
        ...axis,
        size: 58,
        ...(whole && { incrs: WHOLE }),
        values: (_plot, values) => tickLabels(values, format),
      },
    ],
    series: [
      {},
      ...series.map(({ name }, index) => lineOf(name, index, { faint: smoothed, points: showsPoints && !smoothed })),
      ...(smoothed ? series.map(({ name }, index) => lineOf(name, index, { faint: false, points: false })) : []),
      ...edges.map(({ name }) => ({ label: name, width: 0, spanGaps: true, points: { show: false } })),
    ],
    bands: banded.map((index, n) => ({
      series: [before + 2 * n + 1, before + 2 * n] as [number, number],
      fill: `${colorOf(index)}2e`,
    })),
    hooks: {
      draw: [(plot) => drawBest(plot, options)],
      setCursor: [(plot) => onHover(plot.cursor.idx ?? null)],
    },
  }
}

/** True if the system uses a dark color scheme, which a canvas does not follow automatically. */
const useDark = (): boolean => {
  const [dark, setDark] = useState(() => matchMedia('(prefers-color-scheme: dark)').matches)
  useEffect(() => {
    const query = matchMedia('(prefers-color-scheme: dark)')
    const follow = (): void => setDark(query.matches)
    query.addEventListener('change', follow)
    return () => query.removeEventListener('change', follow)
  }, [])
  return dark
}

const Key = ({ index, name, value }: { readonly index: number; readonly name: string; readonly value: string }) => (
  <span className={styles.key}>
    <svg width="14" height="4" aria-hidden="true">
      <rect width="14" height="4" rx="2" style={{ fill: `var(--curve-${(index % COLORS) + 1})` }} />
    </svg>
    {name}
    <span className={styles.value}>{value}</span>
  </span>
)

/** A line chart over rounds, with the best points marked; hovering shows all values. */
export const Curve = ({ title, x, series, better, format = measure, whole = false, smoothing = 0 }: CurveProps) => {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(null)
  const [hovered, setHovered] = useState<number | null>(null)
  const dark = useDark()
  const smoothed = smoothing > 0 && series.some(({ points }) => points.length >= SMOOTHED_FROM)
  const data = useMemo(() => {
    const [xs = [], ...aligned] = align([...series, ...bandEdges(series)])
    const columns = aligned.slice(0, series.length)
    return [
      xs,
      ...columns,
      ...(smoothed ? columns.map((column) => smooth(column, smoothing)) : []),
      ...aligned.slice(series.length),
    ] as uPlot.AlignedData
  }, [series, smoothed, smoothing])
  const names = series.map(({ name, band }) => `${name} ${band !== undefined}`).join('\n')
  const showsPoints = hasFew(series)
  const latestSeries = useRef(series)

  useEffect(() => {
    latestSeries.current = series
  }, [series])

  // biome-ignore lint/correctness/useExhaustiveDependencies: redrawn when lines or colors change; new points are set below
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const options = {
      x,
      series,
      latestSeries: () => latestSeries.current,
      better,
      format,
      whole,
      smoothed,
      onHover: setHovered,
    }
    const drawn = new uPlot(optionsFor(element.clientWidth, options), data, element)
    plot.current = drawn
    const observer = new ResizeObserver(() => drawn.setSize({ width: element.clientWidth, height: HEIGHT }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      drawn.destroy()
    }
  }, [names, showsPoints, dark, smoothed, x, better])

  useEffect(() => plot.current?.setData(data), [data])

  const at = hovered === null ? null : (data[0][hovered] ?? null)
  return (
    <figure className={styles.curve}>
      <div ref={box} className={styles.plot} role="img" aria-label={describe(title, x, series, better, format)} />
      <figcaption className={styles.caption}>
        {series.map(({ name, points }, index) => {
          const shown = better === undefined ? latest(points) : best(points, better)
          const hover = hovered === null ? null : (data[index + 1]?.[hovered] ?? null)
          const marked = better === undefined ? ['', ''] : ['best ', ` at ${place(x, shown?.x ?? 0)}`]
          const resting = shown === null ? '' : `${marked[0]}${format(shown.y)}${marked[1]}`
          const value = at === null ? resting : format(hover)
          return <Key key={name} index={index} name={name} value={value} />
        })}
        {at !== null && <span>{place(x, at)}</span>}
      </figcaption>
    </figure>
  )
}

const latest = (points: Series['points']): { readonly x: number; readonly y: number } | null => {
  const last = points.findLast(([, y]) => y !== null && Number.isFinite(y))
  return last === undefined ? null : { x: last[0], y: last[1]! }
}

const describe = (
  title: string,
  x: string,
  series: readonly Series[],
  better: CurveProps['better'],
  format: (value: number | null) => string,
): string => {
  const descriptions = series.map(({ name, points }) => {
    const last = latest(points)
    if (last === null) return `${name}: nothing yet`
    const top = better === undefined ? null : best(points, better)
    const marked = top === null ? '' : `, ${better} ${format(top.y)} at ${place(x, top.x)}`
    return `${name}: ${format(last.y)} at ${place(x, last.x)}${marked}`
  })
  return `${title} by ${x}. ${descriptions.join('; ')}.`
}
