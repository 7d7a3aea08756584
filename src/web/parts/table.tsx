import { useWindowVirtualizer, type VirtualItem } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react'
import styles from './table.module.css'

export interface Column<Row> {
  readonly name: string
  readonly cell: (row: Row) => ReactNode
  /** Right-aligns numbers and times, so that they line up. */
  readonly number?: boolean
  /** The server's sort key, if it can sort by this column. */
  readonly sort?: string
}

export interface Sorting {
  readonly by: string
  readonly descending: boolean
  readonly onChange: (by: string, descending: boolean) => void
}

export interface TableProps<Row> {
  /** The table's label for screen readers. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  /** Identifies rows: a field, or a function of the row. */
  readonly rowKey: (keyof Row & string) | ((row: Row) => string)
  readonly sorting?: Sorting
  /** Called while the end is close to the visible area, to load the next page; not defined while one is loading. */
  readonly onEnd?: (() => unknown) | undefined
  /** Called with the rows that are rendered: those in view and near it. */
  readonly onView?: (first: number, last: number) => void
}

const keyOf = <Row,>(rowKey: TableProps<Row>['rowKey'], row: Row): string =>
  String(typeof rowKey === 'function' ? rowKey(row) : row[rowKey])

const ROW_HEIGHT = 36
/** Shorter tables are cheaper to render in full. */
const VIRTUAL_FROM = 200

const arrow = (sorting: Sorting | undefined, column: string): string => {
  if (sorting?.by !== column) return ''
  return sorting.descending ? ' ↓' : ' ↑'
}

const Head = <Row,>({ columns, sorting }: Pick<TableProps<Row>, 'columns' | 'sorting'>) => (
  <thead>
    <tr>
      {columns.map(({ name, number, sort }) => {
        const sorted = sort !== undefined && sorting?.by === sort
        const order = sorting?.descending ? 'descending' : 'ascending'
        return (
          <th
            key={name}
            scope="col"
            className={number ? styles.number : undefined}
            aria-sort={sorted ? order : undefined}
          >
            {sort === undefined || sorting === undefined ? (
              name
            ) : (
              <button
                type="button"
                className={styles.sort}
                onClick={() => sorting.onChange(sort, sorted && !sorting.descending)}
              >
                {name}
                {arrow(sorting, sort)}
              </button>
            )}
          </th>
        )
      })}
    </tr>
  </thead>
)

interface LineProps<Row> extends Pick<TableProps<Row>, 'columns'> {
  readonly row: Row
  readonly index: number
  readonly measure?: (element: Element | null) => void
}

const Line = <Row,>({ row, index, columns, measure }: LineProps<Row>) => (
  <tr ref={measure} data-index={index}>
    {columns.map(({ name, cell, number }) => (
      <td key={name} data-label={name} className={number ? styles.number : undefined}>
        {cell(row)}
      </td>
    ))}
  </tr>
)

const Spacer = ({ height, columns }: { readonly height: number; readonly columns: number }) =>
  height > 0 && (
    <tr className={styles.spacer}>
      <td colSpan={columns} style={{ height }} />
    </tr>
  )

const LOAD_AGAIN_MS = 1000

/** Calls `onEnd` while the returned element is close to the visible area. */
const useEnd = (onEnd: (() => unknown) | undefined, rows: number) => {
  const end = useRef<HTMLDivElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: if the end is still in view after a page, another must load
  useEffect(() => {
    if (onEnd === undefined || end.current === null) return
    let isNear = false
    const load = () => isNear && onEnd()
    const observer = new IntersectionObserver(
      (seen) => {
        isNear = seen.at(-1)!.isIntersecting
        load()
      },
      { rootMargin: '800px' },
    )
    observer.observe(end.current)
    // An update may have canceled the request for the page.
    const again = setInterval(load, LOAD_AGAIN_MS)
    return () => {
      observer.disconnect()
      clearInterval(again)
    }
  }, [onEnd, rows])
  return end
}

/** Heights of rows that were measured, by address: after Back, the page is as tall as before. */
const measured = new Map<string, VirtualItem[]>()
const MAX_ADDRESSES = 20

const LongBody = <Row,>({ columns, rows, rowKey, onView }: TableProps<Row>) => {
  const body = useRef<HTMLTableSectionElement>(null)
  const [top, setTop] = useState(0)
  useLayoutEffect(() => setTop((body.current?.getBoundingClientRect().top ?? 0) + window.scrollY), [])
  const [address] = useState(() => window.location.href)
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => ROW_HEIGHT,
    overscan: 20,
    scrollMargin: top,
    initialMeasurementsCache: measured.get(address) ?? [],
  })
  useEffect(
    () => () => {
      measured.set(address, virtual.takeSnapshot())
      if (measured.size > MAX_ADDRESSES) measured.delete([...measured.keys()][0]!)
    },
    [address, virtual],
  )
  const items = virtual.getVirtualItems()
  useEffect(() => onView?.(items[0]?.index ?? 0, items.at(-1)?.index ?? 0))
  const before = (items[0]?.start ?? top) - top
  const after = virtual.getTotalSize() - ((items.at(-1)?.end ?? top) - top)
  return (
    <tbody ref={body}>
      <Spacer height={before} columns={columns.length} />
      {items.map(({ index }) => (
        <Line
          key={keyOf(rowKey, rows[index]!)}
          row={rows[index]!}
          index={index}
          columns={columns}
          measure={virtual.measureElement}
        />
      ))}
      <Spacer height={after} columns={columns.length} />
    </tbody>
  )
}

/** A table; on a phone, cards. Long lists render only the visible rows. */
export const Table = <Row,>(props: TableProps<Row>) => {
  const { label, columns, rows, rowKey, sorting, onEnd, onView } = props
  const end = useEnd(onEnd, rows.length)
  const isLong = rows.length >= VIRTUAL_FROM
  useEffect(() => {
    if (!isLong) onView?.(0, rows.length - 1)
  })
  return (
    <>
      <table className={styles.table} aria-label={label}>
        <Head columns={columns} {...(sorting && { sorting })} />
        {isLong ? (
          <LongBody {...props} />
        ) : (
          <tbody>
            {rows.map((row, index) => (
              <Line key={keyOf(rowKey, row)} row={row} index={index} columns={columns} />
            ))}
          </tbody>
        )}
      </table>
      <div ref={end} />
    </>
  )
}
