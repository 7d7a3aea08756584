/** A linear axis from `from` to `to`, with round ticks. */
export interface Scale {
  readonly from: number
  readonly to: number
  readonly ticks: readonly number[]
  /** The position of a value: 0 at `from`, 1 at `to`. */
  readonly at: (value: number) => number
}

const PADDING = 0.04
const INTERVALS = 5

/** Returns 1, 2, 5, or 10 times a power of ten, so that there are about `INTERVALS` steps. */
const stepFor = (range: number): number => {
  const raw = range / INTERVALS
  const power = 10 ** Math.floor(Math.log10(raw))
  const times = raw / power
  return power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10)
}

/** Returns a scale that contains all finite values, with padding; equal values are centered. */
export const scaleOf = (values: readonly number[]): Scale => {
  const finite = values.filter(Number.isFinite)
  const [low, high] = finite.length === 0 ? [0, 1] : [Math.min(...finite), Math.max(...finite)]
  const room = high > low ? (high - low) * PADDING : Math.abs(high) / 2 || 0.5
  const [from, to] = [low - room, high + room]
  const step = stepFor(to - from)
  const first = Math.ceil(from / step)
  const count = Math.max(0, Math.floor(to / step) - first + 1)
  // Multiplies instead of adding, which would accumulate errors.
  const ticks = Array.from({ length: count }, (_, n) => Number(((first + n) * step).toPrecision(12)))
  return { from, to, ticks, at: (value) => (value - from) / (to - from) }
}
