import { Link } from 'wouter'
import { type ResponseOf, useApi } from '../../api/use-api.ts'
import { Ago } from '../../parts/cells.tsx'
import { Empty } from '../../parts/layout.tsx'
import { ListPage, pageQuery, usePager } from '../../parts/list-page.tsx'
import type { Column } from '../../parts/table.tsx'
import { count, words } from '../../text/format.ts'
import { PlanBadge } from './plan-badge.tsx'

type Listed = ResponseOf<'/api/v1/deployments'>['deployments'][number]

const COLUMNS: readonly Column<Listed>[] = [
  {
    name: 'Deployment',
    cell: ({ deployment_id, model_name, model_version }) => (
      <Link href={`/delivery/deployments/${deployment_id}`}>{`${model_name} ${model_version}`}</Link>
    ),
  },
  { name: 'Status', cell: PlanBadge },
  { name: 'Strategy', cell: ({ strategy }) => words(strategy) },
  { name: 'Devices', number: true, cell: (each) => `${count(each.activated_count)} of ${count(each.target_count)}` },
  { name: 'Reason', cell: ({ reason }) => reason ?? '' },
  { name: 'Started', number: true, cell: ({ created_at }) => <Ago time={created_at} /> },
]

export const DeploymentsPage = () => {
  const pager = usePager()
  return (
    <ListPage
      {...pager}
      title="Deployments"
      noun="deployment"
      query={useApi('/api/v1/deployments', { query: pageQuery(pager.page) })}
      columns={COLUMNS}
      rows={({ deployments }) => deployments}
      rowKey="deployment_id"
      empty={
        <Empty title="No deployments yet" command="svc deploy my-model --devices pixel-7,lab-3">
          A deployment sends a version to the devices that you choose and reports the outcome on each. Start one from a
          model’s page, or with:
        </Empty>
      }
    />
  )
}
