import type { FastifyRequest } from 'fastify'

const SESSION = 'tributary_session'
const STEP = 'tributary_step'
const CHALLENGE = 'tributary_challenge'
const KNOWN_BROWSER = 'tributary_known'
const YEAR_SECONDS = 365 * 24 * 60 * 60

/**
 * True if a page of this exact origin sent the request. The cookie alone does not prove it: requests from pages on another port
 * of this host or on a sibling domain are same-site, and include it. Browsers send the request's origin in Sec-Fetch-Site; on
 * insecure connections (plain http on a network) they send Origin instead, except for reads. A read without either is from a
 * page of this origin, or from one that cannot see the response.
 */
export const isSameOrigin = (request: FastifyRequest, publicUrl: string | null): boolean => {
  const { origin, 'sec-fetch-site': site } = request.headers
  if (site !== undefined) return site === 'same-origin'
  if (origin === undefined) return request.method === 'GET' || request.method === 'HEAD'
  if (publicUrl !== null && origin === new URL(publicUrl).origin) return true
  return request.headers.host !== undefined && origin === `${request.protocol}://${request.headers.host}`
}

/** Cookies ignore ports: with equal names, two services on one host would sign each other out. */
const nameFor = (request: FastifyRequest, name: string, secure: boolean): string => {
  const port = /:(\d{1,5})$/.exec(request.headers.host ?? '')?.[1]
  return `${secure ? '__Host-' : ''}${name}${port === undefined ? '' : `_${port}`}`
}

const cookieValue = (header: string, name: string): string | undefined =>
  header
    .split(';')
    .map((pair) => pair.trim())
    .find((pair) => pair.startsWith(`${name}=`))
    ?.slice(name.length + 1)

/** Prefers the cookie that can only be set over https. */
const tokenIn = (request: FastifyRequest, name: string): string | null => {
  const { cookie } = request.headers
  if (cookie === undefined) return null
  return cookieValue(cookie, nameFor(request, name, true)) ?? cookieValue(cookie, nameFor(request, name, false)) ?? null
}

const cookieOf = (
  request: FastifyRequest,
  name: string,
  { token, seconds }: { token: string; seconds: number },
): string => {
  // The page's origin is the address that the browser sees, whatever proxies are in between.
  const secure = request.protocol === 'https' || request.headers.origin?.startsWith('https:') === true
  return [
    `${nameFor(request, name, secure)}=${token}`,
    'Path=/',
    'HttpOnly',
    'SameSite=Strict',
    `Max-Age=${seconds}`,
    ...(secure ? ['Secure'] : []),
  ].join('; ')
}

/** The session's token. */
export const sessionTokenIn = (request: FastifyRequest): string | null => tokenIn(request, SESSION)

/** Set-Cookie for a new session; an empty token without a lifetime clears the cookie. */
export const sessionCookie = (request: FastifyRequest, token: string, seconds: number): string =>
  cookieOf(request, SESSION, { token, seconds })

/** The token of a sign-in that is waiting for its next step. */
export const stepTokenIn = (request: FastifyRequest): string | null => tokenIn(request, STEP)

/** Set-Cookie for a sign-in that is waiting for its next step; an empty token without a lifetime clears the cookie. */
export const stepCookie = (request: FastifyRequest, token: string, seconds: number): string =>
  cookieOf(request, STEP, { token, seconds })

/** The token of a passkey challenge, separate from the step's token because the passkey may be the second factor. */
export const challengeTokenIn = (request: FastifyRequest): string | null => tokenIn(request, CHALLENGE)

/** Set-Cookie for a challenge to be answered by a passkey. */
export const challengeCookie = (request: FastifyRequest, token: string, seconds: number): string =>
  cookieOf(request, CHALLENGE, { token, seconds })

/** The token that the browser received at its last sign-in. */
export const knownBrowserTokenIn = (request: FastifyRequest): string | null => tokenIn(request, KNOWN_BROWSER)

/** Set-Cookie that identifies a browser from which a person has signed in (OWASP: device cookie). */
export const knownBrowserCookie = (request: FastifyRequest, token: string): string =>
  cookieOf(request, KNOWN_BROWSER, { token, seconds: YEAR_SECONDS })
