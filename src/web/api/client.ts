import { QueryCache, QueryClient } from '@tanstack/react-query'
import { ApiError, createClient, unwrap } from '../../client/client.ts'

/** The API by the session's cookie, which the browser sends along: no key is ever in this page. */
export const api = createClient({ baseUrl: window.location.origin })

const SAYS = {
  read: 'The service does not respond. It may be restarting; this page retries automatically.',
  slow: 'The service does not respond within 30 s. It may be overloaded; try again in a moment.',
  write: 'The service did not respond, so it is unknown whether this was done. Check that before you try again.',
  session: 'The service does not respond. Try again in a moment.',
} as const

/** The service did not answer at all, or not in time: what was asked of it says what to do. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
  readonly asked: keyof typeof SAYS
  constructor(asked: keyof typeof SAYS, cause?: unknown) {
    super(SAYS[asked], { cause })
    this.asked = asked
  }
}

const MAX_RETRIES = 2
const TRY_AGAIN_MS = 5000
const isFinal = (error: Error): boolean =>
  error instanceof ApiError || (error instanceof Unreachable && error.asked === 'slow')

const isGone = (error: Error): boolean => error instanceof ApiError && error.code === 'not_found'

/**
 * Answers stay in view while they are asked for again, except of what is gone; what the service refused is not asked for again
 * by itself.
 */
export const queries = new QueryClient({
  queryCache: new QueryCache({ onError: (error, query) => isGone(error) && query.setState({ data: undefined }) }),
  defaultOptions: {
    queries: {
      staleTime: 2000,
      refetchOnWindowFocus: true,
      retry: (failures, error) => !isFinal(error) && failures < MAX_RETRIES,
      refetchInterval: ({ state }) => state.error instanceof Unreachable && TRY_AGAIN_MS,
    },
  },
})

export const SESSION_PATH = '/api/v1/session'

/** Asks who is signed in: something was refused for want of a session. */
export const checkSession = (): Promise<void> => queries.invalidateQueries({ queryKey: [SESSION_PATH] })

/** A refusal may mean that the session is another one by now. Where one is opened, it is of what was typed. */
export const noticeStatus = (status: number, path: string): void => {
  if ((status === 401 || status === 403) && !path.startsWith(SESSION_PATH)) void checkSession()
}

api.use({ onResponse: ({ response, schemaPath }) => noticeStatus(response.status, schemaPath) })

const WRITE_MS = 60_000

/** @throws Unreachable when nothing is answered in time */
const answered = async <Answer>(answer: Promise<Answer>): Promise<Answer> => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('timeout')), WRITE_MS)
  })
  try {
    return await Promise.race([answer, late])
  } catch (error) {
    throw new Unreachable('write', error)
  } finally {
    clearTimeout(timer)
  }
}

/**
 * One call that changes something: what is in view is asked for anew. `leave` goes to another page before that, where what
 * was in view is no more. @throws ApiError in the service's words, Unreachable
 */
export const write = async <Data>(
  answer: Parameters<typeof unwrap<Data>>[0],
  leave?: () => void,
): Promise<NonNullable<Data>> => {
  const body = await unwrap<Data>(await answered(Promise.resolve(answer)))
  // The page that is left is still there for a moment: it must not ask again. The next one asks when it is shown.
  leave?.()
  await queries.invalidateQueries(leave === undefined ? {} : { refetchType: 'none' })
  return body
}

/** As `write`, where success has no body (204). @throws ApiError in the service's words, Unreachable */
export const writeWithoutAnswer = async (
  answer: Promise<{ readonly error?: unknown; readonly response: Response }>,
): Promise<void> => {
  const { response, error } = await answered(answer)
  if (!response.ok) throw new ApiError(response.status, error)
  await queries.invalidateQueries()
}
