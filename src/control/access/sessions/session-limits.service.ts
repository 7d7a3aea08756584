// How long a browser's session lasts under its organization's rules, and whether it requires two factors.
import type { PersonalSession, SessionPerson } from './sessions.store.ts'

const MINUTE_MS = 60 * 1000
const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * 60 * 60 * 1000
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

export const idleLimitOf = ({ person }: PersonalSession): number =>
  person?.reauthenticateMinutes == null ? Number.POSITIVE_INFINITY : person.reauthenticateMinutes * MINUTE_MS

/** Whether the organization requires two factors from this person. */
export const requiresMfa = ({ requireMfa, role }: SessionPerson): boolean =>
  requireMfa === 'all' || (requireMfa === 'admins' && role === 'admin')
