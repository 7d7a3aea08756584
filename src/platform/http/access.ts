import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import {
  type Caller,
  DEVICE_GRANTS,
  type Grant,
  holds,
  isDeviceKey,
  type Restriction,
  SCOPES,
} from '../../domain/access.ts'
import { forbidden, ServiceError, unauthorized } from '../../domain/errors.ts'
import type { App } from './app.ts'
import { type Access, type RouteConfig, routeConfigOf } from './route-config.ts'
import { isSameOrigin, sessionTokenIn } from './session-cookie.ts'

/**
 * Looks up the owner of a key; null if it is unknown, expired or revoked. May throw a more specific 401. Calls `onCacheMiss`
 * before looking up a key that has not been valid before; an error thrown there becomes the response.
 */
export type Authenticate = (bearerToken: string, onCacheMiss: () => void) => Promise<Caller | null>

/** Counts a request toward its caller's rate limit (on public routes, its address's); throws rate_limited. */
export type Admit = (caller: Caller | null, request: FastifyRequest, reply: FastifyReply) => void

/** Limits key guessing. Keys that were valid before are exempt, so an attacker cannot lock anyone out. */
export interface GuessLimit {
  /** Throws rate_limited if this address has sent too many invalid keys. */
  assertLeft(address: string): void
  /** Counts one more invalid key; throws rate_limited if there are too many. */
  count(address: string): void
}

/** Sent by pages with requests that the user did not cause, such as refreshing what is shown. */
const BACKGROUND = 'x-service-background'
const BEARER = /^bearer +([\w.~+/-]+=*) *$/i
const WORDS: ReadonlySet<string> = new Set<string>(['public', 'any-key', ...SCOPES, ...DEVICE_GRANTS])

const tokenIn = (header: string): string => {
  const token = BEARER.exec(header)?.[1]
  if (token === undefined) {
    throw unauthorized("The Authorization header is malformed. It must read 'Bearer <API key>'.")
  }
  return token
}

const known = (caller: Caller | null): Caller => {
  if (caller !== null) return caller
  throw unauthorized('This API key is not valid: it is unknown, expired, or revoked. Check it, or create a new key.')
}

const CALLER = Symbol('caller')

interface Called {
  [CALLER]: Caller | null
}

/** Browser sessions: a cookie that takes the place of a key, and is valid only for pages of this origin. */
export interface SessionRules {
  /** As `Authenticate`, and whether a page sent the request by itself: then it does not count as use of the session. */
  readonly authenticate: (token: string, onCacheMiss: () => void, isBackground: boolean) => Promise<Caller | null>
  /** SERVICE_PUBLIC_URL: the address of the pages, if it differs from the Host header. */
  readonly publicUrl: string | null
}

interface AccessGuard {
  readonly authenticate: Authenticate
  readonly sessions: SessionRules | null
  readonly guesses: GuessLimit
}

const ACCESS_GUARD = 'accessGuard'

const accessGuardOf = (request: FastifyRequest): AccessGuard => request.server.getDecorator<AccessGuard>(ACCESS_GUARD)

/** Returns the result of `find`, unless this address has sent too many invalid credentials. @throws 401, or 429 */
const identify = async (
  request: FastifyRequest,
  find: (onCacheMiss: () => void) => Promise<Caller>,
): Promise<Caller> => {
  const { guesses } = accessGuardOf(request)
  try {
    return await find(() => guesses.assertLeft(request.ip))
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'unauthorized') guesses.count(request.ip)
    throw error
  }
}

/** Returns the key's owner. @throws 401, or 429 if this address has sent too many invalid keys. */
export const callerOfKey = (request: FastifyRequest, key: string): Promise<Caller> =>
  identify(request, async (onCacheMiss) => known(await accessGuardOf(request).authenticate(key, onCacheMiss)))

/** True if a page of this service sent the request. */
export const isFromOwnPage = (request: FastifyRequest): boolean =>
  isSameOrigin(request, accessGuardOf(request).sessions?.publicUrl ?? null)

const callerOfSession = (request: FastifyRequest, token: string): Promise<Caller> =>
  identify(request, async (onCacheMiss) => {
    const { sessions } = accessGuardOf(request)
    if (!isFromOwnPage(request)) {
      throw unauthorized(
        'A session is valid only for pages of this service. Send an API key: Authorization: Bearer <API key>.',
      )
    }
    const isBackground = request.headers[BACKGROUND] === '1'
    const caller = (await sessions?.authenticate(token, onCacheMiss, isBackground)) ?? null
    if (caller === null) throw unauthorized('This session has ended. Sign in again.')
    return caller
  })

/** Returns the caller of the request, by its key, otherwise by its session. Null without either. */
const credentialsOf = (request: FastifyRequest): Promise<Caller> | null => {
  const { authorization } = request.headers
  if (authorization !== undefined) {
    return identify(request, async (onCacheMiss) =>
      known(await accessGuardOf(request).authenticate(tokenIn(authorization), onCacheMiss)),
    )
  }
  const token = accessGuardOf(request).sessions === null ? null : sessionTokenIn(request)
  return token === null ? null : callerOfSession(request, token)
}

const calledBy = (request: FastifyRequest): Called => request as FastifyRequest & Called

const assertAllowed = (caller: Caller, { access, deviceKeys }: RouteConfig): void => {
  if (deviceKeys === false && isDeviceKey(caller))
    throw forbidden("A device's own key cannot do this. Use a key that was created for a person or a program.")
  if (access === 'public' || access === 'any-key') return
  const accepted: readonly Grant[] = typeof access === 'string' ? [access] : access
  if (accepted.some((grant) => holds(caller, grant))) return
  const scopes = accepted.filter((grant) => grant !== 'self').map((grant) => `'${grant}'`)
  if (scopes.length === 0)
    throw forbidden("Only a device's own key may do this. Use the key that the device got when it registered.")
  const isPerson = caller.personId !== undefined && caller.sessionId !== undefined
  const [who, advice] = isPerson
    ? ['Your role', 'Ask an admin of your organization.']
    : ['This key', 'Use a key that has it, or create one.']
  throw forbidden(`${who} lacks the scope ${scopes.join(' or ')}. ${advice}`)
}

const RESTRICTED: Record<Restriction, string> = {
  enroll:
    'Your organization requires a second factor. Set one up (a passkey, or an authenticator app), or sign out and sign in with yours.',
  confirm: 'This session was inactive for a while. Confirm your identity first, with your password or a passkey.',
}

/** Restricted sessions may only call routes that allow it. @throws forbidden */
const assertUnrestricted = (caller: Caller, request: FastifyRequest): void => {
  if (caller.restriction === undefined || routeConfigOf(request).whileRestricted) return
  throw forbidden(RESTRICTED[caller.restriction])
}

const isAccess = (access: unknown): access is Access => {
  if (typeof access === 'string') return WORDS.has(access)
  return Array.isArray(access) && access.length > 0 && access.every((grant) => grant !== 'public' && WORDS.has(grant))
}

const assertDeclared = ({ method, url, config }: RouteOptions): void => {
  const { access } = (config ?? {}) as Partial<RouteConfig>
  if (!isAccess(access)) {
    throw new Error(`${method} ${url} must declare who may call it: config.access is 'public', 'any-key', or grants`)
  }
}

/** Bytes, unless a route allows more: parsing a body of one megabyte stops all other requests for a tenth of a second. */
const PUBLIC_BODY_LIMIT = 64 * 1024

/** CORS preflights, which a plugin answers and which cannot have a config. */
const isPreflight = ({ method }: RouteOptions): boolean => method === 'OPTIONS'

/** A browser drops the cookie of its session as soon as that ends; a page of this service sends no key. */
const missingIn = ({ headers }: FastifyRequest): string =>
  headers['sec-fetch-site'] === 'same-origin'
    ? 'You are not signed in, or your session has ended. Sign in again.'
    : "This endpoint needs an API key: send the header 'Authorization: Bearer <API key>'."

/** Requires the key and the grant that each route's config specifies. */
export const guardAccess = (app: App, { admit, ...guard }: AccessGuard & { readonly admit: Admit }): void => {
  app.decorate(ACCESS_GUARD, guard)
  app.decorateRequest(CALLER, null)

  app.addHook('onRoute', (route) => {
    if (isPreflight(route)) route.config = { access: 'public', rateLimit: false, ...route.config } as object
    else assertDeclared(route)
    if (route.config && (route.config as Partial<RouteConfig>).access === 'public')
      route.bodyLimit ??= PUBLIC_BODY_LIMIT
  })

  app.addHook('onRequest', (request, reply, done) => {
    if (request.is404) return done()
    const { access, rateLimit } = routeConfigOf(request)
    if (access === 'public') {
      if (rateLimit !== false) admit(null, request, reply)
      return done()
    }
    const identified = credentialsOf(request)
    if (identified === null) return done(unauthorized(missingIn(request)))
    identified
      .then((caller) => {
        calledBy(request)[CALLER] = caller
        if (rateLimit !== false) admit(caller, request, reply)
        assertUnrestricted(caller, request)
        assertAllowed(caller, routeConfigOf(request))
      })
      .then(() => done(), done)
  })
}

/** Returns the authenticated caller of this request, or null. For logs. */
export const knownCallerOf = (request: FastifyRequest): Caller | null => calledBy(request)[CALLER]

/** The caller of a route that is not public. */
export const callerOf = (request: FastifyRequest): Caller => {
  const caller = knownCallerOf(request)
  if (caller === null) throw new Error(`${request.routeOptions.url} is public: it has no caller`)
  return caller
}

/** Returns the caller of a public route with an optional key: null without one. Throws 401 (or 429) if it is invalid. */
export const optionalCallerOf = async (request: FastifyRequest): Promise<Caller | null> => {
  const before = knownCallerOf(request)
  if (before !== null) return before
  const caller = await credentialsOf(request)
  if (caller === null) return null
  assertUnrestricted(caller, request)
  calledBy(request)[CALLER] = caller
  return caller
}

/** Like `optionalCallerOf`, but returns null if the session has ended, so that a page's first request does not fail. */
export const validCallerOf = async (request: FastifyRequest): Promise<Caller | null> => {
  try {
    return await optionalCallerOf(request)
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'unauthorized') return null
    throw error
  }
}
