import { type ReactNode, useEffect } from 'react'
import { plural } from '../text/format.ts'
import { Aside, Button, Filters, type Loadable, Loaded, PageHeader, Panel, Quiet } from './layout.tsx'
import { Table, type TableProps } from './table.tsx'

const PAGE = 100
/** An address may ask for more than there can be. */
const LAST = 1_000_000

/** Which part of a list a page is, as the service takes it. */
export const pageQuery = (page: number) => ({
  limit: PAGE,
  offset: (Math.min(LAST, Math.max(1, Math.trunc(page))) - 1) * PAGE,
})

interface PagerProps {
  readonly page: number
  readonly onPage: (page: number) => void
}

/** Steps through a list that has more than a page. From beyond its end it goes to its last one. */
export const Pager = ({ page, total, onPage }: PagerProps & { readonly total: number }) => {
  const pages = Math.ceil(total / PAGE)
  const isBeyond = pages > 0 && page > pages
  // biome-ignore lint/correctness/useExhaustiveDependencies: onPage is made anew each time
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
  /** Of the table, where that is another one. */
  readonly label?: string
  readonly aside?: ReactNode
  /** In place of a table without rows. */
  readonly empty: ReactNode
}

/** A panel that is a table, or says why there is none. */
export const TablePanel = <Row,>({ title, label = title, aside, empty, ...table }: TablePanelProps<Row>) => (
  <Panel title={title} aside={aside} flush>
    {table.rows.length === 0 ? empty : <Table label={label} {...table} />}
  </Panel>
)

interface ListPageProps<Data, Row> extends Omit<TablePanelProps<Row>, 'rows' | 'label' | 'aside'>, Partial<PagerProps> {
  readonly query: Loadable<Data>
  readonly rows: (data: Data) => readonly Row[]
  /** What the rows are, one of them; the head says how many there are. */
  readonly noun?: string
  /** Of the panel; `All <title>` when absent. */
  readonly panel?: string
  readonly filters?: ReactNode
  readonly actions?: ReactNode
}

/** A page that is one list: how many there are, what can be done, filters, and the rows. */
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
  const { total = 0 } = (query.data ?? {}) as { readonly total?: number }
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
      <Loaded query={query}>{(data) => <TablePanel {...table} title={panel} label={title} rows={rows(data)} />}</Loaded>
    </>
  )
}
