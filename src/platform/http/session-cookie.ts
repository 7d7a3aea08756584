import type { FastifyRequest } from 'fastify'

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

const cookieNamed = (name: string) => ({
  /** Returns the cookie's token; prefers the cookie that can only be set over https. */
  tokenIn: (request: FastifyRequest): string | null => {
    const { cookie } = request.headers
    if (cookie === undefined) return null
    return (
      cookieValue(cookie, nameFor(request, name, true)) ?? cookieValue(cookie, nameFor(request, name, false)) ?? null
    )
  },
  /** For Set-Cookie; an empty token without a lifetime clears the cookie. */
  cookie: (request: FastifyRequest, token: string, seconds: number): string => {
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
  },
})

export const { tokenIn: sessionTokenIn, cookie: sessionCookie } = cookieNamed('tributary_session')

/** For a sign-in that is waiting for its next step. */
export const { tokenIn: stepTokenIn, cookie: stepCookie } = cookieNamed('tributary_step')

/** For a challenge to be answered by a passkey, separate from the step's because the passkey may be the second factor. */
export const { tokenIn: challengeTokenIn, cookie: challengeCookie } = cookieNamed('tributary_challenge')

const knownBrowser = cookieNamed('tributary_known')

/** The token that the browser received at its last sign-in. */
export const knownBrowserTokenIn = knownBrowser.tokenIn

/** Set-Cookie that identifies a browser from which a person has signed in (OWASP: device cookie). */
export const knownBrowserCookie = (request: FastifyRequest, token: string): string =>
  knownBrowser.cookie(request, token, YEAR_SECONDS)
