import {
  keepPreviousData,
  type UseInfiniteQueryResult,
  type UseQueryResult,
  useInfiniteQuery,
  useQuery,
} from '@tanstack/react-query'
import { unwrap } from '../../client/client.ts'
import { api, Unreachable } from './client.ts'
import type { AnswerOf, ParamsOf, ReadPath } from './paths.ts'

/** The generated client's GET, for a path that is a variable: `ReadPath` and `ParamsOf` have made sure of the rest. */
type Read = (path: string, init: object) => Promise<{ data?: unknown; error?: unknown; response: Response }>

/** One read of the API. @throws ApiError in the service's words, Unreachable when there is no answer */
export const read = async <Path extends ReadPath>(
  path: Path,
  params: ParamsOf<Path>,
  signal: AbortSignal,
): Promise<AnswerOf<Path>> => {
  const answer = await (api.GET as unknown as Read)(path, { params, signal }).catch((error: unknown) => {
    if (signal.aborted) throw error
    throw new Unreachable(error)
  })
  return (await unwrap(answer)) as AnswerOf<Path>
}

export interface ReadOptions {
  /** False: do not ask yet. */
  readonly enabled?: boolean
  /** Ask again so often, beside what the live stream brings. */
  readonly everyMs?: number
}

/**
 * What the API answers for a path, kept up to date by the live stream. Other parameters abort the request before, and keep its
 * answer in view until theirs is there.
 */
export const useApi = <Path extends ReadPath>(
  path: Path,
  params: ParamsOf<Path>,
  { enabled = true, everyMs }: ReadOptions = {},
): UseQueryResult<AnswerOf<Path>> =>
  useQuery<AnswerOf<Path>>({
    queryKey: [path, params],
    queryFn: ({ signal }) => read(path, params, signal),
    enabled,
    placeholderData: keepPreviousData,
    ...(everyMs !== undefined && { refetchInterval: everyMs }),
  }) as UseQueryResult<AnswerOf<Path>>

interface KeysetPages {
  /** What `after` asks the next page with; null at the end. */
  readonly next: string | null
}

type KeysetPath = { [Path in ReadPath]: AnswerOf<Path> extends KeysetPages ? Path : never }[ReadPath]

/** A list page by page, each asked for with the cursor that the one before ended with. */
export const useApiPages = <Path extends KeysetPath>(
  path: Path,
  params: ParamsOf<Path>,
): UseInfiniteQueryResult<{ pages: AnswerOf<Path>[] }> =>
  useInfiniteQuery({
    queryKey: [path, params, 'pages'],
    queryFn: ({ signal, pageParam }) => {
      const query = { ...('query' in params ? (params.query as object) : {}), ...(pageParam && { after: pageParam }) }
      return read(path, { ...params, query } as ParamsOf<Path>, signal)
    },
    initialPageParam: '',
    getNextPageParam: (page) => (page as KeysetPages).next,
    placeholderData: keepPreviousData,
  }) as UseInfiniteQueryResult<{ pages: AnswerOf<Path>[] }>
