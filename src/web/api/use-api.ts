import {
  type Query,
  type UseInfiniteQueryResult,
  type UseQueryResult,
  useInfiniteQuery,
  useQueries,
  useQuery,
} from '@tanstack/react-query'
import { type paths, unwrap } from '../../client/client.ts'
import { anySignal } from '../../domain/any-signal.ts'
import { noticeStatus, queries, refetchEvery, Unreachable } from './client.ts'
import { whenUnlocked } from './session-lock.ts'
import { backgroundHeaders } from './user-input.ts'

type JsonOf<Operation> = Operation extends {
  responses: { 200: { content: { 'application/json': infer Body } } }
}
  ? Body
  : never

/** Paths with JSON responses to GET. */
type ReadPath = {
  [Path in keyof paths]: paths[Path] extends { get: infer Operation }
    ? [JsonOf<Operation>] extends [never]
      ? never
      : Path
    : never
}[keyof paths]

type OperationOf<Path extends ReadPath> = paths[Path] extends { get: infer Operation } ? Operation : never

export type ResponseOf<Path extends ReadPath> = JsonOf<OperationOf<Path>>

type Part<Operation, Name extends 'path' | 'query'> = Operation extends { parameters: infer Parameters }
  ? Name extends keyof Parameters
    ? NonNullable<Parameters[Name]>
    : never
  : never

type PathPart<Operation> = [Part<Operation, 'path'>] extends [never] ? object : { path: Part<Operation, 'path'> }
type QueryPart<Operation> = [Part<Operation, 'query'>] extends [never] ? object : { query?: Part<Operation, 'query'> }

/** Parameters of a path: `{ path: { job_id }, query: { limit } }`, as in the API document. */
type ParamsOf<Path extends ReadPath> = PathPart<OperationOf<Path>> & QueryPart<OperationOf<Path>>

type Values = Readonly<Record<string, unknown>>

/** `/devices/{id}`, `{ path: { id: 'a/b' }, query: { limit: 5, q: '' } }` -> `/devices/a%2Fb?limit=5`; omits empty filters. */
const addressOf = (path: string, { path: names = {}, query = {} }: { path?: Values; query?: Values }): string => {
  const address = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(names[name])))
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    for (const each of [value].flat()) if (each != null && each !== '') search.append(name, String(each))
  return search.size === 0 ? address : `${address}?${search}`
}

const READ_MS = 30_000

/**
 * Reads from the API, without the generated client: on a slow phone, its Request costs as much as the fetch itself.
 * @throws ApiError with the service's message, Unreachable if there is no response in time
 */
export const read = async <Path extends ReadPath>(
  path: Path,
  params: ParamsOf<Path>,
  signal: AbortSignal,
): Promise<ResponseOf<Path>> => {
  await whenUnlocked(signal)
  const late = AbortSignal.timeout(READ_MS)
  const giveUp = (error: unknown): void => {
    if (signal.aborted) throw error
    if (late.aborted) throw new Unreachable('slow', error)
  }
  const response = await fetch(addressOf(path, params), {
    signal: anySignal(signal, late),
    headers: backgroundHeaders(),
  }).catch((error: unknown) => {
    giveUp(error)
    throw new Unreachable('read', error)
  })
  const body: unknown = await response.json().catch((error: unknown) => {
    giveUp(error)
    return null
  })
  noticeStatus(response.status, path)
  return (await unwrap({ response, data: response.ok ? body : null, error: body })) as ResponseOf<Path>
}

interface ReadOptions {
  /** false: do not fetch yet. */
  readonly enabled?: boolean
  /** Refetches at this interval, in addition to updates from the live stream. */
  readonly everyMs?: number
}

/** Fetches data ahead of the component that needs it, which then uses the same request. */
export const prefetch = <Path extends ReadPath>(path: Path, params: ParamsOf<Path>): void =>
  void queries.prefetchQuery({ queryKey: [path, params], queryFn: ({ signal }) => read(path, params, signal) })

type PreviousQuery = Pick<Query, 'queryKey'> | undefined

/** Identifies the object that a request is about. Includes the organization, because organizations may use the same names. */
const thingOf = ({ path, query }: { path?: Values; query?: Values }): string =>
  JSON.stringify([path, path && query?.org_id])

/** Keeps the previous data in view while another part of the same object loads, but not the data of a different object. */
const keepOfSame =
  (params: object) =>
  <Data>(before: Data | undefined, previous: PreviousQuery): Data | undefined =>
    thingOf((previous?.queryKey[1] ?? {}) as object) === thingOf(params) ? before : undefined

/**
 * Returns the API's data for a path, kept up to date by the live stream. New parameters abort the previous request. Its data
 * stays in view until the new data arrives, if it is about the same object.
 */
export const useApi = <Path extends ReadPath>(
  path: Path,
  params: ParamsOf<Path>,
  { enabled = true, everyMs }: ReadOptions = {},
): UseQueryResult<ResponseOf<Path>> =>
  useQuery<ResponseOf<Path>>({
    queryKey: [path, params],
    queryFn: ({ signal }) => read(path, params, signal),
    enabled,
    placeholderData: keepOfSame(params) as never,
    ...(everyMs !== undefined && { refetchInterval: refetchEvery(everyMs) }),
  }) as UseQueryResult<ResponseOf<Path>>

/** Returns the API's data for one path with each of these parameters; undefined while loading. */
export const useApiAll = <Path extends ReadPath>(
  path: Path,
  each: readonly ParamsOf<Path>[],
): readonly (ResponseOf<Path> | undefined)[] =>
  useQueries({
    queries: each.map((params) => ({
      queryKey: [path, params],
      queryFn: ({ signal }: { signal: AbortSignal }) => read(path, params, signal),
    })),
  }).map(({ data }) => data as ResponseOf<Path> | undefined)

interface KeysetPages {
  /** The value of `after` for the next page; null at the end. */
  readonly next: string | null
}

type KeysetPath = { [Path in ReadPath]: ResponseOf<Path> extends KeysetPages ? Path : never }[ReadPath]

/** Loads a list page by page, each with the previous page's cursor. */
export const useApiPages = <Path extends KeysetPath>(
  path: Path,
  params: ParamsOf<Path>,
): UseInfiniteQueryResult<{ pages: ResponseOf<Path>[] }> =>
  useInfiniteQuery({
    queryKey: [path, params, 'pages'],
    queryFn: ({ signal, pageParam }) => {
      const query = { ...('query' in params ? (params.query as object) : {}), ...(pageParam && { after: pageParam }) }
      return read(path, { ...params, query } as ParamsOf<Path>, signal)
    },
    initialPageParam: '',
    getNextPageParam: (page) => (page as KeysetPages).next,
    placeholderData: keepOfSame(params) as never,
  }) as UseInfiniteQueryResult<{ pages: ResponseOf<Path>[] }>

/** Loads the next page; undefined if there is none, or while one is loading. */
export const loaderOfNext = (
  query: Pick<UseInfiniteQueryResult, 'hasNextPage' | 'isFetchingNextPage' | 'fetchNextPage'>,
) => (query.hasNextPage && !query.isFetchingNextPage ? query.fetchNextPage : undefined)
