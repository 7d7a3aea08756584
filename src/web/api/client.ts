import { QueryClient } from '@tanstack/react-query'
import { ApiError, createClient } from '../../client/client.ts'

/** The API by the session's cookie, which the browser sends along: no key is ever in this page. */
export const api = createClient({ baseUrl: window.location.origin })

/** The service did not answer at all. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
  constructor(cause: unknown) {
    super('The service does not answer. It may be restarting; this page tries again by itself.', { cause })
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
