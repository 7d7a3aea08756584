import { Badge } from '../../parts/cells.tsx'
import { TablePanel } from '../../parts/list-page.tsx'
import type { Column } from '../../parts/table.tsx'
import { measure, percent } from '../../text/format.ts'
import type { Analytics, Comparison } from './experiment-records.ts'

const range = (interval: { readonly lower: number; readonly upper: number } | null): string =>
  interval === null ? '' : `${measure(interval.lower)} to ${measure(interval.upper)}`

const columnsFor = (level: number): readonly Column<Comparison>[] => [
  { name: 'Comparison', cell: ({ variant, baseline }) => `${variant} minus ${baseline}` },
  { name: 'Difference', number: true, cell: ({ difference }) => measure(difference) },
  { name: 'Always-valid interval', number: true, cell: (one) => range(one.always_valid_interval) },
  { name: `${percent(level, 0)} interval`, number: true, cell: (one) => range(one.confidence_interval) },
  { name: 'Adjusted p', number: true, cell: ({ adjusted_p_value }) => measure(adjusted_p_value) },
  { name: 'Effect size', number: true, cell: ({ effect_size }) => measure(effect_size) },
  {
    name: 'Decided',
    cell: ({ decided }) => <Badge state={decided ? 'decided' : 'open'} tone={decided ? 'good' : 'busy'} />,
  },
]

/** Compares every variant with the first one. */
export const ComparisonsTable = ({ analytics }: { readonly analytics: Analytics }) => (
  <TablePanel
    title="Comparisons"
    aside={`of ${analytics.primary_metric}, with Welch’s t-test`}
    columns={columnsFor(analytics.confidence_level)}
    rows={analytics.comparisons}
    rowKey="variant"
  />
)
