import type { FastifyRequest } from 'fastify'

const SESSION = 'tributary_session'
const STEP = 'tributary_step'
const CHALLENGE = 'tributary_challenge'
const KNOWN = 'tributary_known'
const YEAR_SECONDS = 365 * 24 * 60 * 60

/**
 * Whether a page of this very origin sent the request. Cookies do not tell: pages of another port of this host, and of its
 * sibling domains, are of the same site, and their requests carry it. Browsers say in Sec-Fetch-Site where a request came from;
 * those that trust the connection too little for that (plain http on a network) send Origin with all but reads. A read
 * without either comes from a page of this origin, or from one that cannot see the answer.
 */
export const isSameOrigin = (request: FastifyRequest, publicUrl: string | null): boolean => {
  const { origin, 'sec-fetch-site': site } = request.headers
  if (site !== undefined) return site === 'same-origin'
  if (origin === undefined) return request.method === 'GET' || request.method === 'HEAD'
  if (publicUrl !== null && origin === new URL(publicUrl).origin) return true
  return request.headers.host !== undefined && origin === `${request.protocol}://${request.headers.host}`
}

/** Cookies know no ports: two services of one host would sign each other out if the name did not tell them apart. */
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

/** A cookie that only https could have set goes before. */
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
  // The page's own address is what the browser sees, whatever stands in between.
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

/** Set-Cookie for a new session; with an empty token and no time, for one that has ended. */
export const sessionCookie = (request: FastifyRequest, token: string, seconds: number): string =>
  cookieOf(request, SESSION, { token, seconds })

/** The token of a sign-in that waits for its next step. */
export const stepTokenIn = (request: FastifyRequest): string | null => tokenIn(request, STEP)

/** Set-Cookie for a sign-in that waits for its next step; with an empty token and no time, for one that does not any more. */
export const stepCookie = (request: FastifyRequest, token: string, seconds: number): string =>
  cookieOf(request, STEP, { token, seconds })

/** The token of a challenge for a passkey: beside a step, whose second factor the passkey may be. */
export const challengeTokenIn = (request: FastifyRequest): string | null => tokenIn(request, CHALLENGE)

/** Set-Cookie for a challenge that a passkey is to answer. */
export const challengeCookie = (request: FastifyRequest, token: string, seconds: number): string =>
  cookieOf(request, CHALLENGE, { token, seconds })

/** What the browser got when somebody last signed in with it. */
export const knownTokenIn = (request: FastifyRequest): string | null => tokenIn(request, KNOWN)

/** Set-Cookie for a browser with which somebody has signed in. */
export const knownCookie = (request: FastifyRequest, token: string): string =>
  cookieOf(request, KNOWN, { token, seconds: YEAR_SECONDS })
