import { randomBytes } from 'node:crypto'
import { type Caller, holds, SCOPES } from '../../../domain/access.ts'
import { forbidden, unauthorized } from '../../../domain/errors.ts'
import { ROLE_SCOPES } from '../../../domain/roles.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { onCommit } from '../../../platform/db/transactions.ts'
import { tokenHash } from '../../../platform/token-hash.ts'
import { auditNote } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import type { KeysService } from '../keys/keys.service.ts'
import { expiryOf, idleLimitOf, isRecent, lifetimeOf, requiresMfa } from './session-limits.service.ts'
import { type PersonalSession, type SessionPerson, type StoredSession, sessionsStore } from './sessions.store.ts'

/** The session of a signed-in browser: the token in its cookie, and how long that lasts. */
export interface OpenedSession {
  readonly token: string
  /** The lifetime of the cookie. */
  readonly seconds: number
  readonly session: StoredSession
  readonly caller: Caller
}

interface SignedIn {
  readonly browser: string
  /** Whether with two factors. */
  readonly mfa: boolean
  /** When they last proved their identity: now if absent; null if unknown. */
  readonly authenticatedAt?: Date | null
}

export interface SessionParts {
  readonly keys: KeysService
  /** Ends the sign-ins of programs that this session has approved and that have not got their key. */
  readonly endLogins: (tx: Executor, sessionId: string) => Promise<void>
}

/** Opens sessions, and finds the callers behind them. */
export const createSessionOpening = (
  { database, now, newId, config: { enrollment } }: Context,
  { keys }: SessionParts,
) => {
  const restrictionOf = (session: PersonalSession, person: SessionPerson): Pick<Caller, 'restriction'> => {
    const idleLimit = idleLimitOf(session)
    if (idleLimit !== null && !isRecent(session.usedAt, now(), idleLimit)) return { restriction: 'confirm' }
    return requiresMfa(person) && !session.mfa ? { restriction: 'enroll' } : {}
  }

  const callerFor = async (session: PersonalSession, tx?: Executor): Promise<Caller | null> => {
    const { person } = session
    const cookie = { sessionId: session.id, sessionHash: session.hash }
    const own = { ...cookie, keyId: session.id, deviceId: null }
    if (person !== null) {
      // A session that was opened with the person's own key ends with it, and may do no more.
      const key = session.keyId === null ? null : await keys.callerById(session.keyId, tx)
      if (session.keyId !== null && key === null) return null
      const scopes = ROLE_SCOPES[person.role]
      return {
        ...own,
        personId: person.id,
        ...(session.keyId !== null && { openedBy: session.keyId }),
        orgId: person.orgId,
        homeOrgId: person.orgId,
        grants: key === null ? scopes : scopes.filter((scope) => holds(key, scope)),
        ...restrictionOf(session, person),
      }
    }
    if (session.personId !== null) return null
    if (session.keyId !== null) {
      const caller = await keys.callerById(session.keyId, tx)
      return caller && { ...caller, ...cookie }
    }
    return enrollment === 'open' ? { ...own, orgId: null, grants: SCOPES, homeOrgId: null } : null
  }

  /** Has all processes check their open event streams after the commit. */
  const announceEnd = (): void => onCommit(async () => database.hints.send('keys'))

  const insert = async (
    tx: Executor,
    of: Pick<StoredSession, 'keyId' | 'personId' | 'authenticatedAt' | 'mfa' | 'browser'>,
    former: string | null,
  ): Promise<{ token: string; session: PersonalSession }> => {
    const token = randomBytes(32).toString('base64url')
    const at = now()
    const id = newId()
    const written = { ...of, id, hash: tokenHash(token), browser: of.browser.slice(0, 300), createdAt: at, usedAt: at }
    if (former !== null) {
      await sessionsStore.deleteByHash(tx, tokenHash(former))
      announceEnd()
    }
    await sessionsStore.insert(tx, { ...written, expiresAt: at })
    const session = (await sessionsStore.find(tx, id))!
    const expiresAt = expiryOf(session, at)
    await sessionsStore.extend(tx, id, at, expiresAt)
    return { token, session: { ...session, expiresAt } }
  }

  const opened = async (token: string, session: PersonalSession, tx?: Executor): Promise<OpenedSession | null> => {
    const caller = await callerFor(session, tx)
    return caller && { token, session, caller, seconds: lifetimeOf(session) / 1000 }
  }

  return {
    callerFor,
    announceEnd,

    /**
     * Opens a session for the key of `caller`, or without a key if none is needed. Never reuses a token that the browser sent:
     * its former session ends.
     * @throws forbidden for a device's own key, and without a key under token enrollment
     */
    async open(caller: Caller | null, browser: string, former: string | null): Promise<OpenedSession> {
      if (caller !== null && caller.deviceId !== null) {
        throw forbidden("A device's key cannot open a session. Use a key that was created for a person or a program.")
      }
      if (caller === null && enrollment === 'token') throw forbidden('Signing in to this service needs an API key.')
      const { keyId = null, personId = null } = caller ?? {}
      const of = { keyId, personId, authenticatedAt: null, mfa: false, browser }
      const { token, session } = await database.transaction(async (tx) => {
        const made = await insert(tx, of, former)
        const { id, person, expiresAt } = made.session
        if (person !== null && requiresMfa(person))
          throw forbidden(
            'Your organization requires a second factor: sign in to the dashboard instead of using your key.',
          )
        auditNote({ kind: 'session', id, after: { keyId, expiresAt }, ...(caller && { actor: caller }) })
        return made
      })
      const made = await opened(token, session)
      if (made === null) throw forbidden('The key is no longer valid.')
      return made
    },

    /**
     * Opens a session for a person who has proved their identity, in the transaction `tx` if it is given. The browser's former
     * session ends. @throws unauthorized if the person was removed meanwhile
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
        const made = await opened(token, session, db)
        if (made === null) throw unauthorized('This account was removed.')
        auditNote({ kind: 'session', id: session.id, after: { personId: person.id, mfa }, actor: made.caller })
        return made
      }
      return tx === undefined ? database.transaction(openIn) : openIn(tx)
    },

    /**
     * Continues the session of a person who has confirmed their identity (with two factors if `mfa`), with a new token. Event
     * streams of the former token end.
     * @throws unauthorized if it or the token that it had has ended meanwhile
     */
    async renew(
      tx: Executor,
      { id, hash }: Pick<StoredSession, 'id' | 'hash'>,
      { mfa }: { readonly mfa: boolean },
    ): Promise<OpenedSession> {
      const token = randomBytes(32).toString('base64url')
      const isRenewed = await sessionsStore.renew(tx, hash, { hash: tokenHash(token), mfa, at: now() })
      const session = isRenewed ? await sessionsStore.find(tx, id) : null
      const made = session && (await opened(token, session, tx))
      if (made === null) throw unauthorized('This session has ended. Sign in again.')
      announceEnd()
      return made
    },
  }
}
