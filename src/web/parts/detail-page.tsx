import type { ReactNode } from 'react'
import { Aside, type Loadable, Loaded, PageHeader } from './layout.tsx'

interface DetailPageProps<Data> {
  readonly query: Loadable<Data>
  readonly title: (data: Data) => string
  /** The title while loading. */
  readonly loading: string
  readonly up: readonly [href: string, label: string]
  readonly badge?: (data: Data) => ReactNode
  readonly actions?: (data: Data) => ReactNode
  readonly children: (data: Data) => ReactNode
}

/** A page about one object: its header while loading, and its content once loaded. */
export const DetailPage = <Data,>(props: DetailPageProps<Data>) => {
  const { query, title, loading, up, badge, actions, children } = props
  const { data } = query
  return (
    <>
      <PageHeader title={data === undefined ? loading : title(data)} up={{ href: up[0], label: up[1] }}>
        {data !== undefined && badge?.(data)}
        <Aside>{data !== undefined && actions?.(data)}</Aside>
      </PageHeader>
      <Loaded query={query}>{children}</Loaded>
    </>
  )
}
