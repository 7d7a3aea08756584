// How long a browser's session lasts under its organization's rules, and whether it requires two factors.
import type { PersonalSession, SessionPerson } from './sessions.store.ts'

const MINUTE_MS = 60 * 1000
const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * 60 * 60 * 1000
/** How far apart the clocks of processes may be (decision 0193). */
const CLOCK_SKEW_MS = HOUR_MS
/** How long after its last use a session ends. */
const IDLE_MS = 7 * DAY_MS
/** How long after its beginning a session ends at the latest. */
const LIFETIME_MS = 30 * DAY_MS

export const lifetimeOf = ({ person }: PersonalSession): number =>
  person === null ? LIFETIME_MS : person.sessionHours * HOUR_MS

/** Each use extends a session within its lifetime, which the organization sets for a person's session. */
export const expiryOf = (session: PersonalSession, usedAt: Date): Date =>
  new Date(Math.min(usedAt.getTime() + IDLE_MS, session.createdAt.getTime() + lifetimeOf(session)))

/** The organization may have shortened the hours since `expiresAt` was written. */
export const hasEnded = (session: PersonalSession, at: Date): boolean =>
  session.expiresAt <= at || session.createdAt.getTime() + lifetimeOf(session) <= at.getTime()

/** Null if a session may be idle for as long as it lasts. */
export const idleLimitOf = ({ person }: PersonalSession): number | null =>
  person?.reauthenticateMinutes == null ? null : person.reauthenticateMinutes * MINUTE_MS

/** Whether `then` is at most `limit` ago. A later time is from a clock that was ahead and says nothing about how long ago it was. */
export const isRecent = (then: Date, at: Date, limit: number): boolean => {
  const age = at.getTime() - then.getTime()
  return age >= -CLOCK_SKEW_MS && age <= limit
}

/** Whether the organization requires two factors from this person. */
export const requiresMfa = ({ requireMfa, role }: SessionPerson): boolean =>
  requireMfa === 'all' || (requireMfa === 'admins' && role === 'admin')
