import type { ReactNode } from 'react'
import type { Tone } from './badge.tsx'
import { Ago } from './now.tsx'
import styles from './timeline.module.css'

export interface Moment {
  readonly key: string
  readonly tone: Tone
  readonly text: ReactNode
  readonly time: string | null
}

/** What happened, one line each, with its time. */
export const Timeline = ({ moments }: { readonly moments: readonly Moment[] }) => (
  <ol className={styles.timeline}>
    {moments.map(({ key, tone, text, time }) => (
      <li key={key}>
        <span className={`${styles.dot} ${styles[tone]}`} />
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

/** When something happened within a whole, such as a participant's steps within a round. `label` says it in words. */
export const Span = ({ label, stretches }: { readonly label: string; readonly stretches: readonly Stretch[] }) => (
  <div className={styles.span}>
    <svg viewBox="0 0 100 16" preserveAspectRatio="none" role="img" aria-label={label}>
      <rect x="0" y="7" width="100" height="2" style={{ fill: 'var(--line)' }} />
      {stretches.map(({ from, to, tone }) => (
        <rect
          key={`${from} ${to} ${tone}`}
          x={from * 100}
          y="4"
          width={Math.max(0.8, (to - from) * 100)}
          height="8"
          rx="0.6"
          style={{ fill: `var(--${tone})` }}
        />
      ))}
    </svg>
  </div>
)
