import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { ApiError } from '../../../client/client.ts'
import type { ApiDocument } from './document.ts'

/** The API document of this very service. */
export const useDocument = (): UseQueryResult<ApiDocument> =>
  useQuery({
    queryKey: ['/openapi.json', {}],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const answer = await fetch('/openapi.json', { signal })
      if (!answer.ok) throw new ApiError(answer.status, await answer.json().catch(() => null))
      return (await answer.json()) as ApiDocument
    },
  })
