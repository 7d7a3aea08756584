import { words } from '../text/format.ts'
import styles from './badge.module.css'

export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'idle'

/** The tone of every state that the API has a word for. */
const TONES: Readonly<Record<string, Tone>> = {
  active: 'good',
  completed: 'good',
  delivered: 'good',
  running: 'busy',
  aggregating: 'busy',
  selected: 'busy',
  pending: 'idle',
  inactive: 'idle',
  stopped: 'idle',
  absent: 'warn',
  paused: 'warn',
  failed: 'bad',
  cancelled: 'idle',
  rolled_back: 'bad',
  draft: 'idle',
}

/** A shape for each tone: nothing is told by color alone. */
const SHAPES: Readonly<Record<Tone, string>> = {
  good: 'M1 4.5 3.2 7 7 1.5',
  busy: 'M4 .8a3.2 3.2 0 1 1-3.2 3.2',
  warn: 'M4 1v3.6M4 6.6v.6',
  bad: 'M1.2 1.2l5.6 5.6M6.8 1.2 1.2 6.8',
  idle: 'M1.2 4h5.6',
}

export const toneOf = (state: string): Tone => TONES[state] ?? 'idle'

/** A state as a word with a shape and a color. `tone` where the word means something else here than elsewhere. */
export const Badge = ({ state, tone = toneOf(state) }: { readonly state: string; readonly tone?: Tone }) => (
  <span className={`${styles.badge} ${styles[tone]}`}>
    <svg width="8" height="8" viewBox="0 0 8 8" aria-hidden="true">
      <path d={SHAPES[tone]} fill="none" stroke="currentColor" strokeWidth="1.6" strokeLinecap="round" />
    </svg>
    {words(state)}
  </span>
)
