import { QueryClient } from '@tanstack/react-query'
import { ApiError, createClient, unwrap } from '../../client/client.ts'

/** The API by the session's cookie, which the browser sends along: no key is ever in this page. */
export const api = createClient({ baseUrl: window.location.origin })

/** The service did not answer at all. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
  constructor(cause: unknown) {
    super('The service does not respond. It may be restarting; this page retries automatically.', { cause })
  }
}

const MAX_RETRIES = 2

/** Answers stay in view while they are asked for again; what the service refused is not asked for again by itself. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2000,
      refetchOnWindowFocus: true,
      retry: (failures, error) => !(error instanceof ApiError) && failures < MAX_RETRIES,
    },
  },
})

/**
 * One call that changes something: what is in view is asked for anew. `leave` goes to another page before that, where what
 * was in view is no more. @throws ApiError in the service's words, Unreachable
 */
export const write = async <Data>(
  answer: Parameters<typeof unwrap<Data>>[0],
  leave?: () => void,
): Promise<NonNullable<Data>> => {
  const body = await unwrap<Data>(
    await Promise.resolve(answer).catch((error: unknown) => {
      throw new Unreachable(error)
    }),
  )
  // The page that is left is still there for a moment: it must not ask again. The next one asks when it is shown.
  leave?.()
  await queries.invalidateQueries(leave === undefined ? {} : { refetchType: 'none' })
  return body
}

/** As `write`, where success has no body (204). @throws ApiError in the service's words, Unreachable */
export const writeWithoutAnswer = async (
  answer: Promise<{ readonly error?: unknown; readonly response: Response }>,
): Promise<void> => {
  const { response, error } = await answer.catch((failure: unknown) => {
    throw new Unreachable(failure)
  })
  if (!response.ok) throw new ApiError(response.status, error)
  await queries.invalidateQueries()
}
