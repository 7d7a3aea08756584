/** Formats numbers, times, and sizes for display. All functions are pure; the clock is an argument. */

export const NONE = '–'

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })

export const count = (value: number | null | undefined): string =>
  value === null || value === undefined ? NONE : whole.format(value)

/** `plural(1, 'device')` -> `1 device` */
export const plural = (value: number, noun: string): string => `${count(value)} ${noun}${value === 1 ? '' : 's'}`

/** Four significant digits, so that a column of losses lines up; very large and very small values in scientific notation. */
export const measure = (value: number | null | undefined): string => {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE
  const size = Math.abs(value)
  if (size !== 0 && (size >= 1e6 || size < 1e-4)) return value.toExponential(2)
  return size >= 1000 ? whole.format(value) : value.toFixed(size >= 100 ? 1 : size >= 10 ? 2 : 4)
}

/** For a round value on an axis: `measure` without the zeros at the end of its decimals. */
export const tickLabel = (value: number): string =>
  measure(value).replace(/\.(\d*?)0+(?=e|$)/, (_, kept: string) => (kept === '' ? '' : `.${kept}`))

/** `0.913` -> `91.3%` */
export const percent = (share: number | null | undefined, digits = 1): string =>
  share === null || share === undefined || !Number.isFinite(share) ? NONE : `${(share * 100).toFixed(digits)}%`

/** A difference of shares: `0.02` -> `2.0 percentage points` */
export const points = (share: number): string => `${(share * 100).toFixed(1)} percentage points`

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB']

export const bytes = (value: number | null | undefined): string => {
  if (value === null || value === undefined) return NONE
  const unit = value < 1000 ? 0 : Math.floor(Math.log10(value) / 3)
  // 999.6 kB would be shown as 1000 kB.
  const power = Math.min(UNITS.length - 1, unit > 0 && value / 1000 ** unit >= 999.5 ? unit + 1 : unit)
  const scaled = value / 1000 ** power
  return `${power === 0 ? scaled : scaled.toFixed(scaled >= 100 ? 0 : scaled >= 10 ? 1 : 2)} ${UNITS[power]}`
}

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Formats a large unit and the remainder in the next smaller one, unless it is zero. */
const twoUnits = (value: number, large: number, small: number, names: readonly [string, string]): string => {
  const rest = (value % large) / small
  return `${Math.floor(value / large)} ${names[0]}${rest === 0 ? '' : ` ${rest} ${names[1]}`}`
}

const rounded = (value: number, unit: number): number => Math.round(value / unit) * unit

/** `3,720,000 ms` -> `1 h 2 min`: the two largest units. */
export const duration = (ms: number | null | undefined): string => {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return NONE
  const value = Math.max(0, ms)
  if (Math.round(value) < SECOND) return `${Math.round(value)} ms`
  if (value < 9.95 * SECOND) return `${(value / SECOND).toFixed(1)} s`
  const seconds = rounded(value, SECOND)
  if (seconds < MINUTE) return `${seconds / SECOND} s`
  if (seconds < HOUR) return twoUnits(seconds, MINUTE, SECOND, ['min', 's'])
  const minutes = rounded(value, MINUTE)
  if (minutes < DAY) return twoUnits(minutes, HOUR, MINUTE, ['h', 'min'])
  return twoUnits(rounded(value, HOUR), DAY, HOUR, ['d', 'h'])
}

const span = (ms: number): string => {
  if (ms < 59.5 * SECOND) return `${Math.round(ms / SECOND)} s`
  if (ms < 59.5 * MINUTE) return `${Math.round(ms / MINUTE)} min`
  if (ms < 23.5 * HOUR) return `${Math.round(ms / HOUR)} h`
  return `${Math.round(ms / DAY)} d`
}

/** `2 min ago`, `in 12 min`, `just now`. */
export const relative = (time: Date, now: Date): string => {
  const ms = now.getTime() - time.getTime()
  if (Math.abs(ms) < 5 * SECOND) return 'just now'
  return ms > 0 ? `${span(ms)} ago` : `in ${span(-ms)}`
}

/** In the reader's time zone and locale, to the second. */
export const exact = (time: Date, locale?: string): string =>
  time.toLocaleString(locale, { dateStyle: 'medium', timeStyle: 'medium' })

/** The same, to the day. */
export const day = (time: Date, locale?: string): string => time.toLocaleDateString(locale, { dateStyle: 'medium' })

const DAY_S = DAY / SECOND

/**
 * Labels for a time axis, in seconds since 1970, as precise as their spacing: `14:05:30`, `14:05`, or `Mar 3`. Among times of
 * day, midnight is also shown as a date.
 */
export const clock = (times: readonly number[], locale?: string): string[] => {
  const apart = (times[1] ?? Number.POSITIVE_INFINITY) - (times[0] ?? 0)
  return times.map((time) => {
    const date = new Date(time * SECOND)
    const isDay = apart >= DAY_S || (date.getHours() === 0 && date.getMinutes() === 0 && date.getSeconds() === 0)
    return date.toLocaleString(
      locale,
      isDay ? { day: 'numeric', month: 'short' } : { timeStyle: apart >= 60 ? 'short' : 'medium', hourCycle: 'h23' },
    )
  })
}

/** Shortens UUIDs and SHA-256 hashes: `0b6c4f0e-…` -> `0b6c4f0e`. Returns other ids unchanged. */
export const shortId = (id: string): string =>
  /^([0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{64})$/.test(id) ? id.slice(0, 8) : id

/** `rounds_done` -> `rounds done` */
export const words = (code: string): string => code.replaceAll('_', ' ')

/** Returns a state as display text, in American spelling: `cancelled` -> `canceled` */
export const stateName = (state: string): string => (state === 'cancelled' ? 'canceled' : words(state))

/** `api key` -> `Api key` */
export const capital = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1)

/** Returns the time from start to end, or until now while in progress; null before the start. */
export const elapsed = (start: string | null, end: string | null, now: Date): number | null =>
  start === null ? null : (end === null ? now.getTime() : Date.parse(end)) - Date.parse(start)
