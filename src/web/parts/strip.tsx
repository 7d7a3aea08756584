import styles from './strip.module.css'

/** A bar on the strip, from 0 to 100; `color` is a CSS token. Without `y`, it has the full height. */
export interface Bar {
  readonly from: number
  readonly to: number
  readonly color: string
  readonly y?: readonly [top: number, bottom: number]
  readonly opacity?: number
}

interface StripProps {
  readonly label: string
  readonly height: number
  readonly bars: readonly Bar[]
}

/** Bars on one line with the full width. `label` describes them. */
export const Strip = ({ label, height, bars }: StripProps) => (
  <svg
    className={styles.strip}
    height={height}
    viewBox={`0 0 100 ${height}`}
    preserveAspectRatio="none"
    role="img"
    aria-label={label}
  >
    {bars.map(({ from, to, color, y: [top, bottom] = [0, height], opacity = 1 }, index) => (
      <rect
        // biome-ignore lint/suspicious/noArrayIndexKey: a bar is identified by its position
        key={index}
        x={from}
        y={top}
        width={Math.max(0.4, to - from)}
        height={bottom - top}
        style={{ fill: `var(--${color})`, opacity }}
      />
    ))}
  </svg>
)
