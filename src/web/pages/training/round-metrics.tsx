import { TablePanel } from '../../parts/list-page.tsx'
import type { Column } from '../../parts/table.tsx'
import { count, measure, percent } from '../../text/format.ts'
import type { Round } from './training-records.ts'

type Summary = NonNullable<Round['metrics']>[string]
type Row = readonly [name: string, summary: Summary]

const figure = (name: string, value: number | null): string => (name === 'accuracy' ? percent(value) : measure(value))

const column = (name: string, field: Exclude<keyof Summary, 'devices'>): Column<Row> => ({
  name,
  number: true,
  cell: ([metric, summary]) => figure(metric, summary[field]),
})

const COLUMNS: readonly Column<Row>[] = [
  { name: 'Metric', cell: ([name]) => name },
  column('Mean', 'mean'),
  column('Median', 'median'),
  column('Worst 10%', 'worst_tenth'),
  column('Lowest', 'min'),
  column('Highest', 'max'),
  { name: 'Devices', number: true, cell: ([, { devices }]) => count(devices) },
]

const Metrics = ({ title, metrics }: { readonly title: string; readonly metrics: Round['metrics'] }) => {
  const rows = Object.entries(metrics ?? {})
  return rows.length > 0 && <TablePanel title={title} columns={COLUMNS} rows={rows} rowKey={([name]) => name} />
}

/** How the devices' metrics are distributed, by model and data. */
export const RoundMetrics = ({ round }: { readonly round: Round }) => (
  <>
    <Metrics title="The new model on held-out data" metrics={round.evaluation?.metrics} />
    <Metrics title="Training metrics of the devices" metrics={round.metrics} />
    <Metrics title="The global model on held-out data" metrics={round.global_evaluation?.metrics} />
  </>
)
