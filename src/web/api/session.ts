import { focusManager, type UseQueryResult, useQuery } from '@tanstack/react-query'
import { ApiError, type components, unwrap } from '../../client/client.ts'
import type { Scope } from '../../domain/access.ts'
import { api, checkSession, queries, refetchEvery, refetchPages } from './client.ts'
import { askPasskey } from './passkeys.ts'
import { SESSION_PATH } from './query-keys.ts'
import { rateLimitMs } from './rate-limit.ts'
import { sessionLock } from './session-lock.ts'
import type { ResponseOf } from './use-api.ts'

export type Session = ResponseOf<'/api/v1/session'>

const KEY = [SESSION_PATH, {}]
const SIGN_OUT_MS = 15_000
const RETRY_MS = 1500
/** How soon an open page shows a changed role, or that the session has ended. */
const CHECK_EVERY_MS = 45_000

/** What a session is opened with: a key, the code of a link, or a password. */
type Credentials =
  | { readonly api_key: string }
  | { readonly code: string }
  | { readonly email: string; readonly password: string; readonly org_id?: string }

/** A sign-in that still needs a second factor. */
export type SecondFactorStep = components['schemas']['SignInStep']

const isStep = (response: Session | SecondFactorStep): response is SecondFactorStep => 'next' in response

const open = async (body: Credentials | Record<string, never> = {}): Promise<Session | SecondFactorStep> =>
  unwrap(await api.POST('/api/v1/session', { body }))

/** Loads the browser's session. If the service needs no key, opens one. */
const ask = async (): Promise<Session> => {
  const session = await unwrap(await api.GET('/api/v1/session'))
  if (session.signed_in || session.enrollment === 'token') return session
  const opened = await open()
  return isStep(opened) ? session : opened
}

/** Whether the pages can be shown. */
export const isOpen = ({ signed_in, person }: Session): boolean => signed_in && person?.restriction == null

const identityOf = ({ person, org_id, key_name }: Session): string => JSON.stringify([person?.id, org_id, key_name])
const rightsOf = ({ person, scopes }: Session): string => JSON.stringify([person?.role, scopes])

/** The session that the pages show: the last one that was open. */
const shown = (): Session | null => {
  const session = queries.getQueryData<Session>(KEY)
  return session !== undefined && isOpen(session) ? session : null
}

/** Another user is signed in: nothing that was fetched for the one before may stay in view. */
const startOver = (): Promise<never> => {
  queries.clear()
  document.documentElement.hidden = true
  window.location.reload()
  return new Promise(() => undefined)
}

/** Decides what a session that was fetched changes. A page that is shown stays mounted unless the user is another one. */
const receive = (session: Session): Session | Promise<never> => {
  const before = shown()
  if (before === null) return session
  if (session.signed_in && identityOf(session) !== identityOf(before)) return startOver()
  const lock = sessionLock.get()
  if (!isOpen(session)) {
    sessionLock.set({ session, isRequested: false })
    return before
  }
  if (lock?.isRequested === false) sessionLock.set(null)
  // After the query has the new session, by which pages decide what they may ask for.
  if (lock?.isRequested === false || rightsOf(session) !== rightsOf(before)) setTimeout(refetchPages)
  return session
}

/** Counts sign-ins and sign-outs: a response to an earlier request may be about the session before. */
let changes = 0

const load = async (): Promise<Session> => {
  const revision = changes
  const session = await ask()
  return revision === changes ? receive(session) : load()
}

/** Tells the other tabs of this browser, which have the same cookie, who is signed in now. */
const channel = new BroadcastChannel('tributary-session')
channel.addEventListener('message', ({ data }: MessageEvent<string | null>) => {
  changes++
  const before = shown()
  if (before !== null && data !== identityOf(before)) void startOver()
  else void checkSession()
})

// The session is checked first: what is fetched after it must be for the user whose name is shown.
focusManager.setEventListener((onFocus) => {
  const check = (): void => {
    if (document.visibilityState === 'visible') void checkSession().then(() => onFocus())
  }
  window.addEventListener('focus', check)
  document.addEventListener('visibilitychange', check)
  // Back may show a page as it was left.
  window.addEventListener('pageshow', ({ persisted }) => persisted && check())
  return () => undefined
})

/** Fetches the session before anything is rendered. */
export const preloadSession = (): Promise<void> => queries.prefetchQuery({ queryKey: KEY, queryFn: load })

export const useSession = (): UseQueryResult<Session> =>
  useQuery({
    queryKey: KEY,
    queryFn: load,
    staleTime: Number.POSITIVE_INFINITY,
    retry: true,
    retryDelay: (_, error) => rateLimitMs(error) ?? RETRY_MS,
    refetchInterval: refetchEvery(CHECK_EVERY_MS),
  })

/** Shows the session that was just opened or confirmed. Over a page, only for the user whose page it is. */
const keep = async (session: Session): Promise<void> => {
  changes++
  channel.postMessage(identityOf(session))
  const before = shown()
  if (before === null) {
    queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_PATH })
    queries.setQueryData(KEY, session)
    return
  }
  if (identityOf(session) !== identityOf(before)) return startOver()
  if (!isOpen(session)) return sessionLock.set({ session, isRequested: false })
  queries.setQueryData(KEY, session)
  sessionLock.set(null)
  void refetchPages()
}

/** Returns whether the session has a scope, so that pages do not send requests that would be refused. */
export const useMay = (): ((scope: Scope) => boolean) => {
  const scopes = useSession().data?.scopes ?? []
  return (scope) => scopes.includes(scope)
}

/** The organization of the session; null if it has none. */
export const useOwnOrg = (): string | null => useSession().data?.org_id ?? null

/** True if the session's organization is another one: it may see what belongs to `orgId`, such as in a federation, but not change it. */
export const useIsOthers = (): ((orgId: string | null) => boolean) => {
  const own = useOwnOrg()
  return (orgId) => own !== null && orgId !== own
}

/** The same outside of components; null if nothing is allowed yet. */
export const mayNow = (): ((scope: Scope) => boolean) | null => {
  const session = shown()
  return session && ((scope) => session.scopes.includes(scope))
}

/** Returns null if the browser is now signed in, otherwise the next step. @throws ApiError if the credentials are not valid */
export const signIn = async (by: Credentials): Promise<SecondFactorStep | null> => {
  const response = await open(by)
  if (isStep(response)) return response
  await keep(response)
  return null
}

/** The second step of a sign-in. @throws ApiError if the code is wrong */
export const showSecondFactor = async (
  body: { readonly code: string } | { readonly recovery_code: string },
): Promise<void> => keep(await unwrap(await api.POST('/api/v1/session/second-factor', { body })))

/** Redirects to the identity provider. @throws ApiError if it is not available */
export const leaveForProvider = async (orgId: string): Promise<void> => {
  const body = orgId === '' ? {} : { org_id: orgId }
  const { redirect_to } = await unwrap(await api.POST('/api/v1/session/oidc', { body }))
  window.location.assign(redirect_to)
}

/** Completes a sign-in with the identity provider's response; returns the same as `signIn`. */
export const finishProviderSignIn = async (query: string): Promise<SecondFactorStep | null> => {
  const response = await unwrap(await api.POST('/api/v1/session/oidc/callback', { body: { query } }))
  if (isStep(response)) return response
  await keep(response)
  return null
}

/** Confirms the signed-in person's identity. @throws ApiError if the password or passkey is not theirs */
export const confirmSession = async (
  body: { readonly password: string } | { readonly credential: Record<string, unknown> },
): Promise<void> => {
  await keep(await unwrap(await api.POST('/api/v1/session/confirm', { body })))
}

/** Shows the confirmation over the page, which the person may also close again. */
export const askToConfirm = (): void => {
  const session = shown()
  if (session?.person == null || sessionLock.get() !== null) return
  const restricted = { ...session, person: { ...session.person, restriction: 'confirm' as const } }
  sessionLock.set({ session: restricted, isRequested: true })
}

/** Signs in with a passkey alone. @throws ApiError if the passkey is unknown */
export const signInByPasskey = async (): Promise<void> => {
  const body = { credential: await askPasskey() }
  await keep(await unwrap(await api.POST('/api/v1/session/passkey', { body })))
}

/** What the account that must confirm its identity can use for that; `read` would wait until it has. */
export const accountToConfirm = async () => unwrap(await api.GET('/api/v1/account'))

/**
 * Ends the session; nothing that was fetched with it is kept.
 * @throws ApiError or Unreachable if the session may not have ended
 */
export const closeSession = async (): Promise<void> => {
  const signal = AbortSignal.timeout(SIGN_OUT_MS)
  const { response, error } = await api.DELETE('/api/v1/session', { signal })
  if (!response.ok) throw new ApiError(response.status, error)
  changes++
  channel.postMessage(null)
  queries.clear()
  sessionLock.set(null)
}

/** Ends the session and shows the sign-in page. @throws as `closeSession` */
export const signOut = async (): Promise<void> => {
  await closeSession()
  window.location.assign('/')
}
