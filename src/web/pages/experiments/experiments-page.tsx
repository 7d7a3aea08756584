import { useState } from 'react'
import { Link } from 'wouter'
import { useApi } from '../../api/use-api.ts'
import { Badge } from '../../parts/badge.tsx'
import { Aside, Button, Choice, Empty, Filters, Loaded, PageHeader, Panel, Quiet } from '../../parts/layout.tsx'
import { Ago } from '../../parts/now.tsx'
import { PAGE, Pager } from '../../parts/pager.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { percent, plural } from '../../text/format.ts'
import { usePageState } from '../../url/use-page-state.ts'
import { CreateExperiment } from './create-experiment.tsx'
import type { ListedExperiment } from './types.ts'

const DEFAULTS = { status: '', page: 1 }

const STATUSES = [
  ['', 'Any status'],
  ...(['running', 'draft', 'paused', 'completed', 'cancelled'] as const).map((name) => [name, name] as const),
] as const

const COLUMNS: readonly Column<ListedExperiment>[] = [
  { name: 'Experiment', cell: ({ id, name }) => <Link href={`/experiments/${id}`}>{name}</Link> },
  { name: 'Status', cell: ({ status }) => <Badge state={status} /> },
  {
    name: 'Variants',
    cell: ({ variants }) => variants.map(({ name, allocation }) => `${name} ${percent(allocation, 0)}`).join(', '),
  },
  { name: 'Metric', cell: ({ primary_metric }) => primary_metric },
  { name: 'Reason', cell: ({ reason }) => reason ?? '' },
  { name: 'Started', number: true, cell: ({ started_at }) => <Ago time={started_at} /> },
  { name: 'Ended', number: true, cell: ({ ended_at }) => <Ago time={ended_at} /> },
]

/** Versions that are compared on devices drawn by chance. */
export const ExperimentsPage = () => {
  const [{ status, page }, change] = usePageState(DEFAULTS)
  const [creating, setCreating] = useState(false)
  const query = useApi('/api/v1/experiments', {
    query: {
      limit: PAGE,
      offset: (page - 1) * PAGE,
      ...(status !== '' && { status: status as ListedExperiment['status'] }),
    },
  })
  return (
    <>
      <PageHeader title="Experiments">
        <Aside>
          <Quiet>{query.data && plural(query.data.total, 'experiment')}</Quiet>
          <Button tone="primary" onClick={() => setCreating(true)}>
            Create experiment
          </Button>
        </Aside>
      </PageHeader>
      <Filters>
        <Choice
          label="Status"
          value={status as (typeof STATUSES)[number][0]}
          options={STATUSES}
          onChange={(value) => change({ status: value, page: 1 })}
        />
        <Pager page={page} total={query.data?.total ?? 0} onChange={(next) => change({ page: next })} />
      </Filters>
      <Loaded query={query}>
        {({ experiments }) => (
          <Panel title="All experiments" flush>
            {experiments.length === 0 ? (
              <Empty
                title={status === '' ? 'No experiment yet' : 'No experiment has this status'}
                command="svc experiments create my-test --variant a=my-model@1.0.0:0.5 --variant b=my-model@2.0.0:0.5"
              >
                An experiment gives two or more versions to devices drawn by chance, and compares what they measure.
                Create one here, or with:
              </Empty>
            ) : (
              <Table label="Experiments" columns={COLUMNS} rows={experiments} rowKey={({ id }) => id} />
            )}
          </Panel>
        )}
      </Loaded>
      {creating && <CreateExperiment onClose={() => setCreating(false)} />}
    </>
  )
}
