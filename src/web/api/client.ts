import { type Query, QueryCache, QueryClient } from '@tanstack/react-query'
import { ApiError, createClient, unwrap } from '../../client/client.ts'
import { ServiceError } from '../../domain/errors.ts'
import { SESSION_PATH } from './query-keys.ts'
import { mayRefetch, rateLimitMs } from './rate-limit.ts'
import { isLocked } from './session-lock.ts'
import { backgroundHeaders } from './user-input.ts'

/** The API client. The browser sends the session's cookie, so this page never contains a key. */
export const api = createClient({ baseUrl: window.location.origin })

const SAYS = {
  read: 'The service does not respond. It may be restarting; this page retries automatically.',
  slow: 'The service did not respond within 30 s. It may be overloaded; try again in a moment.',
  write: 'The service did not respond, so it is unknown whether this was done. Check that before you try again.',
  again: 'The service does not respond. Try again in a moment.',
} as const

/** The service did not respond, or not in time. The message depends on the kind of request. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
  readonly action: keyof typeof SAYS
  constructor(action: keyof typeof SAYS, cause?: unknown) {
    super(SAYS[action], { cause })
    this.action = action
  }
}

const MAX_RETRIES = 2
const TRY_AGAIN_MS = 5000
const isFinal = (error: Error): boolean =>
  error instanceof ApiError ||
  error instanceof ServiceError ||
  (error instanceof Unreachable && error.action === 'slow')

/**
 * Fetches again at this interval, and sooner while the service does not respond. A request that exceeded the rate limit is
 * repeated when the service allows it.
 */
export const refetchEvery =
  (everyMs: number | false) =>
  ({ state: { error } }: { readonly state: { readonly error: Error | null } }): number | false => {
    const waitMs = rateLimitMs(error)
    if (waitMs !== null) return waitMs
    if (!(error instanceof Unreachable) || isFinal(error)) return everyMs
    return everyMs === false ? TRY_AGAIN_MS : Math.min(everyMs, TRY_AGAIN_MS)
  }

export const isNotFound = (error: unknown): boolean => error instanceof ApiError && error.code === 'not_found'

const drop = (query: Query<unknown, unknown>): void => query.setState({ data: undefined })

/** Data of an object that no longer exists, or that a changed role may not see, does not stay in view. */
const onFailure = (error: Error, query: Query<unknown, unknown>): void => {
  if (isNotFound(error)) drop(query)
  // A session that must be confirmed is refused everything too, but its page stays as it is.
  else if (error instanceof ApiError && error.code === 'forbidden')
    void checkSession().then(() => !isLocked() && query.state.error === error && drop(query))
}

/**
 * Keeps data in view while it is fetched again, unless the service refuses it. Does not repeat requests that the service refused.
 */
export const queries = new QueryClient({
  queryCache: new QueryCache({ onError: onFailure }),
  defaultOptions: {
    queries: {
      staleTime: 2000,
      refetchOnWindowFocus: mayRefetch,
      retry: (failures, error) => !isFinal(error) && failures < MAX_RETRIES,
      refetchInterval: refetchEvery(false),
      // The browser may have no network while the service is on the same machine.
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
})

/** Fetches the session again after a request was refused for lack of one. */
export const checkSession = (): Promise<void> => queries.invalidateQueries({ queryKey: [SESSION_PATH] })

/** Fetches all data in view again. */
export const refetchPages = (): Promise<void> =>
  queries.invalidateQueries({ predicate: (query) => query.queryKey[0] !== SESSION_PATH && mayRefetch(query) })

/** A refusal may mean that the session has changed. For requests under /session, it concerns the credentials instead. */
export const noticeStatus = (status: number, path: string): void => {
  if ((status === 401 || status === 403) && !path.startsWith(SESSION_PATH)) void checkSession()
}

/** POST requests that change nothing: here, those that the page repeats. */
const REPEATED = ['/api/v1/models/{model_id}/rollouts/dry-run', '/api/v1/deploy/prepare', '/api/v1/invitations/read']
/** Path prefixes of requests that the user can safely repeat. */
const HARMLESS = [SESSION_PATH, '/api/v1/inference/', '/api/v1/audit/verify']

const actionOf = (method: string, path: string): keyof typeof SAYS => {
  if (HARMLESS.some((beginning) => path.startsWith(beginning))) return 'again'
  return method === 'GET' || REPEATED.includes(path) ? 'read' : 'write'
}

api.use({
  onRequest({ request }) {
    for (const [name, value] of Object.entries(backgroundHeaders())) request.headers.set(name, value)
  },
  onResponse: ({ response, schemaPath }) => noticeStatus(response.status, schemaPath),
  /** The browser's own message, such as "Failed to fetch", does not say what to do. */
  onError({ error, request, schemaPath }) {
    const isAborted = error instanceof DOMException && error.name === 'AbortError'
    return isAborted ? undefined : new Unreachable(actionOf(request.method, schemaPath), error)
  },
})

const WRITE_MS = 60_000

/** @throws Unreachable if there is no response in time */
const answered = async <Answer>(response: Promise<Answer>): Promise<Answer> => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('timeout')), WRITE_MS)
  })
  try {
    return await Promise.race([response, late])
  } catch (error) {
    throw error instanceof Unreachable || error instanceof ServiceError ? error : new Unreachable('write', error)
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Sends a request that changes something, then refetches the data in view. `leave` navigates to another page first, if the
 * current page's object no longer exists. @throws ApiError with the service's message, Unreachable
 */
export const write = async <Data>(
  response: Parameters<typeof unwrap<Data>>[0],
  leave?: () => void,
): Promise<NonNullable<Data>> => {
  const body = await unwrap<Data>(await answered(Promise.resolve(response)))
  // The page being left stays mounted for a moment and must not fetch. The next page fetches when it is shown.
  leave?.()
  await queries.invalidateQueries(leave === undefined ? { predicate: mayRefetch } : { refetchType: 'none' })
  return body
}

/** Like `write`, for responses without a body (204). @throws ApiError with the service's message, Unreachable */
export const writeWithoutBody = async (
  received: Promise<{ readonly error?: unknown; readonly response: Response }>,
): Promise<void> => {
  const { response, error } = await answered(received)
  if (!response.ok) throw new ApiError(response.status, error)
  await queries.invalidateQueries({ predicate: mayRefetch })
}
