// How long a session of a browser lasts, by its organization's rules, and whether it takes two factors.
import type { PersonalSession, SessionPerson } from './sessions.store.ts'

const MINUTE_MS = 60 * 1000
const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * 60 * 60 * 1000
/** How long after its last use a session ends, */
const IDLE_MS = 7 * DAY_MS
/** and how long after its beginning at the latest. */
const LIFETIME_MS = 30 * DAY_MS

export const lifetimeOf = ({ person }: PersonalSession): number =>
  person === null ? LIFETIME_MS : person.sessionHours * HOUR_MS

/** A session slides within its lifetime, which is its organization's where it is a person's. */
export const expiryOf = (session: PersonalSession, usedAt: Date): Date =>
  new Date(Math.min(usedAt.getTime() + IDLE_MS, session.createdAt.getTime() + lifetimeOf(session)))

/** The organization may have shortened the hours since it was written. */
export const hasEnded = (session: PersonalSession, at: Date): boolean =>
  session.expiresAt <= at || session.createdAt.getTime() + lifetimeOf(session) <= at.getTime()

export const idleLimitOf = ({ person }: PersonalSession): number =>
  person?.reauthenticateMinutes == null ? Number.POSITIVE_INFINITY : person.reauthenticateMinutes * MINUTE_MS

/** Whether their organization has them sign in by two factors. */
export const requiresMfa = ({ requireMfa, role }: SessionPerson): boolean =>
  requireMfa === 'all' || (requireMfa === 'admins' && role === 'admin')
