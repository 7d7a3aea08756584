import type { ReactNode } from 'react'
import { type Loadable, Loaded, Problem, useLastError } from '../../parts/layout.tsx'

interface LoadedPartsProps {
  readonly queries: readonly Loadable<unknown>[]
  /** Shown if nothing has arrived, once all queries have data. */
  readonly empty?: ReactNode
  /** What has arrived; null if nothing. */
  readonly children: ReactNode
}

/** Shows what several queries return, as it arrives, and the error of one that failed. */
export const LoadedParts = ({ queries, empty, children }: LoadedPartsProps) => {
  const missing = queries.filter(({ data }) => data === undefined)
  const query: Loadable<unknown> = {
    data: missing.length === 0 ? [] : undefined,
    error: missing.find(({ error }) => error !== null)?.error ?? null,
    refetch: () => Promise.all(missing.map(({ refetch }) => refetch())),
  }
  const error = useLastError(query)
  if (children === null) return <Loaded query={query}>{() => empty}</Loaded>
  return (
    <>
      {error && <Problem error={error} retry={query.refetch} />}
      {children}
    </>
  )
}
