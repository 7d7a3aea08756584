import type { Tone } from '../../parts/badge.tsx'
import { Panel, Quiet } from '../../parts/layout.tsx'
import { count, words } from '../../text/format.ts'
import styles from './rollout.module.css'

const TONES: Readonly<Record<string, Tone>> = {
  active: 'good',
  ready: 'busy',
  verifying: 'busy',
  downloading: 'busy',
  failed: 'bad',
  assigned: 'idle',
  waiting: 'idle',
}

export const stateTone = (state: string): Tone => TONES[state] ?? 'idle'

/** Shades tell states of one tone apart in the bar; the words below say which is which. */
const OPACITY: Readonly<Record<string, number>> = { downloading: 0.45, verifying: 0.7, waiting: 0.5 }
const ORDER = ['active', 'ready', 'verifying', 'downloading', 'assigned', 'waiting', 'failed']

/** How many devices are in each state, as one bar. */
export const DeviceStates = ({ counts }: { readonly counts: Readonly<Record<string, number>> }) => {
  const entries = ORDER.map((state) => [state, counts[state] ?? 0] as const).filter(([, devices]) => devices > 0)
  const total = entries.reduce((sum, [, devices]) => sum + devices, 0)
  let x = 0
  return (
    <Panel title="Devices by state" aside={`${count(total)} in all`}>
      {total === 0 ? (
        <Quiet>It has reached no device yet.</Quiet>
      ) : (
        <>
          <svg
            className={styles.bar}
            viewBox="0 0 100 12"
            preserveAspectRatio="none"
            role="img"
            aria-label={entries.map(([state, devices]) => `${devices} ${words(state)}`).join(', ')}
          >
            {entries.map(([state, devices]) => {
              const from = x
              x += (devices / total) * 100
              return (
                <rect
                  key={state}
                  x={from}
                  y="0"
                  width={x - from}
                  height="12"
                  style={{ fill: `var(--${stateTone(state)})`, opacity: OPACITY[state] ?? 1 }}
                />
              )
            })}
          </svg>
          <ul className={styles.legend}>
            {entries.map(([state, devices]) => (
              <li key={state}>
                <svg width="10" height="10" aria-hidden="true">
                  <rect
                    width="10"
                    height="10"
                    rx="2"
                    style={{ fill: `var(--${stateTone(state)})`, opacity: OPACITY[state] ?? 1 }}
                  />
                </svg>
                {words(state)} <strong>{count(devices)}</strong>
              </li>
            ))}
          </ul>
        </>
      )}
    </Panel>
  )
}
