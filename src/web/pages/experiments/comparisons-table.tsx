import { useApi } from '../../api/use-api.ts'
import { Badge } from '../../parts/cells.tsx'
import { Choice } from '../../parts/form.tsx'
import { Panel, Warnings } from '../../parts/layout.tsx'
import { LoadedTable } from '../../parts/list-page.tsx'
import type { Column } from '../../parts/table.tsx'
import { measure, NONE, percent } from '../../text/format.ts'
import { usePageState } from '../../url/use-page-state.ts'
import type { Analytics, Comparison } from './experiment-records.ts'

const range = (interval: { readonly lower: number; readonly upper: number } | null): string =>
  interval === null ? NONE : `${measure(interval.lower)} to ${measure(interval.upper)}`

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

interface ComparisonsProps {
  readonly analytics: Analytics
  readonly often: { readonly everyMs?: number }
}

const DEFAULTS = { metric: '' }

/** Compares every variant with the first one, in any metric. */
export const ComparisonsTable = ({ analytics, often }: ComparisonsProps) => {
  const [state, change] = usePageState(DEFAULTS)
  const { experiment_id, primary_metric: primary, confidence_level: level, variants } = analytics
  const metrics = [...new Set([primary, ...variants.flatMap((variant) => Object.keys(variant.metrics))])]
  const metric = metrics.includes(state.metric) ? state.metric : primary
  const params = { path: { experiment_id }, query: { metric } }
  const query = useApi('/api/v1/experiments/{experiment_id}/analytics', params, often)
  // Those about the primary metric are shown with the decision.
  const warnings = query.data?.warnings.filter((warning) => !analytics.warnings.includes(warning)) ?? []
  return (
    <>
      <LoadedTable
        title="Comparisons"
        aside={
          <Choice
            label="Metric"
            value={metric}
            options={metrics.map((name) => [name, `of ${name}`] as const)}
            onChange={(name) => change({ metric: name === primary ? '' : name })}
          />
        }
        columns={columnsFor(level)}
        query={query}
        rows={({ comparisons }) => comparisons}
        rowKey="variant"
      />
      {warnings.length > 0 && (
        <Panel title="Attention">
          <Warnings texts={warnings} />
        </Panel>
      )}
    </>
  )
}
