import type { Tone } from '../../parts/cells.tsx'
import { Panel, Quiet } from '../../parts/layout.tsx'
import { Strip } from '../../parts/strip.tsx'
import { count, plural, words } from '../../text/format.ts'
import styles from './delivery.module.css'

/** In the bar, states with the same tone have different shades; the text below names them. */
const STATES: Readonly<Record<string, readonly [tone: Tone, opacity: number]>> = {
  active: ['good', 1],
  ready: ['busy', 1],
  verifying: ['busy', 0.7],
  downloading: ['busy', 0.45],
  assigned: ['idle', 1],
  waiting: ['idle', 0.5],
  failed: ['bad', 1],
  withdrawn: ['idle', 0.25],
  no_longer_reached: ['idle', 0.25],
}

export const stateTone = (state: string): Tone => STATES[state]?.[0] ?? 'idle'

/** Why a plan has no devices, by its status. */
const WITHOUT_DEVICES: Readonly<Record<string, string>> = {
  pending: 'Devices get the version after it starts.',
  pending_approval: 'Devices get the version after it is approved.',
  completed: 'No device has reported on it.',
  failed: 'No device reported on it before it failed.',
  rolled_back: 'No device reported on it before it was rolled back.',
  rejected: 'It was rejected: no device gets the version.',
}

/** `isHindered`: the page's warnings say what may keep devices from getting the version. */
export const withoutDevices = (status: string, isHindered = false): string =>
  WITHOUT_DEVICES[status] ??
  `No device gets the version now${isHindered ? ': see Attention for what may prevent it' : ''}.`

interface DeviceStatesProps {
  readonly counts: Readonly<Record<string, number>>
  readonly none: string
}

/** The number of devices in each state, as one bar. `none`: why there are none. */
export const DeviceStates = ({ counts, none }: DeviceStatesProps) => {
  const entries = Object.entries(STATES).flatMap(([state, [color, opacity]]) => {
    const devices = counts[state] ?? 0
    return devices > 0 ? [{ state, color, opacity, devices }] : []
  })
  const total = entries.reduce((sum, { devices }) => sum + devices, 0)
  let to = 0
  const bars = entries.map(({ color, opacity, devices }) => {
    const from = to
    to += (devices / total) * 100
    return { from, to, color, opacity }
  })
  return (
    <Panel title="Devices by state" aside={plural(total, 'device')}>
      {total === 0 ? (
        <Quiet>{none}</Quiet>
      ) : (
        <>
          <Strip
            label={entries.map(({ state, devices }) => `${devices} ${words(state)}`).join(', ')}
            height={12}
            bars={bars}
          />
          <ul className={styles.legend}>
            {entries.map(({ state, color, opacity, devices }) => (
              <li key={state}>
                <svg width="10" height="10" aria-hidden="true">
                  <rect width="10" height="10" rx="2" style={{ fill: `var(--${color})`, opacity }} />
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
