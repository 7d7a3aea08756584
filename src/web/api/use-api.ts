import { type Query, type UseQueryResult, useQueries, useQuery } from '@tanstack/react-query'
import { useCallback, useRef } from 'react'
import { fillPath, type paths, unwrap } from '../../client/client.ts'
import { anySignal } from '../../domain/any-signal.ts'
import { isGoingBack } from '../url/scroll-place.ts'
import { noticeStatus, queries, refetchEvery, Unreachable } from './client.ts'
import { type Keyset, type LoadedPage, loadPages, pagesWith, type Span } from './pages.ts'
import { PAGES } from './query-keys.ts'
import { learnOffset } from './service-clock.ts'
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
  const address = fillPath(path, names)
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
  const sentAt = Date.now()
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
  learnOffset(response, sentAt)
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

/** For data whose changes are not events of the live stream. */
export const WITHOUT_EVENTS = { everyMs: 20_000 } as const

const RESTORING_MS = 100
const delay = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

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

interface ReadResult<Path extends ReadPath> {
  readonly data: ResponseOf<Path> | undefined
  readonly error: Error | null
  readonly refetch: () => unknown
}

/** Reads one path of the API with each of these parameters. */
export const useApiAll = <Path extends ReadPath>(
  path: Path,
  each: readonly ParamsOf<Path>[],
): readonly ReadResult<Path>[] =>
  useQueries({
    queries: each.map((params) => ({
      queryKey: [path, params],
      queryFn: ({ signal }: { signal: AbortSignal }) => read(path, params, signal),
    })),
  }) as readonly ReadResult<Path>[]

type KeysetPath = { [Path in ReadPath]: ResponseOf<Path> extends Keyset ? Path : never }[ReadPath]

interface PagedList<Path extends KeysetPath, Row> {
  readonly data: { readonly pages: readonly ResponseOf<Path>[]; readonly rows: readonly Row[] } | undefined
  readonly isPlaceholderData: boolean
  readonly error: Error | null
  readonly refetch: () => unknown
  /** Properties of the list's `Table`. */
  readonly scrolling: {
    readonly onView: (first: number, last: number) => void
    readonly onEnd: (() => unknown) | undefined
  }
}

/** Loads a list page by page, each with the previous page's cursor. Refetches only the pages in view. */
export const useApiPages = <Path extends KeysetPath, Row>(
  path: Path,
  params: ParamsOf<Path>,
  rowsOf: (page: ResponseOf<Path>) => readonly Row[],
  { everyMs = false }: { readonly everyMs?: number | false } = {},
): PagedList<Path, Row> => {
  type Pages = readonly LoadedPage<ResponseOf<Path> & Keyset>[]
  const queryKey = [path, params, PAGES]
  const state = useRef({ view: [0, 0] as Span, wantsNext: false, changedAt: 0 }).current
  const query = useQuery<Pages>({
    queryKey,
    queryFn: async ({ signal }) => {
      const pages = queries.getQueryData<Pages>(queryKey) ?? []
      // If an update cancels the request for the next page, it fetches the pages in view.
      const isNext = state.wantsNext && pages.at(-1)?.page.next != null
      state.wantsNext = false
      // After going back, the pages in view are known once the scroll position is restored.
      while (pages.length > 0 && isGoingBack() && !signal.aborted) await delay(RESTORING_MS)
      const last = pages.length - 1
      const inView = state.view.map((page) => Math.max(0, Math.min(page, last))) as unknown as Span
      if (!isNext) state.changedAt = Date.now()
      try {
        return await loadPages(pages, isNext ? [last + 1, last + 1] : inView, (after) => {
          const query = { ...('query' in params ? (params.query as object) : {}), ...(after && { after }) }
          return read(path, { ...params, query } as ParamsOf<Path>, signal) as Promise<Pages[number]['page']>
        })
      } finally {
        state.wantsNext = false
      }
    },
    placeholderData: keepOfSame(params) as never,
    refetchInterval: refetchEvery(everyMs),
  })
  const { data, isPlaceholderData, isFetching, error, refetch } = query
  const onEnd = useCallback(() => {
    state.wantsNext = true
    return refetch({ cancelRefetch: false })
  }, [state, refetch])
  const onView = (first: number, last: number): void => {
    if (data === undefined) return
    state.view = pagesWith(
      data.map(({ page }) => rowsOf(page).length),
      [first, last],
    )
    const [from, to] = state.view
    const isOutdated = data.slice(from, to + 1).some(({ loadedAt }) => loadedAt < state.changedAt)
    if (isOutdated && !isFetching && error === null) void refetch({ cancelRefetch: false })
  }
  const pages = data?.map(({ page }) => page)
  const isComplete = pages?.at(-1)?.next == null
  return {
    data: pages && { pages, rows: pages.flatMap((page) => [...rowsOf(page)]) },
    isPlaceholderData,
    error,
    refetch,
    scrolling: { onView, onEnd: isComplete || isFetching ? undefined : onEnd },
  }
}
