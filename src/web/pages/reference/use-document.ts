import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { ApiError } from '../../../client/client.ts'
import { Unreachable } from '../../api/client.ts'
import type { ApiDocument } from './document.ts'

/** The API document of the service that serves this page. */
export const useDocument = (): UseQueryResult<ApiDocument> =>
  useQuery({
    queryKey: ['/openapi.json', {}],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const response = await fetch('/openapi.json', { signal }).catch((error: unknown) => {
        throw signal.aborted ? error : new Unreachable('read', error)
      })
      if (!response.ok) throw new ApiError(response.status, await response.json().catch(() => null))
      return (await response.json()) as ApiDocument
    },
  })
