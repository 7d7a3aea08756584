import * as oidc from 'openid-client'
import type { Config } from '../../../config.ts'
import { normalizeAddress } from '../../../domain/email-address.ts'
import { errorMessage } from '../../../domain/error-message.ts'
import { forbidden, ServiceError, unauthorized } from '../../../domain/errors.ts'
import { cut } from '../../../domain/text.ts'

/** Time limit for discovery, tokens, and keys together. */
const TIMEOUT_MS = 5000
/** The provider sends `auth_time` only if a limit is requested: this one never applies. */
const ANY_AGE_SECONDS = 30 * 24 * 60 * 60

export type ProviderSettings = NonNullable<Config['oidc']>

/** The secrets of a browser's visit to the provider; they are never shown. */
export interface AuthorizationRequest {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  readonly redirectUri: string
  /** Whether a person who is already signed in proves their identity again. */
  readonly fresh: boolean
}

/** The identity that the provider confirms. */
export interface VerifiedIdentity {
  /** Issuer and subject in one text, separated by a space: an issuer contains none. */
  readonly identity: string
  /** Null if the provider has not verified that it is theirs. */
  readonly email: string | null
  readonly name: string | null
  /** Whether they used two factors there: `amr` has `mfa` (RFC 8176). */
  readonly mfa: boolean
  /** Seconds since they last proved their identity there; null if the provider does not report it. */
  readonly ageSeconds: number | null
}

const isTimeout = (error: unknown): boolean =>
  (error instanceof Error && error.name === 'TimeoutError') ||
  (error instanceof oidc.ClientError && error.code === 'OAUTH_TIMEOUT')

/** OpenID Connect 1.0: the authorization code flow with PKCE, using openid-client. */
export const createIdentityProvider = ({ issuer, clientId, clientSecret }: ProviderSettings) => {
  const url = new URL(issuer)
  let found: Promise<oidc.Configuration> | null = null

  /** Uses client_secret_basic unless the provider does not support it (OpenID Connect Core, section 9). */
  const authenticate: oidc.ClientAuth = (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    const method = methods.includes('client_secret_basic') ? oidc.ClientSecretBasic : oidc.ClientSecretPost
    return method(clientSecret)(server, ...rest)
  }

  const unreachable = (error: unknown): ServiceError => {
    const late = isTimeout(error)
    const reason = late ? `it took longer than ${TIMEOUT_MS / 1000} s` : reasonOf(error)
    return new ServiceError(
      late ? 'upstream_timeout' : 'upstream_failed',
      `The identity provider ${url.host} cannot be used now: ${reason}. Try again, or sign in another way.`,
      { cause: error },
    )
  }

  /** Keeps the result; after a failure, the next sign-in tries again. */
  const discover = (): Promise<oidc.Configuration> =>
    (found ??= oidc
      .discovery(url, clientId, undefined, authenticate, {
        timeout: TIMEOUT_MS / 1000,
        execute: url.protocol === 'http:' ? [oidc.allowInsecureRequests] : [],
      })
      .catch((error: unknown) => {
        found = null
        throw unreachable(error)
      }))

  /** @throws upstream_timeout after five seconds, whatever the provider does */
  const inTime = async <T>(work: Promise<T>): Promise<T> => {
    const limit = AbortSignal.timeout(TIMEOUT_MS)
    const late = new Promise<never>((_, reject) => {
      limit.addEventListener('abort', () => reject(unreachable(limit.reason)), { once: true })
    })
    return Promise.race([work, late])
  }

  const claimsOf = async (config: oidc.Configuration, response: URL, request: AuthorizationRequest) => {
    const tokens = await oidc.authorizationCodeGrant(config, response, {
      expectedState: request.state,
      expectedNonce: request.nonce,
      pkceCodeVerifier: request.verifier,
      idTokenExpected: true,
      // Allows some minutes for a page of the provider between its sign-in and the redirect.
      ...(request.fresh && { maxAge: 5 * 60 }),
    })
    const claims = tokens.claims()!
    // Claims of the scope `email` are in the user info, and with some providers also in the ID token (Core, 5.4).
    if (claims.email !== undefined || config.serverMetadata().userinfo_endpoint === undefined) return claims
    return { ...(await oidc.fetchUserInfo(config, tokens.access_token, claims.sub)), ...claims }
  }

  const refusalOf = (error: unknown): ServiceError => {
    if (error instanceof ServiceError) return error
    if (error instanceof oidc.AuthorizationResponseError) {
      return forbidden(`The identity provider ${url.host} did not sign you in: ${wordOf(error.error)}.`)
    }
    if (error instanceof oidc.ResponseBodyError && error.error === 'invalid_grant') {
      return unauthorized('This sign-in was used before, or has expired. Begin again.')
    }
    const code = error instanceof oidc.ClientError ? error.code : undefined
    if (
      error instanceof oidc.ResponseBodyError ||
      code === undefined ||
      /TIMEOUT|ABORT|STATUS|CONTENT_TYPE/.test(code)
    ) {
      return unreachable(error)
    }
    return unauthorized(`The response of ${url.host} is not valid: ${reasonOf(error)}. Begin again.`)
  }

  return {
    /** The name of the provider for people: its host. */
    name: url.host,

    /** Returns where to send the browser. @throws upstream_failed, upstream_timeout */
    async begin(
      redirectUri: string,
      { fresh, email }: { readonly fresh: boolean; readonly email: string | null },
    ): Promise<{ address: string; request: AuthorizationRequest }> {
      const config = await inTime(discover())
      const verifier = oidc.randomPKCECodeVerifier()
      const request = { state: oidc.randomState(), nonce: oidc.randomNonce(), verifier, redirectUri, fresh }
      const address = oidc.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: 'openid email profile',
        state: request.state,
        nonce: request.nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        max_age: fresh ? '0' : String(ANY_AGE_SECONDS),
        ...(fresh && { prompt: 'login' }),
        ...(email !== null && { login_hint: email }),
      })
      return { address: address.href, request }
    },

    /**
     * Returns the identity that the provider confirms; `query` is what it appended to the address.
     * @throws unauthorized for a response to another request; forbidden if it refuses; upstream_failed, upstream_timeout
     */
    async finish(query: string, request: AuthorizationRequest): Promise<VerifiedIdentity> {
      const response = new URL(request.redirectUri)
      response.search = query
      try {
        const claims = await inTime(discover().then((config) => claimsOf(config, response, request)))
        const { iss, sub, email, name, amr, auth_time: at } = claims
        if (sub === '' || sub.length > MAX_SUBJECT)
          throw unauthorized(`The response of ${url.host} is not valid: sub must have 1 to ${MAX_SUBJECT} characters.`)
        return {
          identity: `${iss} ${sub}`,
          email: typeof email === 'string' && claims.email_verified === true ? normalizeAddress(email) : null,
          name: typeof name === 'string' ? cut(name.replace(/\p{C}+/gu, ' ').trim(), 128) || null : null,
          mfa: Array.isArray(amr) && amr.includes('mfa'),
          ageSeconds: typeof at === 'number' ? Math.max(0, Date.now() / 1000 - at) : null,
        }
      } catch (error) {
        throw refusalOf(error)
      }
    },
  }
}

/** OpenID Connect Core, section 2. */
const MAX_SUBJECT = 255

/** Returns an error code from the provider, which can be any text. */
const wordOf = (code: string): string => (/^[a-z_]{1,64}$/.test(code) ? code : 'unknown error code')

const reasonOf = (error: unknown): string => {
  if (error instanceof oidc.ResponseBodyError) return `it refused this service (${wordOf(error.error)})`
  const { cause = null } = error instanceof Error ? error : {}
  const message = cause instanceof Error ? cause.message : errorMessage(error)
  if (/auth_time|End-User authentication/.test(message))
    return 'it does not confirm that you signed in there within the last 5 minutes (auth_time)'
  return message.slice(0, 200)
}

export type IdentityProvider = ReturnType<typeof createIdentityProvider>
