import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Caller, EnrollmentMode } from '../../../domain/access.ts'
import { badRequest, conflict, forbidden, unauthorized } from '../../../domain/errors.ts'
import type { Database } from '../../../platform/db/open.ts'
import { auditNote } from '../../audit-note.ts'
import type { KeysService, StoredKey } from '../keys/keys.service.ts'
import { approvalBy, requireApprover } from './approval.ts'
import type { LoginCode, LoginStore } from './login.store.ts'

const CODE_LIFETIME_MS = 5 * 60 * 1000
/** A link is opened at once, by the program that asked for it. */
const LINK_LIFETIME_MS = 60 * 1000
/** What a link's code has in place of a challenge: no verifier has this hash, so that it is exchanged for no key. */
const NO_CHALLENGE = ''

/**
 * Browser login for the command line: authorization code with PKCE (RFC 7636, S256) over a loopback callback
 * (RFC 8252, section 7.3). The browser carries only a one-time code; the key goes straight to the client that has the verifier.
 */
export const createLoginService = (parts: {
  readonly database: Database
  readonly store: LoginStore
  readonly keys: KeysService
  readonly enrollment: EnrollmentMode
  readonly now: () => Date
}) => {
  const { database, store, keys, enrollment, now } = parts

  const makeCode = async (
    caller: Caller | null,
    about: Pick<LoginCode, 'challenge' | 'redirectUri' | 'expiresAt'>,
  ): Promise<string> => {
    const code = randomBytes(32).toString('base64url')
    const approval = approvalBy(caller)
    await database.transaction(async (tx) => {
      await store.deleteExpired(tx, now())
      await store.insert(tx, { ...about, ...approval, hash: hashOf(code) })
      // Its code and hash are secret; the key that is made of it names who approved it.
      const { approvedBy, personId } = approval
      const after = { approvedBy, personId, expiresAt: about.expiresAt }
      auditNote({ kind: 'login', id: approvedBy ?? personId ?? 'open', after })
    })
    return code
  }

  return {
    /**
     * Approves a login; returns where to send the browser. Under open enrollment, no key is needed.
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
     * The code of a link that signs in another browser with the key of `caller`, once and within a minute.
     * @throws forbidden for a device's own key, conflict where a browser needs no key anyway
     */
    async makeLink(caller: Caller): Promise<{ code: string; expiresAt: Date }> {
      if (caller.deviceId !== null) {
        throw forbidden(
          "A device's key cannot sign in a browser. Use a key that was created for a person or a program.",
        )
      }
      if (caller.personId !== undefined && caller.keyId === caller.sessionId) {
        throw forbidden(
          'A browser session cannot create sign-in links. Sign in on the other browser, or make a link with: svc dashboard',
        )
      }
      if (enrollment === 'open') throw conflict('This service requires no sign-in: open its dashboard.')
      const expiresAt = new Date(now().getTime() + LINK_LIFETIME_MS)
      return { code: await makeCode(caller, { challenge: NO_CHALLENGE, redirectUri: '', expiresAt }), expiresAt }
    },

    /** The caller that a link was made by, once. @throws unauthorized when it is unknown, used or expired, or its key is */
    async redeemLink(code: string): Promise<Caller> {
      const link = await store.take(database.sql, hashOf(code))
      const isValid = link !== null && link.challenge === NO_CHALLENGE && link.expiresAt > now()
      const caller = isValid && link.approvedBy !== null ? await keys.callerById(link.approvedBy) : null
      if (caller === null) {
        throw unauthorized('This link is unknown, used or expired. Make another one with: svc dashboard')
      }
      return caller
    },

    /** Exchanges a code, once, for a new key; unauthorized when the code or its verifier does not fit. */
    async exchange(code: string, verifier: string): Promise<{ key: StoredKey; token: string }> {
      const challenge = createHash('sha256').update(verifier).digest('base64url')
      const made = await database.transaction(async (tx) => {
        const login = await store.take(tx, hashOf(code))
        if (login === null || login.expiresAt <= now() || !sameText(login.challenge, challenge)) return null
        return keys.makeForLogin(tx, login, `svc login ${now().toISOString().slice(0, 10)}`)
      })
      if (made === null) {
        throw unauthorized('This sign-in code is unknown, used or expired. Start again with: svc login')
      }
      return made
    },
  }
}

const hashOf = (code: string): string => createHash('sha256').update(code).digest('hex')

const sameText = (a: string, b: string): boolean => {
  const left = Buffer.from(a)
  const right = Buffer.from(b)
  return left.length === right.length && timingSafeEqual(left, right)
}

/** Only http on this machine: a code must never be sent to another server. */
const loopbackUrl = (text: string): URL => {
  const url = URL.canParse(text) ? new URL(text) : null
  const isLoopback = url !== null && ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname)
  if (url === null || url.protocol !== 'http:' || !isLoopback || url.username !== '') {
    throw badRequest('redirect_uri must be an http address on this machine, such as http://127.0.0.1:49152/callback.')
  }
  url.search = ''
  url.hash = ''
  return url
}

export type LoginService = ReturnType<typeof createLoginService>
