import { Link, useLocation } from 'wouter'
import { useNamedModels } from '../../api/choices.ts'
import { type ResponseOf, useApi } from '../../api/use-api.ts'
import { Ago, Badge } from '../../parts/cells.tsx'
import { Choice } from '../../parts/form.tsx'
import { Empty } from '../../parts/layout.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { ModelsNote } from '../../parts/models-note.tsx'
import type { Column } from '../../parts/table.tsx'
import { duration, percent, points } from '../../text/format.ts'
import { policyHref } from '../../url/hrefs.ts'
import { warningsOf } from './delivery-records.ts'

type Listed = ResponseOf<'/api/v1/policies'>['policies'][number]

export const PolicyBadge = (policy: Pick<Listed, 'enabled' | 'warnings'>) => {
  const { enabled } = policy
  if (enabled && warningsOf(policy).length > 0) return <Badge state="enabled, with a warning" tone="warn" />
  return <Badge state={enabled ? 'enabled' : 'disabled'} tone={enabled ? 'good' : 'idle'} />
}

const COLUMNS: readonly Column<Listed>[] = [
  {
    name: 'Model',
    cell: ({ model_id, model_name: name }) => <Link href={policyHref(model_id)}>{name ?? model_id}</Link>,
  },
  { name: 'Status', cell: PolicyBadge },
  { name: 'Canary', number: true, cell: ({ canary_percentage }) => `${canary_percentage}%` },
  { name: 'Observed for', number: true, cell: ({ observe_minutes }) => duration(observe_minutes * 60_000) },
  { name: 'Max accuracy drop', number: true, cell: ({ max_accuracy_drop }) => points(max_accuracy_drop) },
  { name: 'Max loss increase', number: true, cell: ({ max_loss_increase }) => percent(max_loss_increase) },
  { name: 'Changed', number: true, cell: ({ updated_at }) => <Ago time={updated_at} /> },
]

const SetForModel = () => {
  const [, navigate] = useLocation()
  const choices = useNamedModels()
  const { options } = choices
  if (options.length === 0) return <ModelsNote choices={choices} />
  return (
    <>
      <ModelsNote choices={choices} />
      <Choice
        label="Set a policy for a model"
        value=""
        options={[['', 'Set a policy for…'], ...options]}
        onChange={(id) => id !== '' && navigate(policyHref(id))}
      />
    </>
  )
}

/** The models that deliver training results automatically, and the conditions. */
export const PoliciesPage = () => (
  <ListPage
    title="Policies"
    query={useApi('/api/v1/policies', {})}
    actions={<SetForModel />}
    columns={COLUMNS}
    rows={({ policies }) => policies}
    rowKey="model_id"
    empty={
      <Empty title="No policies yet" command="svc policies set my-model --enable">
        With a policy, the result of each training round is tried on a few devices, then promoted or rolled back
        depending on what they measure:
      </Empty>
    }
  />
)
