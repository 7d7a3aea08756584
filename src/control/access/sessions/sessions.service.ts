import { LRUCache } from 'lru-cache'
import type { Caller } from '../../../domain/access.ts'
import { notFound } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import { createBatcher } from '../../../platform/db/batch.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { tokenHash } from '../../../platform/token-hash.ts'
import { auditNote } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import { expiryOf, hasEnded, idleLimitOf, isRecent } from './session-limits.service.ts'
import { createSessionOpening, type OpenedSession, type SessionParts } from './session-opening.service.ts'
import { type PersonalSession, type SessionPerson, sessionsStore } from './sessions.store.ts'

export type { PersonalSession, SessionPerson, StoredSession } from './sessions.store.ts'

/** The last use is written at most once in this time, or in a tenth of the idle limit if that is less. */
const WRITE_EVERY_MS = 15 * 60 * 1000
const TOKEN = /^[\w-]{43}$/
const MAX_LISTED = 1000
const MAX_VALID_TOKENS = 10_000

/** Sessions of browsers (the dashboard). A cookie has a random token that stands for a key or a person, and ends with it. */
export const createSessionsService = (context: Context, parts: SessionParts) => {
  const { database, now } = context
  const { keys, endLogins } = parts
  const { callerFor, announceEnd, ...opening } = createSessionOpening(context, parts)

  /** Hashes of tokens that were valid recently: requests with them do not count as guesses. */
  const validTokens = new LRUCache<string, true>({ maxSize: MAX_VALID_TOKENS, sizeCalculation: () => 1 })

  const lookUp = createBatcher<string, PersonalSession | null>({
    maxBatch: 1000,
    run: async (ids) => {
      const sessions = await sessionsStore.findByIds(database.sql, [...new Set(ids)])
      const found = new Map(sessions.map((session) => [session.id, session]))
      return ids.map((id) => found.get(id) ?? null)
    },
  })

  return {
    ...opening,

    /** Ends the sessions of a person, and with them the sign-ins that they approved. */
    async endOf(tx: Executor, personId: string): Promise<void> {
      await sessionsStore.endOf(tx, personId, null)
      announceEnd()
    },

    /** Continues a person's session like `renew`, and ends their others, and the sign-ins that any of them approved. */
    async renewAlone(
      tx: Executor,
      session: PersonalSession & { readonly person: SessionPerson },
      proof: { readonly mfa: boolean },
    ): Promise<OpenedSession> {
      // First, because approvals by this session that are under way hold its lock, and later ones need its former token.
      const renewed = await opening.renew(tx, session, proof)
      await sessionsStore.endOf(tx, session.person.id, session.id)
      await endLogins(tx, session.id)
      return renewed
    },

    /** The session in which a person is signed in now; null for other callers, and if its token was replaced meanwhile. */
    async ofPerson(caller: Caller): Promise<(PersonalSession & { readonly person: SessionPerson }) | null> {
      if (caller.personId === undefined || caller.sessionId === undefined) return null
      const session = await sessionsStore.find(database.sql, caller.sessionId)
      if (session === null || session.person === null || session.hash !== caller.sessionHash) return null
      return { ...session, person: session.person }
    },

    /**
     * Returns the caller behind a session's token; null if the token is unknown, or the session or its key has ended. Calls
     * `onCacheMiss` before looking up a token that was not valid recently; an error thrown there ends the lookup. A background
     * request, which a page sends by itself, does not count as use: a page that polls would never be idle.
     */
    async authenticate(
      token: string,
      onCacheMiss: () => void = () => undefined,
      isBackground = false,
    ): Promise<Caller | null> {
      if (!TOKEN.test(token)) return null
      const hash = tokenHash(token)
      if (!validTokens.has(hash)) onCacheMiss()
      const session = await sessionsStore.findByHash(database.sql, hash)
      const at = now()
      if (session === null || hasEnded(session, at)) return null
      validTokens.set(hash, true)
      const caller = await callerFor(session)
      const writeEvery = Math.min(WRITE_EVERY_MS, (idleLimitOf(session) ?? Number.POSITIVE_INFINITY) / 10)
      const isDue = !isRecent(session.usedAt, at, writeEvery)
      if (!isBackground && isDue && caller?.restriction !== 'confirm') {
        await sessionsStore.extend(database.sql, session.id, at, expiryOf(session, at))
      }
      return caller
    },

    /**
     * Whether an earlier caller is still valid: its key is not revoked, and its session has not ended, become restricted, or got
     * another token. Looks up callers together that are checked at the same time.
     */
    async isStillIn(caller: Caller): Promise<boolean> {
      if (caller.sessionId == null) return (await keys.callerById(caller.keyId)) !== null
      const session = await lookUp(caller.sessionId)
      if (session === null || session.hash !== caller.sessionHash || hasEnded(session, now())) return false
      const found = await callerFor(session)
      return found !== null && found.restriction === undefined
    },

    async close(token: string): Promise<void> {
      const session = await sessionsStore.findByHash(database.sql, tokenHash(token))
      if (session === null) return
      const actor = await callerFor(session)
      await database.transaction(async (tx) => {
        if (!(await sessionsStore.deleteByHash(tx, session.hash))) return
        announceEnd()
        auditNote({ kind: 'session', id: session.id, before: { keyId: session.keyId }, ...(actor && { actor }) })
      })
    },

    list: (caller: Caller): Promise<PersonalSession[]> =>
      sessionsStore.list(database.sql, { orgId: caller.orgId }, now(), MAX_LISTED),

    /** The sessions of the caller's own person. */
    listOwn: (caller: Caller & { readonly personId: string }): Promise<PersonalSession[]> =>
      sessionsStore.list(database.sql, { orgId: caller.orgId, personId: caller.personId }, now(), MAX_LISTED),

    async revoke(caller: Caller, id: string): Promise<void> {
      await database.transaction(async (tx) => {
        const ended = isUuid(id) ? await sessionsStore.delete(tx, id, caller.orgId) : null
        if (ended === null) throw notFound('Session', id)
        const { orgId, personId } = ended
        announceEnd()
        auditNote({ kind: 'session', id, orgId, before: { id, personId } })
      })
    },

    async revokeOwn(caller: Caller & { readonly personId: string }, id: string): Promise<void> {
      await database.transaction(async (tx) => {
        if (!isUuid(id) || !(await sessionsStore.deleteOwn(tx, id, caller.personId))) throw notFound('Session', id)
        announceEnd()
        auditNote({ kind: 'session', id, before: { id } })
      })
    },

    deleteEnded: (): Promise<void> => sessionsStore.deleteEnded(database.sql, now()),
  }
}

export type SessionsService = ReturnType<typeof createSessionsService>
