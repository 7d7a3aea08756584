import { Link } from 'wouter'
import { shellWord } from '../../../domain/shell-word.ts'
import { useDeviceCount, useGroupOptions } from '../../api/choices.ts'
import { useApi } from '../../api/use-api.ts'
import { Ago, Badge, Id } from '../../parts/cells.tsx'
import { DetailPage } from '../../parts/detail-page.tsx'
import { Empty, Facts, Figures, Loaded, Note, Panel, Warnings } from '../../parts/layout.tsx'
import { TablePanel } from '../../parts/list-page.tsx'
import type { Column } from '../../parts/table.tsx'
import { count, measure, percent } from '../../text/format.ts'
import { ComparisonsTable } from './comparisons-table.tsx'
import { decide } from './decision.ts'
import { EstimateCurves } from './estimate-curves.tsx'
import { ExperimentActions } from './experiment-actions.tsx'
import type { Analytics, Experiment } from './experiment-records.ts'
import styles from './experiments.module.css'
import { VariantsTable, VariantVersion } from './variants-table.tsx'

/** The live stream does not include measurements of devices: there may be thousands per second. */
const REPORTS = { everyMs: 3000 } as const

const DRAFT_COLUMNS: readonly Column<Experiment['variants'][number]>[] = [
  { name: 'Variant', cell: ({ name }) => <strong>{name}</strong> },
  { name: 'Version', cell: ({ model_id, version }) => <VariantVersion modelId={model_id} version={version} /> },
  { name: 'Share of devices', number: true, cell: ({ allocation }) => percent(allocation) },
]

const DecisionPanel = ({ experiment, analytics }: { experiment: Experiment; analytics: Analytics }) => {
  const { tone, title, reasons } = decide(analytics)
  // The experiment's own are shown at the top.
  const shown = [...reasons, ...experiment.warnings]
  return (
    <Panel title="Decision" aside={<Badge state={title} tone={tone} />}>
      <ul className={styles.reasons}>
        {reasons.map((reason) => (
          <li key={reason}>{reason}</li>
        ))}
      </ul>
      <Warnings texts={analytics.warnings.filter((warning) => !shown.includes(warning))} />
    </Panel>
  )
}

const ratio = ({ sample_ratio }: Analytics): string => {
  if (sample_ratio === null) return 'not yet'
  return sample_ratio.mismatch ? 'mismatch' : 'matches'
}

const KeyFigures = ({ experiment, analytics }: { experiment: Experiment; analytics: Analytics }) => {
  const deviceCount = useDeviceCount(experiment.target_groups, experiment.org_id)
  const reported = analytics.variants.reduce((sum, { sample_size }) => sum + sample_size, 0)
  return (
    <Figures
      entries={[
        [
          'Target devices',
          deviceCount !== null && (
            <>
              {/* A device may be in several of the groups. */}
              {experiment.target_groups.length > 1 && <small>at most </small>}
              {count(deviceCount)}
            </>
          ),
        ],
        ['Devices that reported', count(reported)],
        [
          'Sample ratio',
          <span key="ratio" className={analytics.sample_ratio?.mismatch ? styles.mismatch : undefined}>
            {ratio(analytics)}{' '}
            <small className={styles.whole}>
              {analytics.sample_ratio && `p = ${measure(analytics.sample_ratio.p_value)}`}
            </small>
          </span>,
        ],
        ['Confidence', percent(experiment.confidence_level, 0)],
      ]}
    />
  )
}

const About = ({ experiment }: { readonly experiment: Experiment }) => {
  const groups = useGroupOptions(experiment.org_id)
  return (
    <Panel title="Experiment">
      <Facts
        entries={[
          ['Primary metric', experiment.primary_metric],
          ['Organization', experiment.org_id ?? 'none'],
          [
            'Devices',
            experiment.target_groups.length === 0
              ? 'every device'
              : experiment.target_groups.map((id) => (
                  <div key={id}>
                    <Link href={`/delivery/groups/${id}`}>{groups.find(([group]) => group === id)?.[1] ?? id}</Link>
                  </div>
                )),
          ],
          ['Created', <Ago key="created" time={experiment.created_at} />],
          ['Started', <Ago key="started" time={experiment.started_at} />],
          ['Ended', <Ago key="ended" time={experiment.ended_at} />],
          ['Experiment id', <Id key="id" id={experiment.id} />],
        ]}
      />
    </Panel>
  )
}

const Body = ({ experiment }: { readonly experiment: Experiment }) => {
  const params = { path: { experiment_id: experiment.id } }
  const often = experiment.status === 'running' ? REPORTS : {}
  const analytics = useApi('/api/v1/experiments/{experiment_id}/analytics', params, often)
  const estimates = useApi('/api/v1/experiments/{experiment_id}/estimates', params, often)
  return (
    <>
      <Note title={experiment.status === 'completed' ? 'How it ended' : 'Why'} text={experiment.reason} />
      <Warnings texts={experiment.warnings} />
      {experiment.status === 'draft' ? (
        <>
          <Panel title="Not started">
            <Empty title="No device has a variant yet" command={`svc experiments start ${shellWord(experiment.name)}`}>
              Start it here, or with:
            </Empty>
          </Panel>
          <TablePanel title="Variants" columns={DRAFT_COLUMNS} rows={experiment.variants} rowKey="name" />
        </>
      ) : (
        <Loaded query={analytics}>
          {(data) => (
            <>
              <DecisionPanel experiment={experiment} analytics={data} />
              <KeyFigures experiment={experiment} analytics={data} />
              <Loaded query={estimates}>{(points) => <EstimateCurves estimates={points} />}</Loaded>
              <VariantsTable experiment={experiment} analytics={data} estimates={estimates.data} />
              <ComparisonsTable analytics={data} often={often} />
            </>
          )}
        </Loaded>
      )}
      <About experiment={experiment} />
    </>
  )
}

/** An experiment: its measurements, whether the variants differ, and the available actions. */
export const ExperimentPage = ({ experimentId }: { readonly experimentId: string }) => (
  <DetailPage
    query={useApi('/api/v1/experiments/{experiment_id}', { path: { experiment_id: experimentId } })}
    title={({ name }) => name}
    loading="Experiment"
    up={['/experiments', 'Experiments']}
    badge={({ status }) => <Badge state={status} />}
    actions={(experiment) => <ExperimentActions experiment={experiment} />}
  >
    {(experiment) => <Body experiment={experiment} />}
  </DetailPage>
)
