import { ownEntry } from '../../../domain/own-entry.ts'
import { Choice } from '../../parts/form.tsx'
import { Quiet } from '../../parts/layout.tsx'
import { TablePanel } from '../../parts/list-page.tsx'
import type { Column } from '../../parts/table.tsx'
import { measure } from '../../text/format.ts'
import { usePageState } from '../../url/use-page-state.ts'
import { type ModelDetail, newestFirst, type Version } from './model-records.ts'

const DEFAULTS = { left: '', right: '' }

interface Row {
  readonly metric: string
  readonly left: number | null
  readonly right: number | null
}

/** The metrics of the version's round, and the numbers in its metadata. */
const metricsOf = (version: Version): Readonly<Record<string, number>> => {
  const isNumber = (entry: readonly [string, unknown]): entry is [string, number] => typeof entry[1] === 'number'
  return { ...Object.fromEntries(Object.entries(version.metadata).filter(isNumber)), ...version.trained_by?.metrics }
}

const difference = ({ left, right }: Row): string => {
  if (left === null || right === null) return ''
  const by = right - left
  return `${by > 0 ? '+' : by < 0 ? '−' : '±'}${measure(Math.abs(by))}`
}

const columns = (left: string, right: string): readonly Column<Row>[] => [
  { name: 'Metric', cell: ({ metric }) => metric },
  { name: left, number: true, cell: (row) => measure(row.left) },
  { name: right, number: true, cell: (row) => measure(row.right) },
  { name: 'Difference', number: true, cell: difference },
]

/** Compares two versions by their metrics. */
export const CompareVersions = ({ model }: { readonly model: ModelDetail }) => {
  const [state, change] = usePageState(DEFAULTS)
  const measured = newestFirst(model).filter((version) => Object.keys(metricsOf(version)).length > 0)
  if (measured.length < 2) return null
  const options = measured.map(({ version_label }) => [version_label, `Version ${version_label}`] as const)
  const right = measured.find(({ version_label }) => version_label === state.right) ?? measured[0]!
  const left =
    measured.find(({ version_label }) => version_label === state.left) ?? measured.find((each) => each !== right)!
  const choice = (name: 'left' | 'right', label: string, { version_label }: Version) => (
    <Choice label={label} value={version_label} options={options} onChange={(value) => change({ [name]: value })} />
  )
  const names = Object.keys({ ...metricsOf(left), ...metricsOf(right) })
  const rows = names.map((metric) => ({
    metric,
    left: ownEntry(metricsOf(left), metric) ?? null,
    right: ownEntry(metricsOf(right), metric) ?? null,
  }))
  return (
    <TablePanel
      title="Compare"
      label="Metrics of two versions"
      aside={
        <>
          {choice('left', 'From', left)} <Quiet>to</Quiet> {choice('right', 'To', right)}
        </>
      }
      columns={columns(left.version_label, right.version_label)}
      rows={rows}
      rowKey="metric"
    />
  )
}
