import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { type Caller, type EnrollmentMode, SCOPES } from '../../../domain/access.ts'
import { badRequest, forbidden, unauthorized } from '../../../domain/errors.ts'
import type { Database } from '../../../platform/db/open.ts'
import type { KeysService } from '../keys/keys.service.ts'
import type { LoginStore } from './login.store.ts'

const CODE_LIFETIME_MS = 5 * 60 * 1000

/**
 * Browser login for the command line: authorization code with PKCE (RFC 7636, S256) over a loopback callback
 * (RFC 8252, section 7.3). The browser carries only a one-time code; the key goes straight to whoever holds the verifier.
 */
export const createLoginService = (parts: {
  readonly database: Database
  readonly store: LoginStore
  readonly keys: KeysService
  readonly enrollment: EnrollmentMode
  readonly now: () => Date
}) => {
  const { database, store, keys, enrollment, now } = parts
  return {
    /**
     * Approves a login; returns where to send the browser. Under open enrollment nobody needs a key for it.
     * @throws forbidden for a device's own key
     */
    async authorize(
      caller: Caller | null,
      request: { readonly challenge: string; readonly redirectUri: string; readonly state: string },
    ): Promise<string> {
      if (caller === null && enrollment === 'token') {
        throw unauthorized('Approving a login needs an API key of this service.')
      }
      if (caller !== null && caller.deviceId !== null) {
        throw forbidden("A device's key cannot approve a login. Use a key that was created for a person or a program.")
      }
      const callback = loopbackUrl(request.redirectUri)
      const code = randomBytes(32).toString('base64url')
      await store.deleteExpired(database.sql, now())
      await store.insert(database.sql, {
        hash: hashOf(code),
        challenge: request.challenge,
        redirectUri: callback.href,
        grants: caller === null ? SCOPES : caller.grants.filter((grant) => grant !== 'self'),
        orgId: caller?.orgId ?? null,
        // Under open enrollment a session may stand for no key.
        approvedBy: caller === null || caller.keyId === caller.sessionId ? null : caller.keyId,
        expiresAt: new Date(now().getTime() + CODE_LIFETIME_MS),
      })
      callback.searchParams.set('code', code)
      callback.searchParams.set('state', request.state)
      return callback.href
    },

    /** Exchanges a code, once, for a new key; unauthorized when the code or its verifier does not fit. */
    async exchange(code: string, verifier: string): Promise<{ token: string; orgId: string | null }> {
      const login = await store.take(database.sql, hashOf(code))
      const challenge = createHash('sha256').update(verifier).digest('base64url')
      if (login === null || login.expiresAt <= now() || !sameText(login.challenge, challenge)) {
        throw unauthorized('This login code is unknown, used or expired. Start again with: svc login')
      }
      const requested = { name: `svc login ${now().toISOString().slice(0, 10)}`, scopes: login.grants }
      const made =
        login.approvedBy === null
          ? await keys.make({ ...requested, orgId: login.orgId, expiresAt: null })
          : await keys.makeApproved(login.approvedBy, requested)
      if (made === null) throw unauthorized('The key that approved this login is no longer valid.')
      return { token: made.token, orgId: made.key.orgId }
    },
  }
}

const hashOf = (code: string): string => createHash('sha256').update(code).digest('hex')

const sameText = (a: string, b: string): boolean => {
  const left = Buffer.from(a)
  const right = Buffer.from(b)
  return left.length === right.length && timingSafeEqual(left, right)
}

/** Only http on this machine: a code must never be sent to somebody else's server. */
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
