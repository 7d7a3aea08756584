import { type PublicKeyCredentialRequestOptionsJSON, startAuthentication } from '@simplewebauthn/browser'
import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { ApiError, type components, unwrap } from '../../client/client.ts'
import type { Scope } from '../../domain/access.ts'
import { api, queries, SESSION_PATH, Unreachable } from './client.ts'
import type { AnswerOf } from './use-api.ts'

export type Session = AnswerOf<'/api/v1/session'>

const KEY = [SESSION_PATH, {}]
const SIGN_OUT_MS = 15_000

const unreachable = (error: unknown): never => {
  throw new Unreachable('session', error)
}

/** What a session is opened with: a key, the code of a link, or a person's password; nothing where none is needed. */
export type Credentials =
  | { readonly api_key: string }
  | { readonly code: string }
  | { readonly email: string; readonly password: string; readonly org_id?: string }

/** A sign-in that waits for a second factor. */
export type SecondFactorStep = components['schemas']['SignInStep']

const isStep = (answer: Session | SecondFactorStep): answer is SecondFactorStep => 'next' in answer

const open = async (body: Credentials | Record<string, never> = {}): Promise<Session | SecondFactorStep> =>
  unwrap(await api.POST('/api/v1/session', { body }).catch(unreachable))

/** The browser's session. Where the service needs no key, there is always one. */
const load = async (): Promise<Session> => {
  const session = await unwrap(await api.GET('/api/v1/session').catch(unreachable))
  if (session.signed_in || session.enrollment === 'token') return session
  const opened = await open()
  return isStep(opened) ? session : opened
}

/** Asks once who is signed in, before anything is shown. */
export const preloadSession = (): Promise<void> => queries.prefetchQuery({ queryKey: KEY, queryFn: load })

export const useSession = (): UseQueryResult<Session> =>
  useQuery({ queryKey: KEY, queryFn: load, staleTime: Number.POSITIVE_INFINITY, retry: true, retryDelay: 1500 })

/** What somebody else may have seen before is asked for anew. */
const keep = (session: Session): void => {
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_PATH })
  queries.setQueryData(KEY, session)
}

/** Whether who is signed in may do what a scope allows: a page does not ask for what it would be refused. */
export const useMay = (): ((scope: Scope) => boolean) => {
  const scopes = useSession().data?.scopes ?? []
  return (scope) => scopes.includes(scope)
}

/** The same outside of components; null where nobody may do anything yet. */
export const mayNow = (): ((scope: Scope) => boolean) | null => {
  const session = queries.getQueryData<Session>(KEY)
  if (session === undefined || !session.signed_in || session.person?.restriction != null) return null
  return (scope) => session.scopes.includes(scope)
}

/** Null when the browser is signed in; else what it must show before. @throws ApiError when the credentials are not valid */
export const signIn = async (by: Credentials): Promise<SecondFactorStep | null> => {
  const answer = await open(by)
  if (isStep(answer)) return answer
  keep(answer)
  return null
}

/** The second step of a sign-in. @throws ApiError when the code is not the one */
export const showSecondFactor = async (
  body: { readonly code: string } | { readonly recovery_code: string },
): Promise<void> => keep(await unwrap(await api.POST('/api/v1/session/second-factor', { body }).catch(unreachable)))

/** Leaves for the identity provider. @throws ApiError when it cannot be asked */
export const leaveForProvider = async (orgId: string): Promise<void> => {
  const body = orgId === '' ? {} : { org_id: orgId }
  const { redirect_to } = await unwrap(await api.POST('/api/v1/session/oidc', { body }).catch(unreachable))
  window.location.assign(redirect_to)
}

/** What the identity provider sent back, as `signIn`. */
export const finishProviderSignIn = async (query: string): Promise<SecondFactorStep | null> => {
  const answer = await unwrap(await api.POST('/api/v1/session/oidc/callback', { body: { query } }).catch(unreachable))
  if (isStep(answer)) return answer
  keep(answer)
  return null
}

/** Shows again who is signed in. @throws ApiError when the password, or the passkey, is not theirs */
export const confirmSession = async (
  body: { readonly password: string } | { readonly credential: Record<string, unknown> },
): Promise<void> => {
  keep(await unwrap(await api.POST('/api/v1/session/confirm', { body }).catch(unreachable)))
}

/** Has the page that asks who is there take the place of all others, until they have shown it. */
export const askToConfirm = (): void => {
  queries.setQueryData<Session>(KEY, (session) =>
    session?.person ? { ...session, person: { ...session.person, restriction: 'confirm' } } : session,
  )
}

/** What the passkey that somebody chooses answers. @throws ApiError where there can be none; what the browser says */
export const askPasskey = async (): Promise<Record<string, unknown>> => {
  const { public_key } = await unwrap(await api.POST('/api/v1/session/passkey/options').catch(unreachable))
  const optionsJSON = public_key as unknown as PublicKeyCredentialRequestOptionsJSON
  return { ...(await startAuthentication({ optionsJSON })) }
}

/** Signs in by a passkey alone. @throws ApiError when it is not known */
export const signInByPasskey = async (): Promise<void> => {
  const body = { credential: await askPasskey() }
  keep(await unwrap(await api.POST('/api/v1/session/passkey', { body }).catch(unreachable)))
}

/**
 * Ends the session, and shows the page that asks for a key.
 * @throws ApiError or Unreachable when the session may not have ended
 */
export const signOut = async (): Promise<void> => {
  const signal = AbortSignal.timeout(SIGN_OUT_MS)
  const { response, error } = await api.DELETE('/api/v1/session', { signal }).catch(unreachable)
  if (!response.ok) throw new ApiError(response.status, error)
  queries.clear()
  window.location.assign('/')
}
