import { Link } from 'wouter'
import { useApi } from '../../api/use-api.ts'
import { TablePanel } from '../../parts/list-page.tsx'
import { Meter } from '../../parts/meter.tsx'
import type { Column } from '../../parts/table.tsx'
import { count, measure, NONE, percent, shortId } from '../../text/format.ts'
import { modelHref } from '../../url/hrefs.ts'
import type { Analytics, Estimates, Experiment } from './experiment-records.ts'

interface Row {
  readonly variant: Experiment['variants'][number]
  readonly measured: Analytics['variants'][number]
  readonly estimate: Estimates['points'][number]['variants'][number] | undefined
  /** The number of reporting devices in all variants. */
  readonly all: number
  readonly isMismatch: boolean
}

export const VariantVersion = ({ modelId, version }: { readonly modelId: string; readonly version: string }) => {
  const model = useApi('/api/v1/models/{model_id}', { path: { model_id: modelId } })
  const name = model.data?.name ?? shortId(modelId)
  return <Link href={modelHref(modelId)}>{`${name} ${version}`}</Link>
}

const interval = (estimate: Row['estimate']): string =>
  estimate?.lower == null ? NONE : `${measure(estimate.lower)} to ${measure(estimate.upper)}`

const columnsFor = (metric: string, others: readonly string[], level: number): readonly Column<Row>[] => [
  { name: 'Variant', cell: ({ variant }) => <strong>{variant.name}</strong> },
  { name: 'Version', cell: ({ variant }) => <VariantVersion modelId={variant.model_id} version={variant.version} /> },
  {
    name: 'Reporting devices',
    cell: ({ variant, measured, all, isMismatch }) => (
      <Meter
        label={`Devices of ${variant.name}`}
        value={measured.sample_size}
        max={Math.max(1, all)}
        text={`${count(measured.sample_size)}${all === 0 ? '' : `, ${percent(measured.sample_size / all)}`} (allocated ${percent(variant.allocation)})`}
        tone={isMismatch ? 'bad' : 'busy'}
      />
    ),
  },
  { name: metric, number: true, cell: ({ estimate }) => measure(estimate?.mean) },
  { name: `${percent(level, 0)} interval`, number: true, cell: ({ estimate }) => interval(estimate) },
  ...others.map((name) => ({
    name,
    number: true,
    cell: ({ measured }: Row) => measure(measured.metrics[name]?.mean),
  })),
]

const MAX_OTHERS = 4

interface VariantsTableProps {
  readonly experiment: Experiment
  readonly analytics: Analytics
  readonly estimates: Estimates | undefined
}

/** Each variant: its version, its devices, and their measurements. */
export const VariantsTable = ({ experiment, analytics, estimates }: VariantsTableProps) => {
  const { primary_metric: metric, confidence_level } = experiment
  const all = analytics.variants.reduce((sum, { sample_size }) => sum + sample_size, 0)
  const last = estimates?.points.at(-1)
  const rows = experiment.variants.flatMap((variant, index) => {
    const measured = analytics.variants[index]
    const isMismatch = analytics.sample_ratio?.mismatch ?? false
    return measured ? [{ variant, measured, estimate: last?.variants[index], all, isMismatch }] : []
  })
  const others = [...new Set(analytics.variants.flatMap(({ metrics }) => Object.keys(metrics)))]
    .filter((name) => name !== metric)
    .slice(0, MAX_OTHERS)
  return (
    <TablePanel
      title="Variants"
      aside="means over devices"
      columns={columnsFor(metric, others, confidence_level)}
      rows={rows}
      rowKey={({ variant }) => variant.name}
    />
  )
}
