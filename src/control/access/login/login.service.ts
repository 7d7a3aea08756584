import { createHash, randomBytes } from 'node:crypto'
import type { Caller } from '../../../domain/access.ts'
import { hasCredentials } from '../../../domain/address-credentials.ts'
import { badRequest, conflict, forbidden, unauthorized } from '../../../domain/errors.ts'
import { isLoopback } from '../../../domain/loopback.ts'
import { isSameText, tokenHash } from '../../../platform/token-hash.ts'
import { auditNote } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import type { KeysService, StoredKey } from '../keys/keys.service.ts'
import { approvalBy, lockSession, requireApprover } from './approval.service.ts'
import { type LoginCode, loginStore } from './login.store.ts'

const CODE_LIFETIME_MS = 5 * 60 * 1000
/** The program that asked for a link opens it at once. */
const LINK_LIFETIME_MS = 60 * 1000
/** Replaces the challenge in the code of a link. No verifier has this hash, so the code cannot be exchanged for a key. */
const NO_CHALLENGE = ''

/**
 * Browser login for the command line: authorization code with PKCE (RFC 7636, S256) over a loopback callback
 * (RFC 8252, section 7.3). The browser carries only a one-time code; the key goes straight to the client that has the verifier.
 */
export const createLoginService = (
  { database, now, config: { enrollment } }: Context,
  { keys }: { readonly keys: KeysService },
) => {
  const makeCode = async (
    caller: Caller | null,
    about: Pick<LoginCode, 'challenge' | 'redirectUri' | 'expiresAt'>,
  ): Promise<string> => {
    const code = randomBytes(32).toString('base64url')
    const approval = approvalBy(caller)
    await database.transaction(async (tx) => {
      await lockSession(tx, caller)
      await loginStore.deleteExpired(tx, now())
      await loginStore.insert(tx, { ...about, ...approval, hash: tokenHash(code) })
      // The code and its hash are secret, so the approver identifies the login; the key made from it names the approver.
      const { approvedBy, personId } = approval
      const after = { approvedBy, personId, expiresAt: about.expiresAt }
      auditNote({ kind: 'login', id: approvedBy ?? personId ?? 'open', after })
    })
    return code
  }

  return {
    /** Deletes the codes that this session approved. */
    endOf: loginStore.deleteOf,

    /**
     * Approves a login; returns where to redirect the browser. Under open enrollment, no key is needed.
     * @throws forbidden for a device's own key
     */
    async authorize(
      caller: Caller | null,
      request: { readonly challenge: string; readonly redirectUri: string; readonly state: string },
    ): Promise<string> {
      requireApprover(caller, enrollment)
      const callback = loopbackUrl(request.redirectUri)
      const expiresAt = new Date(now().getTime() + CODE_LIFETIME_MS)
      const code = await makeCode(caller, { challenge: request.challenge, redirectUri: callback.href, expiresAt })
      callback.searchParams.set('code', code)
      callback.searchParams.set('state', request.state)
      return callback.href
    },

    /**
     * Creates the code of a link that signs in another browser with the key of `caller`, once and within a minute.
     * @throws forbidden for a device's own key or a person's session, conflict if a browser needs no key anyway
     */
    async makeLink(caller: Caller): Promise<{ code: string; expiresAt: Date }> {
      if (caller.deviceId !== null) {
        throw forbidden(
          "A device's key cannot sign in a browser. Use a key that was created for a person or a program.",
        )
      }
      if (caller.personId !== undefined && caller.keyId === caller.sessionId) {
        throw forbidden(
          'A browser session cannot create sign-in links. Sign in on the other browser, or create a link with: svc dashboard',
        )
      }
      if (enrollment === 'open') throw conflict('This service requires no sign-in: open its dashboard.')
      const expiresAt = new Date(now().getTime() + LINK_LIFETIME_MS)
      return { code: await makeCode(caller, { challenge: NO_CHALLENGE, redirectUri: '', expiresAt }), expiresAt }
    },

    /** Returns the caller that created a link, once. @throws unauthorized if it is unknown, used or expired, or its key is */
    async redeemLink(code: string): Promise<Caller> {
      const link = await loginStore.take(database.sql, tokenHash(code))
      const isValid = link !== null && link.challenge === NO_CHALLENGE && link.expiresAt > now()
      const caller = isValid && link.approvedBy !== null ? await keys.callerById(link.approvedBy) : null
      if (caller === null) {
        throw unauthorized('This link is unknown, used, or expired. Create another one with: svc dashboard')
      }
      return caller
    },

    /** Exchanges a code, once, for a new key. @throws unauthorized if the code or its verifier is wrong */
    async exchange(code: string, verifier: string): Promise<{ key: StoredKey; token: string }> {
      const challenge = createHash('sha256').update(verifier).digest('base64url')
      const made = await database.transaction(async (tx) => {
        const login = await loginStore.take(tx, tokenHash(code))
        if (login === null || login.expiresAt <= now() || !isSameText(login.challenge, challenge)) return null
        return keys.makeForLogin(tx, login, `svc login ${now().toISOString().slice(0, 10)}`)
      })
      if (made === null) {
        throw unauthorized('This sign-in code is unknown, used, or expired. Start again with: svc login')
      }
      return made
    },
  }
}

/** Accepts only http on this machine: a code must never be sent to another server. */
const loopbackUrl = (text: string): URL => {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || url.protocol !== 'http:' || !isLoopback(url.hostname) || hasCredentials(url)) {
    throw badRequest('redirect_uri must be an http address on this machine, such as http://127.0.0.1:49152/callback.')
  }
  url.search = ''
  url.hash = ''
  return url
}

export type LoginService = ReturnType<typeof createLoginService>
