import { type ReactNode, useEffect, useState } from 'react'
import { clockOffset } from '../api/service-clock.ts'
import { day, exact, NONE, relative, shortId, stateName } from '../text/format.ts'
import styles from './cells.module.css'

export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'idle'

/** The tone of each of the API's states. */
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

/** A shape for each tone, so that color alone carries no meaning. */
const SHAPES: Readonly<Record<Tone, string>> = {
  good: 'M1 4.5 3.2 7 7 1.5',
  busy: 'M4 .8a3.2 3.2 0 1 1-3.2 3.2',
  warn: 'M4 1v3.6M4 6.6v.6',
  bad: 'M1.2 1.2l5.6 5.6M6.8 1.2 1.2 6.8',
  idle: 'M1.2 4h5.6',
}

export const toneOf = (state: string): Tone => TONES[state] ?? 'idle'

/** A state as a word with a shape and a color. Set `tone` if the state has a different meaning here. */
export const Badge = ({ state, tone = toneOf(state) }: { readonly state: string; readonly tone?: Tone }) => (
  <span className={styles.badge} style={{ background: `var(--${tone}-soft)`, color: `var(--${tone})` }}>
    <svg width="8" height="8" viewBox="0 0 8 8" aria-hidden="true">
      <path d={SHAPES[tone]} fill="none" stroke="currentColor" strokeWidth="1.6" strokeLinecap="round" />
    </svg>
    {stateName(state)}
  </span>
)

/** The current time by the service's clock, updated at this interval. */
export const useNow = (everyMs = 5000): Date => {
  const offset = clockOffset.use()
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return new Date(now + offset)
}

/** `2 min ago`, with the exact time on hover. */
export const Ago = ({ time }: { readonly time: string | null }) => {
  const now = useNow()
  if (time === null) return NONE
  const date = new Date(time)
  return (
    <time dateTime={time} title={exact(date)}>
      {relative(date, now)}
    </time>
  )
}

/**
 * `navigator.clipboard` exists in secure contexts only. Otherwise copies from a field next to `place`: while a dialog is open,
 * nothing outside it can be selected.
 */
const copyText = async (text: string, place: Element): Promise<void> => {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text)
  const field = document.createElement('textarea')
  field.value = text
  field.className = 'visually-hidden'
  place.after(field)
  field.select()
  const isCopied = document.execCommand('copy')
  field.remove()
  if (!isCopied) throw new Error('The browser does not allow it.')
}

const COPIED = { none: 'Copy', done: 'Copied', failed: 'Could not copy' } as const
const MARKS = {
  none: 'M4.5 4.5v-2h7v7h-2M2.5 4.5h7v7h-7z',
  done: 'M2.5 7.5 5.5 10.5 11.5 3.5',
  failed: 'M3 3l8 8M11 3l-8 8',
} as const

export const CopyButton = ({ text, what }: { readonly text: string; readonly what: string }) => {
  const [copied, setCopied] = useState<keyof typeof COPIED>('none')
  useEffect(() => {
    if (copied === 'none') return
    const timer = setTimeout(() => setCopied('none'), 2500)
    return () => clearTimeout(timer)
  }, [copied])
  const label = `${COPIED[copied]} ${what}`
  const copy = (button: HTMLButtonElement): void =>
    void copyText(text, button)
      .then(
        () => setCopied('done'),
        () => setCopied('failed'),
      )
      .then(() => button.focus())
  return (
    <button
      type="button"
      className={styles.copy}
      title={label}
      aria-label={label}
      onClick={({ currentTarget }) => copy(currentTarget)}
    >
      <svg
        width="14"
        height="14"
        viewBox="0 0 14 14"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.4"
        aria-hidden="true"
      >
        <path d={MARKS[copied]} />
      </svg>
    </button>
  )
}

/** A day in the reader's time zone, with the exact time on hover. */
export const Day = ({ time }: { readonly time: string }) => {
  const date = new Date(time)
  return (
    <time dateTime={time} title={exact(date)}>
      {day(date)}
    </time>
  )
}

/** A shortened id, with the full one on hover and a copy button. */
export const Id = ({ id }: { readonly id: string }) => (
  <span className={styles.id}>
    <span title={id}>{shortId(id)}</span>
    <CopyButton text={id} what={`id ${shortId(id)}`} />
  </span>
)

/** Several buttons or links in one cell. They stay together on a phone, where cells are flex boxes. */
export const Actions = ({ children }: { readonly children: ReactNode }) => (
  <span className={styles.actions}>{children}</span>
)

export const Command = ({ children }: { readonly children: string }) => (
  <div className={styles.command}>
    <code>{children}</code>
    <CopyButton text={children} what="command" />
  </div>
)
