import type { ReactNode } from 'react'
import { Ago, type Tone } from './cells.tsx'
import { Strip } from './strip.tsx'
import styles from './timeline.module.css'

export interface Moment {
  readonly key: string
  readonly tone: Tone
  readonly text: ReactNode
  readonly time: string | null
}

/** Events, one per line, with times. */
export const Timeline = ({ moments }: { readonly moments: readonly Moment[] }) => (
  <ol className={styles.timeline}>
    {moments.map(({ key, tone, text, time }) => (
      <li key={key}>
        <span className={styles.dot} style={{ background: `var(--${tone === 'idle' ? 'line-strong' : tone})` }} />
        <span>{text}</span>
        <span className={styles.time}>
          <Ago time={time} />
        </span>
      </li>
    ))}
  </ol>
)

export interface Stretch {
  /** Shares of the whole, 0 to 1. */
  readonly from: number
  readonly to: number
  readonly tone: Tone
}

/** Times within a period, such as a participant's steps within a round. `label` describes them. */
export const Span = ({ label, stretches }: { readonly label: string; readonly stretches: readonly Stretch[] }) => (
  <Strip
    label={label}
    height={16}
    bars={[
      { from: 0, to: 100, color: 'line', y: [7, 9] },
      ...stretches.map(({ from, to, tone }) => ({
        from: from * 100,
        to: Math.max(to * 100, from * 100 + 0.8),
        color: tone,
        y: [4, 12] as const,
      })),
    ]}
  />
)
