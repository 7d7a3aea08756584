import type { Tone } from './cells.tsx'
import styles from './meter.module.css'

interface MeterProps {
  readonly label: string
  readonly value: number
  readonly max: number
  readonly text: string
  readonly tone?: Tone
}

/** An amount as a bar with text. */
export const Meter = ({ label, value, max, text, tone = 'busy' }: MeterProps) => {
  const share = max <= 0 ? 0 : Math.min(1, Math.max(0, value / max))
  return (
    <div className={styles.meter}>
      <span className="visually-hidden">{label}</span>
      <div className={styles.track} aria-hidden="true">
        <div className={styles.bar} style={{ width: `${share * 100}%`, background: `var(--${tone})` }} />
      </div>
      <span>{text}</span>
    </div>
  )
}

/** Small bars, oldest first. `label` describes them. */
export const Sparkline = ({ label, values }: { readonly label: string; readonly values: readonly number[] }) => {
  const max = Math.max(1, ...values)
  return (
    <svg
      className={styles.spark}
      viewBox={`0 0 ${values.length * 5} 44`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {values.map((value, index) => {
        const height = value === 0 ? 1 : Math.max(2, (value / max) * 42)
        // biome-ignore lint/suspicious/noArrayIndexKey: a bar is identified by its position
        return <rect key={index} x={index * 5} y={44 - height} width="4" height={height} />
      })}
    </svg>
  )
}
