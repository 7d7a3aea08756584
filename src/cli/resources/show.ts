import type { Output } from '../output.ts'
import { cellOf, layoutOf, recordOf } from './cells.ts'
import { MAX_PAGE, type Pages, type Parts, readRows } from './requests.ts'
import type { Action, FindContext, Row } from './resource.ts'

/** Prints a record: names and values, then its lists as tables. */
export const showRecord = (out: Output, row: Row): void => {
  const { fields, tables } = recordOf(row)
  out.fields(fields)
  for (const { title, header, rows } of tables) {
    out.line('')
    out.line(`${title}:`)
    out.table(header, rows)
  }
}

interface ListOptions {
  readonly context: FindContext
  readonly json: boolean
  readonly limit: number
}

/** Query fields that do not filter rows. */
const ALL_ROWS: readonly string[] = ['org_id', 'sort', 'order']

/** True if options filter the rows. */
const isFiltered = ({ options = [] }: Action, { path, query }: Parts): boolean =>
  options.some(({ field, request }) => {
    const sent = request === undefined ? query : path
    return sent[field] !== undefined && !ALL_ROWS.includes(field)
  })

/** Says how many rows are not shown. */
const restOf = ({ rows, total, more }: Pages): string | null => {
  if (!more) return null
  const shown = total === null ? `The first ${rows.length}; there are more:` : `${rows.length} of ${total};`
  return `${shown} --limit all shows all.`
}

/** Prints a list, read page by page. As JSON, it is one object with all rows and their number, regardless of pages. */
export const showList = async (action: Action, parts: Parts, { context, json, limit }: ListOptions): Promise<void> => {
  const { session, connection } = context
  const { out } = session
  const { rows: field = '', columns = [], none = 'Nothing.' } = action
  const isPaged = action.paged !== false && parts.request.startsWith('GET ')
  const uncounted = action.paged === 'uncounted' ? { isUncounted: true, pageSize: MAX_PAGE } : {}
  const pages = await readRows(connection, parts, { field, limit, isPaged, ...uncounted })
  const { rows, total, first } = pages
  if (json) {
    const { limit: _limit, offset: _offset, next: _next, ...rest } = first
    return out.json({ ...rest, [field]: rows, ...(isPaged && { total: total ?? rows.length }) })
  }
  if (rows.length === 0) return out.note(isFiltered(action, parts) ? 'Nothing matches.' : none)
  const cells = rows.map((row) => columns.map((column) => cellOf(row, column, session.now())))
  // Omits columns without any values.
  const hasValues = columns.map((_, at) => cells.some((row) => row[at] !== null))
  const shown = columns.filter((_, at) => hasValues[at])
  await out.list(
    shown.map(([head]) => head),
    cells.map((row) => row.filter((_, at) => hasValues[at])),
    layoutOf(shown),
  )
  const rest = restOf(pages)
  if (rest !== null) out.note(rest)
  for (const note of (await action.notes?.({ ...first, [field]: rows }, context, parts.query)) ?? []) out.note(note)
  for (const warning of (first.warnings as readonly string[] | undefined) ?? []) out.warn(warning)
}
