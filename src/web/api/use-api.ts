import {
  type Query,
  type UseInfiniteQueryResult,
  type UseQueryResult,
  useInfiniteQuery,
  useQueries,
  useQuery,
} from '@tanstack/react-query'
import { type paths, unwrap } from '../../client/client.ts'
import { noticeStatus, queries, Unreachable } from './client.ts'

type JsonOf<Operation> = Operation extends {
  responses: { 200: { content: { 'application/json': infer Body } } }
}
  ? Body
  : never

/** Paths that are read as JSON. */
type ReadPath = {
  [Path in keyof paths]: paths[Path] extends { get: infer Operation }
    ? [JsonOf<Operation>] extends [never]
      ? never
      : Path
    : never
}[keyof paths]

type OperationOf<Path extends ReadPath> = paths[Path] extends { get: infer Operation } ? Operation : never

export type AnswerOf<Path extends ReadPath> = JsonOf<OperationOf<Path>>

type Part<Operation, Name extends 'path' | 'query'> = Operation extends { parameters: infer Parameters }
  ? Name extends keyof Parameters
    ? NonNullable<Parameters[Name]>
    : never
  : never

type PathPart<Operation> = [Part<Operation, 'path'>] extends [never] ? object : { path: Part<Operation, 'path'> }
type QueryPart<Operation> = [Part<Operation, 'query'>] extends [never] ? object : { query?: Part<Operation, 'query'> }

/** What a path is asked with: `{ path: { job_id }, query: { limit } }`, as the API's document has it. */
type ParamsOf<Path extends ReadPath> = PathPart<OperationOf<Path>> & QueryPart<OperationOf<Path>>

type Values = Readonly<Record<string, unknown>>

/** `/devices/{id}` with `{ path: { id: 'a/b' }, query: { limit: 5, q: '' } }` is `/devices/a%2Fb?limit=5`: an empty filter is none. */
const addressOf = (path: string, { path: names = {}, query = {} }: { path?: Values; query?: Values }): string => {
  const address = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(names[name])))
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    for (const each of [value].flat()) if (each != null && each !== '') search.append(name, String(each))
  return search.size === 0 ? address : `${address}?${search}`
}

const READ_MS = 30_000

/**
 * One read of the API. Not by the generated client, whose Request costs a slow phone as much as the fetch itself.
 * @throws ApiError in the service's words, Unreachable when there is no answer in time
 */
export const read = async <Path extends ReadPath>(
  path: Path,
  params: ParamsOf<Path>,
  signal: AbortSignal,
): Promise<AnswerOf<Path>> => {
  const late = AbortSignal.timeout(READ_MS)
  const giveUp = (error: unknown): void => {
    if (signal.aborted) throw error
    if (late.aborted) throw new Unreachable('slow', error)
  }
  const response = await fetch(addressOf(path, params), { signal: AbortSignal.any([signal, late]) }).catch(
    (error: unknown) => {
      giveUp(error)
      throw new Unreachable('read', error)
    },
  )
  const body: unknown = await response.json().catch((error: unknown) => {
    giveUp(error)
    return null
  })
  noticeStatus(response.status, path)
  return (await unwrap({ response, data: response.ok ? body : null, error: body })) as AnswerOf<Path>
}

interface ReadOptions {
  /** False: do not ask yet. */
  readonly enabled?: boolean
  /** Ask again so often, beside what the live stream brings. */
  readonly everyMs?: number
}

/** Asks before a part of a page does, which then finds the answer, or waits for the same one. */
export const prefetch = <Path extends ReadPath>(path: Path, params: ParamsOf<Path>): void =>
  void queries.prefetchQuery({ queryKey: [path, params], queryFn: ({ signal }) => read(path, params, signal) })

type AskedBefore = Pick<Query, 'queryKey'> | undefined

/** The thing that an address is about, where it is about one: organizations may use the same names. */
const thingOf = ({ path, query }: { path?: Values; query?: Values }): string =>
  JSON.stringify([path, path && query?.org_id])

/** The former answer stays in view while another part of the same thing is asked for, and not as that of another thing. */
const keepOfSame =
  (params: object) =>
  <Data>(before: Data | undefined, asked: AskedBefore): Data | undefined =>
    thingOf((asked?.queryKey[1] ?? {}) as object) === thingOf(params) ? before : undefined

/**
 * What the API answers for a path, kept up to date by the live stream. Other parameters abort the request before, and keep its
 * answer in view until theirs is there, if they are about the same thing.
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
    placeholderData: keepOfSame(params) as never,
    ...(everyMs !== undefined && { refetchInterval: everyMs }),
  }) as UseQueryResult<AnswerOf<Path>>

/** What the API answers for one path with each of these parameters; undefined until it has. */
export const useApiAll = <Path extends ReadPath>(
  path: Path,
  each: readonly ParamsOf<Path>[],
): readonly (AnswerOf<Path> | undefined)[] =>
  useQueries({
    queries: each.map((params) => ({
      queryKey: [path, params],
      queryFn: ({ signal }: { signal: AbortSignal }) => read(path, params, signal),
    })),
  }).map(({ data }) => data as AnswerOf<Path> | undefined)

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
    placeholderData: keepOfSame(params) as never,
  }) as UseInfiniteQueryResult<{ pages: AnswerOf<Path>[] }>
