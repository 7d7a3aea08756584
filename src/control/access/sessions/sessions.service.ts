import { createHash, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type Caller, type EnrollmentMode, SCOPES } from '../../../domain/access.ts'
import { forbidden, notFound, unauthorized } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import { ROLE_SCOPES } from '../../../domain/roles.ts'
import type { Database, Executor } from '../../../platform/db/open.ts'
import { auditNote } from '../../audit-note.ts'
import type { KeysService } from '../keys/keys.service.ts'
import type { PersonalSession, SessionPerson, SessionsStore, StoredSession } from './sessions.store.ts'

export type { PersonalSession, SessionPerson, StoredSession } from './sessions.store.ts'

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * 60 * 60 * 1000
/** How long after its last use a session ends, */
const IDLE_MS = 7 * DAY_MS
/** and how long after its beginning at the latest. */
export const LIFETIME_MS = 30 * DAY_MS
/** Its last use is not written more often than this; where it matters after fewer minutes, ten times in them. */
const WRITE_EVERY_MS = 15 * 60 * 1000
const MINUTE_MS = 60 * 1000
const TOKEN = /^[\w-]{43}$/
const MAX_LISTED = 1000
const MAX_VALID_TOKENS = 10_000

/** A browser that is signed in: what its cookie carries, and for how long. */
export interface OpenedSession {
  readonly token: string
  /** Of the cookie. */
  readonly seconds: number
  readonly session: StoredSession
  readonly caller: Caller
}

interface SignedIn {
  readonly browser: string
  /** By two factors. */
  readonly mfa: boolean
  /** When they last proved their identity: now if absent; null if unknown. */
  readonly authenticatedAt?: Date | null
}

const lifetimeOf = ({ person }: PersonalSession): number =>
  person === null ? LIFETIME_MS : person.sessionHours * HOUR_MS

/** A session slides within its lifetime, which is its organization's where it is a person's. */
const expiryOf = (session: PersonalSession, usedAt: Date): Date =>
  new Date(Math.min(usedAt.getTime() + IDLE_MS, session.createdAt.getTime() + lifetimeOf(session)))

/** The organization may have shortened the hours since it was written. */
const hasEnded = (session: PersonalSession, at: Date): boolean =>
  session.expiresAt <= at || session.createdAt.getTime() + lifetimeOf(session) <= at.getTime()

const idleLimitOf = ({ person }: PersonalSession): number =>
  person?.reauthenticateMinutes == null ? Number.POSITIVE_INFINITY : person.reauthenticateMinutes * MINUTE_MS

/** Whether their organization has them sign in by two factors. */
export const requiresMfa = ({ requireMfa, role }: SessionPerson): boolean =>
  requireMfa === 'all' || (requireMfa === 'admins' && role === 'admin')

interface SessionParts {
  readonly database: Database
  readonly store: SessionsStore
  readonly keys: KeysService
  readonly enrollment: EnrollmentMode
  readonly now: () => Date
  readonly newId: () => string
}

/** Opens sessions, and finds the person behind a session. */
const createSessionOpening = ({ database, store, keys, enrollment, now, newId }: SessionParts) => {
  const restrictionOf = (session: PersonalSession, person: SessionPerson): Pick<Caller, 'restriction'> => {
    if (now().getTime() - session.usedAt.getTime() > idleLimitOf(session)) return { restriction: 'confirm' }
    return requiresMfa(person) && !session.mfa ? { restriction: 'enroll' } : {}
  }

  const callerFor = async (session: PersonalSession): Promise<Caller | null> => {
    const { person } = session
    const own = { keyId: session.id, sessionId: session.id, deviceId: null }
    if (person !== null) {
      return {
        ...own,
        personId: person.id,
        orgId: person.orgId,
        homeOrgId: person.orgId,
        grants: ROLE_SCOPES[person.role],
        ...restrictionOf(session, person),
      }
    }
    if (session.personId !== null) return null
    if (session.keyId !== null) {
      const caller = await keys.callerById(session.keyId)
      return caller && { ...caller, sessionId: session.id }
    }
    return enrollment === 'open' ? { ...own, orgId: null, grants: SCOPES, homeOrgId: null } : null
  }

  const insert = async (
    tx: Executor,
    of: Pick<StoredSession, 'keyId' | 'personId' | 'authenticatedAt' | 'mfa' | 'browser'>,
    former: string | null,
  ): Promise<{ token: string; session: PersonalSession }> => {
    const token = randomBytes(32).toString('base64url')
    const at = now()
    const id = newId()
    const written = { ...of, id, hash: hashOf(token), browser: of.browser.slice(0, 300), createdAt: at, usedAt: at }
    if (former !== null) await store.deleteByHash(tx, hashOf(former))
    await store.insert(tx, { ...written, expiresAt: at })
    const session = (await store.find(tx, id))!
    const expiresAt = expiryOf(session, at)
    await store.extend(tx, id, at, expiresAt)
    return { token, session: { ...session, expiresAt } }
  }

  const opened = async (token: string, session: PersonalSession): Promise<OpenedSession | null> => {
    const caller = await callerFor(session)
    return caller && { token, session, caller, seconds: lifetimeOf(session) / 1000 }
  }

  return {
    callerFor,

    /**
     * Opens a session for the key of `caller`; without one where none is needed. Never takes a token that the browser
     * brought: the one it had is ended.
     * @throws forbidden for a device's own key, and without a key under token enrollment
     */
    async open(caller: Caller | null, browser: string, former: string | null): Promise<OpenedSession> {
      if (caller !== null && caller.deviceId !== null) {
        throw forbidden("A device's key cannot open a session. Use a key that was created for a person or a program.")
      }
      if (caller === null && enrollment === 'token') throw forbidden('Signing in to this service needs an API key.')
      const of = { keyId: caller?.keyId ?? null, personId: null, authenticatedAt: null, mfa: false, browser }
      const { token, session } = await database.transaction(async (tx) => {
        const made = await insert(tx, of, former)
        const { id, keyId, expiresAt } = made.session
        auditNote({ kind: 'session', id, after: { keyId, expiresAt }, ...(caller && { actor: caller }) })
        return made
      })
      const made = await opened(token, session)
      if (made === null) throw forbidden('The key is no longer valid.')
      return made
    },

    /**
     * Opens a session for a person who has proved their identity, in the transaction `tx`
     * where there is one. The one that the browser had is ended. @throws unauthorized when they were removed meanwhile
     */
    async openFor(
      person: { readonly id: string },
      { browser, mfa, authenticatedAt = now() }: SignedIn,
      former: string | null,
      tx?: Executor,
    ): Promise<OpenedSession> {
      const of = { keyId: null, personId: person.id, authenticatedAt, mfa, browser }
      const openIn = async (db: Executor): Promise<OpenedSession> => {
        const { token, session } = await insert(db, of, former)
        const made = await opened(token, session)
        if (made === null) throw unauthorized('This account was removed.')
        auditNote({ kind: 'session', id: session.id, after: { personId: person.id, mfa }, actor: made.caller })
        return made
      }
      return tx === undefined ? database.transaction(openIn) : openIn(tx)
    },

    /**
     * A person has confirmed their identity, `mfa` by two factors: their session continues with a new token.
     * @throws unauthorized when it has ended meanwhile
     */
    async renew(tx: Executor, id: string, { mfa }: { readonly mfa: boolean }): Promise<OpenedSession> {
      const token = randomBytes(32).toString('base64url')
      await store.renew(tx, id, { hash: hashOf(token), mfa, at: now() })
      const session = await store.find(tx, id)
      const made = session && (await opened(token, session))
      if (made === null) throw unauthorized('This session has ended. Sign in again.')
      return made
    },
  }
}

/** Sessions of browsers (the dashboard): a cookie's random token that stands for a key or a person, and ends with it. */
export const createSessionsService = (parts: SessionParts) => {
  const { database, store, keys, now } = parts
  const { callerFor, ...opening } = createSessionOpening(parts)

  /** Hashes of tokens that were valid recently: requests with them are not limited as guesses. */
  const validTokens = new LRUCache<string, true>({ maxSize: MAX_VALID_TOKENS, sizeCalculation: () => 1 })

  return {
    ...opening,

    /** Ends the sessions of a person; all but the one to keep. */
    endOf: (tx: Executor, personId: string, keptId: string | null): Promise<void> => store.endOf(tx, personId, keptId),

    /** A person's session, in which they are signed in now; null for other callers. */
    async ofPerson(caller: Caller): Promise<(PersonalSession & { readonly person: SessionPerson }) | null> {
      if (caller.personId === undefined || caller.sessionId === undefined) return null
      const session = await store.find(database.sql, caller.sessionId)
      return session === null || session.person === null ? null : { ...session, person: session.person }
    },

    /**
     * The caller behind a session's token; null when the token is unknown, or the session or its key has ended. Calls
     * `onCacheMiss` before it looks up a token that was not valid recently; an error thrown there ends the lookup.
     */
    async authenticate(token: string, onCacheMiss: () => void = () => undefined): Promise<Caller | null> {
      if (!TOKEN.test(token)) return null
      const hash = hashOf(token)
      if (!validTokens.has(hash)) onCacheMiss()
      const session = await store.findByHash(database.sql, hash)
      const at = now()
      if (session === null || hasEnded(session, at)) return null
      validTokens.set(hash, true)
      const caller = await callerFor(session)
      const writeEvery = Math.min(WRITE_EVERY_MS, idleLimitOf(session) / 10)
      if (caller?.restriction !== 'confirm' && at.getTime() - session.usedAt.getTime() > writeEvery) {
        await store.extend(database.sql, session.id, at, expiryOf(session, at))
      }
      return caller
    },

    /** Whether a caller of a while ago would be one again: its key was not revoked since, and its session has not ended. */
    async isStillIn(caller: Caller): Promise<boolean> {
      if (caller.sessionId == null) return (await keys.callerById(caller.keyId)) !== null
      const session = await store.find(database.sql, caller.sessionId)
      if (session === null || hasEnded(session, now())) return false
      const found = await callerFor(session)
      return found !== null && found.restriction === undefined
    },

    async close(token: string): Promise<void> {
      const session = await store.findByHash(database.sql, hashOf(token))
      if (session === null) return
      const actor = await callerFor(session)
      await database.transaction(async (tx) => {
        await store.deleteByHash(tx, session.hash)
        auditNote({ kind: 'session', id: session.id, before: { keyId: session.keyId }, ...(actor && { actor }) })
      })
    },

    list: (caller: Caller): Promise<PersonalSession[]> =>
      store.list(database.sql, { orgId: caller.orgId }, now(), MAX_LISTED),

    /** Those of the caller's own person. */
    listOwn: (caller: Caller & { readonly personId: string }): Promise<PersonalSession[]> =>
      store.list(database.sql, { orgId: caller.orgId, personId: caller.personId }, now(), MAX_LISTED),

    async revoke(caller: Caller, id: string): Promise<void> {
      await database.transaction(async (tx) => {
        const ended = isUuid(id) ? await store.delete(tx, id, caller.orgId) : null
        if (ended === null) throw notFound('Session', id)
        const { orgId, personId } = ended
        auditNote({ kind: 'session', id, orgId, before: { id, personId } })
      })
    },

    async revokeOwn(caller: Caller & { readonly personId: string }, id: string): Promise<void> {
      await database.transaction(async (tx) => {
        if (!isUuid(id) || !(await store.deleteOwn(tx, id, caller.personId))) throw notFound('Session', id)
        auditNote({ kind: 'session', id, before: { id } })
      })
    },

    deleteEnded: (): Promise<void> => store.deleteEnded(database.sql, now()),
  }
}

const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex')

export type SessionsService = ReturnType<typeof createSessionsService>
