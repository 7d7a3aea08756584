import { type ReactNode, useEffect } from 'react'
import { plural } from '../text/format.ts'
import { Aside, Button, Filters, type Loadable, Loaded, PageHeader, Panel, Quiet, Warnings } from './layout.tsx'
import { Table, type TableProps } from './table.tsx'

const PAGE = 100
/** An address may contain any page number. */
const LAST = 1_000_000

/** Returns a page's query parameters for the service. */
export const pageQuery = (page: number) => ({
  limit: PAGE,
  offset: (Math.min(LAST, Math.max(1, Math.trunc(page))) - 1) * PAGE,
})

interface PagerProps {
  readonly page: number
  readonly onPage: (page: number) => void
}

/** Navigation for a list of several pages. Beyond the end, it goes to the last page. */
export const Pager = ({ page, total, onPage }: PagerProps & { readonly total: number }) => {
  const pages = Math.ceil(total / PAGE)
  const isBeyond = pages > 0 && page > pages
  // biome-ignore lint/correctness/useExhaustiveDependencies: onPage is a new function on each render
  useEffect(() => {
    if (isBeyond) onPage(pages)
  }, [isBeyond, pages])
  if (pages <= 1) return null
  return (
    <Aside>
      <Button disabled={page <= 1} onClick={() => onPage(page - 1)}>
        Newer
      </Button>
      <Quiet>{`Page ${page} of ${pages}`}</Quiet>
      <Button disabled={page >= pages} onClick={() => onPage(page + 1)}>
        Older
      </Button>
    </Aside>
  )
}

interface TablePanelProps<Row> extends Omit<TableProps<Row>, 'label'> {
  readonly title: string
  /** The table's label, if different from the title. */
  readonly label?: string
  readonly aside?: ReactNode
  /** Shown instead of an empty table. */
  readonly empty: ReactNode
}

/** A panel with a table, or with `empty` if there are no rows. */
export const TablePanel = <Row,>({ title, label = title, aside, empty, ...table }: TablePanelProps<Row>) => (
  <Panel title={title} aside={aside} flush>
    {table.rows.length === 0 ? empty : <Table label={label} {...table} />}
  </Panel>
)

interface ListPageProps<Data, Row> extends Omit<TablePanelProps<Row>, 'rows' | 'label' | 'aside'>, Partial<PagerProps> {
  readonly query: Loadable<Data>
  readonly rows: (data: Data) => readonly Row[]
  /** Singular noun for a row; the header shows the number of rows. */
  readonly noun?: string
  /** The panel's title; `All <title>` by default. */
  readonly panel?: string
  readonly filters?: ReactNode
  readonly actions?: ReactNode
}

/** A page with one list: the number of rows, actions, filters, the service's warnings, and the rows. */
export const ListPage = <Data extends object, Row>(props: ListPageProps<Data, Row>) => {
  const {
    title,
    noun,
    panel = `All ${title.toLowerCase()}`,
    query,
    rows,
    page,
    onPage,
    filters,
    actions,
    ...table
  } = props
  const { total = 0, warnings = [] } = (query.data ?? {}) as {
    readonly total?: number
    readonly warnings?: readonly string[]
  }
  return (
    <>
      <PageHeader title={title}>
        <Aside>
          {noun && <Quiet>{query.data && plural(total, noun)}</Quiet>}
          {actions}
        </Aside>
      </PageHeader>
      <Filters>
        {filters}
        {page !== undefined && onPage && <Pager page={page} total={total} onPage={onPage} />}
      </Filters>
      <Warnings texts={warnings} />
      <Loaded query={query}>{(data) => <TablePanel {...table} title={panel} label={title} rows={rows(data)} />}</Loaded>
    </>
  )
}
