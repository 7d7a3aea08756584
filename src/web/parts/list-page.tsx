import { type ReactNode, useDeferredValue, useEffect } from 'react'
import { capital, plural } from '../text/format.ts'
import { usePageState } from '../url/use-page-state.ts'
import { Choice, SearchField } from './form.tsx'
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

/**
 * Makes a hook for the page, and the value of one filter, of a list; both are in the address. With `searchLabel`, the list can
 * be searched too.
 */
export const createListState = <Name extends string, Value extends string>(
  filter: Name,
  options: readonly (readonly [Value | '', string])[],
  searchLabel?: string,
) => {
  const defaults: Readonly<Record<string, string | number>> = {
    ...(searchLabel !== undefined && { q: '' }),
    [filter]: '',
    page: 1,
  }
  const words = { [filter]: options }
  return () => {
    const [state, change] = usePageState(defaults, words)
    const page = Number(state.page)
    const value = state[filter] as Value | ''
    const typed = String(state.q ?? '')
    const q = useDeferredValue(typed)
    const onFilter = (name: string) => (chosen: string) => change({ [name]: chosen, page: 1 })
    return {
      isFiltered: value !== '' || q !== '',
      /** Parameters for the service, which gets no empty ones. */
      query: { ...pageQuery(page), ...(searchLabel !== undefined && { q }), [filter]: value } as ReturnType<
        typeof pageQuery
      > & { readonly q?: string } & Readonly<Record<Name, Value>>,
      /** Properties of the `ListPage`. */
      list: {
        page,
        onPage: (next: number): void => change({ page: next }),
        filters: (
          <>
            {searchLabel !== undefined && <SearchField label={searchLabel} value={typed} onChange={onFilter('q')} />}
            <Choice label={capital(filter)} value={value} options={options} onChange={onFilter(filter)} />
          </>
        ),
      },
    }
  }
}

interface PagerProps {
  readonly page: number
  readonly onPage: (page: number) => void
}

const FIRST = { page: 1 }

/** The page of a list, in the address. */
export const usePager = (): PagerProps => {
  const [{ page }, change] = usePageState(FIRST)
  return { page, onPage: (next) => change({ page: next }) }
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
  readonly empty?: ReactNode
}

/** A panel with a table, or with `empty` if there are no rows. */
export const TablePanel = <Row,>({ title, label = title, aside, empty, ...table }: TablePanelProps<Row>) => (
  <Panel title={title} aside={aside} flush>
    {(table.rows.length === 0 && empty) || <Table label={label} {...table} />}
  </Panel>
)

interface LoadedTableProps<Data, Row> extends Omit<TablePanelProps<Row>, 'rows'> {
  readonly query: Loadable<Data>
  readonly rows: (data: Data) => readonly Row[]
}

/** A `TablePanel` with rows of a query's data. */
export const LoadedTable = <Data, Row>({ query, rows, ...table }: LoadedTableProps<Data, Row>) => (
  <Loaded query={query}>{(data) => <TablePanel {...table} rows={rows(data)} />}</Loaded>
)

interface ListPageProps<Data, Row> extends LoadedTableProps<Data, Row>, Partial<PagerProps> {
  /** Singular noun for a row; the header shows the number of rows. */
  readonly noun?: string
  /** The panel's title; `All <title>` by default. */
  readonly panel?: string
  readonly filters?: ReactNode
  readonly actions?: ReactNode
}

/** A page with one list: the number of rows, actions, filters, the service's warnings, and the rows. */
export const ListPage = <Data extends object, Row>(props: ListPageProps<Data, Row>) => {
  const { title, noun, panel = `All ${title.toLowerCase()}`, page, onPage, filters, actions, ...table } = props
  const { total = 0, warnings = [] } = (table.query.data ?? {}) as {
    readonly total?: number
    readonly warnings?: readonly string[]
  }
  return (
    <>
      <PageHeader title={title}>
        <Aside>
          {noun && <Quiet>{table.query.data && plural(total, noun)}</Quiet>}
          {actions}
        </Aside>
      </PageHeader>
      <Filters>
        {filters}
        {page !== undefined && onPage && <Pager page={page} total={total} onPage={onPage} />}
      </Filters>
      <Warnings texts={warnings} />
      <LoadedTable label={title} {...table} title={panel} />
    </>
  )
}
