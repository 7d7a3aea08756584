import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { ApiError, unwrap } from '../../client/client.ts'
import { api, queries, Unreachable } from './client.ts'
import type { AnswerOf } from './paths.ts'

export type Session = AnswerOf<'/api/v1/session'>

const KEY = ['/api/v1/session', {}]
const SIGN_OUT_MS = 15_000

const unreachable = (error: unknown): never => {
  throw new Unreachable(error)
}

/** Opens a session: with a key, with the code of a link, or without one where the service needs none. */
const open = async (body: { readonly api_key?: string; readonly code?: string } = {}): Promise<Session> => {
  const opened = await unwrap(await api.POST('/api/v1/session', { body }).catch(unreachable))
  if ('signed_in' in opened) return opened
  throw new Error('A second factor is due, which only a password asks for.')
}

/** The browser's session. Where the service needs no key, there is always one. */
const load = async (): Promise<Session> => {
  const session = await unwrap(await api.GET('/api/v1/session').catch(unreachable))
  return session.signed_in || session.enrollment === 'token' ? session : open()
}

export const useSession = (): UseQueryResult<Session> =>
  useQuery({ queryKey: KEY, queryFn: load, staleTime: Number.POSITIVE_INFINITY, retry: true, retryDelay: 1500 })

/** With a key, or with the code of a link. @throws ApiError when it is not valid */
export const signIn = async (by: { readonly api_key: string } | { readonly code: string }): Promise<void> => {
  queries.setQueryData(KEY, await open(by))
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

/** Asks who is signed in: something was refused for want of a session. */
export const checkSession = (): Promise<void> => queries.invalidateQueries({ queryKey: KEY })
