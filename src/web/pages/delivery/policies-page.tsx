import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import type { AnswerOf } from '../../api/paths.ts'
import { useApi } from '../../api/use-api.ts'
import { Badge } from '../../parts/badge.tsx'
import { Aside, Choice, Empty, Loaded, PageHeader, Panel } from '../../parts/layout.tsx'
import { Ago } from '../../parts/now.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { duration, percent } from '../../text/format.ts'
import { NAMED_ONLY } from './types.ts'

type Listed = AnswerOf<'/api/v1/policies'>['policies'][number]

export const PolicyBadge = ({ enabled }: { readonly enabled: boolean }) => (
  <Badge state={enabled ? 'enabled' : 'switched off'} tone={enabled ? 'good' : 'idle'} />
)

const COLUMNS: readonly Column<Listed>[] = [
  {
    name: 'Model',
    cell: ({ model_id, model_name }) => (
      <Link href={`/delivery/policies/${encodeURIComponent(model_name ?? model_id)}`}>{model_name ?? model_id}</Link>
    ),
  },
  { name: 'Status', cell: ({ enabled }) => <PolicyBadge enabled={enabled} /> },
  { name: 'Canary', number: true, cell: ({ canary_percentage }) => `${canary_percentage} %` },
  { name: 'Observed for', number: true, cell: ({ observe_minutes }) => duration(observe_minutes * 60_000) },
  { name: 'Accuracy may drop', number: true, cell: ({ max_accuracy_drop }) => percent(max_accuracy_drop) },
  { name: 'Loss may grow', number: true, cell: ({ max_loss_increase }) => percent(max_loss_increase) },
  { name: 'Changed', number: true, cell: ({ updated_at }) => <Ago time={updated_at} /> },
]

const SetForModel = () => {
  const [, navigate] = useLocation()
  const models = useApi('/api/v1/models', { query: { limit: 100, ...NAMED_ONLY } })
  const [chosen] = useState('')
  const names = (models.data?.models ?? [])
    .filter(({ round_id }) => round_id === null)
    .map(({ id, name }) => name ?? id)
  if (names.length === 0) return null
  return (
    <Choice
      label="Set a policy for a model"
      value={chosen}
      options={[['', 'Set a policy for…'], ...names.map((name) => [name, name] as const)]}
      onChange={(name) => name !== '' && navigate(`/delivery/policies/${encodeURIComponent(name)}`)}
    />
  )
}

/** Which models deliver what training learned by themselves, and under which conditions. */
export const PoliciesPage = () => {
  const query = useApi('/api/v1/policies', {})
  return (
    <>
      <PageHeader title="Policies">
        <Aside>
          <SetForModel />
        </Aside>
      </PageHeader>
      <Loaded query={query}>
        {({ policies }) => (
          <Panel title="All policies" flush>
            {policies.length === 0 ? (
              <Empty title="No policy yet" command="svc policies set my-model --enable">
                With a policy, what a training round learned is tried on a few devices, and promoted or rolled back by
                what they measure:
              </Empty>
            ) : (
              <Table label="Policies" columns={COLUMNS} rows={policies} rowKey={({ model_id }) => model_id} />
            )}
          </Panel>
        )}
      </Loaded>
    </>
  )
}
