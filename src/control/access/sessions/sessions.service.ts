import { createHash, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type Caller, type EnrollmentMode, SCOPES } from '../../../domain/access.ts'
import { forbidden, notFound } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import type { Database } from '../../../platform/db/open.ts'
import { auditNote } from '../../audit-note.ts'
import type { KeysService } from '../keys/keys.service.ts'
import type { SessionsStore, StoredSession } from './sessions.store.ts'

export type { StoredSession } from './sessions.store.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** A session ends so long after its last use, */
const IDLE_MS = 7 * DAY_MS
/** and so long after its beginning at the latest. */
export const LIFETIME_MS = 30 * DAY_MS
/** Its last use is not written more often than this. */
const WRITE_EVERY_MS = 15 * 60 * 1000
const TOKEN = /^[\w-]{43}$/
const MAX_LISTED = 1000
const MAX_FAMILIAR = 10_000

/** Sessions of browsers (the dashboard): a cookie's random token that stands for a key, and ends with it. */
export const createSessionsService = (parts: {
  readonly database: Database
  readonly store: SessionsStore
  readonly keys: KeysService
  readonly enrollment: EnrollmentMode
  readonly now: () => Date
  readonly newId: () => string
}) => {
  const { database, store, keys, enrollment, now, newId } = parts

  /** Hashes of tokens that were valid a while ago: whoever has one is no guesser. */
  const familiar = new LRUCache<string, true>({ maxSize: MAX_FAMILIAR, sizeCalculation: () => 1 })

  const expiryOf = (createdAt: Date, usedAt: Date): Date =>
    new Date(Math.min(usedAt.getTime() + IDLE_MS, createdAt.getTime() + LIFETIME_MS))

  const callerFor = async (session: StoredSession): Promise<Caller | null> => {
    if (session.keyId !== null) {
      const caller = await keys.callerById(session.keyId)
      return caller && { ...caller, sessionId: session.id }
    }
    if (enrollment !== 'open') return null
    return { keyId: session.id, sessionId: session.id, orgId: null, deviceId: null, grants: SCOPES, homeOrgId: null }
  }

  return {
    /**
     * Opens a session for the key of `caller`; without one where none is needed. Never takes a token that the browser
     * brought: the one it had is ended.
     * @throws forbidden for a device's own key, and without a key under token enrollment
     */
    async open(
      caller: Caller | null,
      browser: string,
      former: string | null,
    ): Promise<{ token: string; session: StoredSession; caller: Caller }> {
      if (caller !== null && caller.deviceId !== null) {
        throw forbidden("A device's own key opens no session. Use a key that was made for a person or a program.")
      }
      if (caller === null && enrollment === 'token') throw forbidden('Signing in to this service needs an API key.')
      const token = randomBytes(32).toString('base64url')
      const at = now()
      const session: StoredSession = {
        id: newId(),
        hash: hashOf(token),
        keyId: caller?.keyId ?? null,
        browser: browser.slice(0, 300),
        createdAt: at,
        usedAt: at,
        expiresAt: expiryOf(at, at),
      }
      await database.transaction(async (tx) => {
        if (former !== null) await store.deleteByHash(tx, hashOf(former))
        await store.insert(tx, session)
        const { id, keyId, expiresAt } = session
        auditNote({ kind: 'session', id, after: { keyId, expiresAt }, ...(caller && { actor: caller }) })
      })
      const opened = await callerFor(session)
      if (opened === null) throw forbidden('The key is not valid any more.')
      return { token, session, caller: opened }
    },

    /**
     * The caller behind a session's token; null when it is unknown or over, or its key is. Calls `unfamiliar` before the
     * database is asked for a token that was not seen valid before, and throws what that throws.
     */
    async authenticate(token: string, unfamiliar: () => void = () => undefined): Promise<Caller | null> {
      if (!TOKEN.test(token)) return null
      const hash = hashOf(token)
      if (!familiar.has(hash)) unfamiliar()
      const session = await store.findByHash(database.sql, hash)
      const at = now()
      if (session === null || session.expiresAt <= at) return null
      familiar.set(hash, true)
      if (at.getTime() - session.usedAt.getTime() > WRITE_EVERY_MS) {
        await store.extend(database.sql, session.id, at, expiryOf(session.createdAt, at))
      }
      return callerFor(session)
    },

    /** Whether a caller of a while ago would be one again: its key was not revoked since, and its session has not ended. */
    async isStillIn(caller: Caller): Promise<boolean> {
      if (caller.sessionId == null) return (await keys.callerById(caller.keyId)) !== null
      const session = await store.find(database.sql, caller.sessionId)
      return session !== null && session.expiresAt > now() && (await callerFor(session)) !== null
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

    list: (caller: Caller): Promise<StoredSession[]> => store.list(database.sql, caller.orgId, now(), MAX_LISTED),

    async revoke(caller: Caller, id: string): Promise<void> {
      await database.transaction(async (tx) => {
        const hash = isUuid(id) ? await store.delete(tx, id, caller.orgId) : null
        if (hash === null) throw notFound('Session', id)
        auditNote({ kind: 'session', id, before: { id } })
      })
    },

    deleteEnded: (): Promise<void> => store.deleteEnded(database.sql, now()),
  }
}

const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex')

export type SessionsService = ReturnType<typeof createSessionsService>
