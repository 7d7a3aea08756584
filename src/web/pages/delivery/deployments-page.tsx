import { Link } from 'wouter'
import type { AnswerOf } from '../../api/paths.ts'
import { useApi } from '../../api/use-api.ts'
import { Badge } from '../../parts/badge.tsx'
import { Aside, Empty, Filters, Loaded, PageHeader, Panel, Quiet } from '../../parts/layout.tsx'
import { Ago } from '../../parts/now.tsx'
import { PAGE, Pager } from '../../parts/pager.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { count, plural, words } from '../../text/format.ts'
import { usePageState } from '../../url/use-page-state.ts'

type Listed = AnswerOf<'/api/v1/deployments'>['deployments'][number]

const DEFAULTS = { page: 1 }

const COLUMNS: readonly Column<Listed>[] = [
  {
    name: 'Deployment',
    cell: ({ deployment_id, model_name, model_version }) => (
      <Link href={`/delivery/deployments/${deployment_id}`}>{`${model_name} ${model_version}`}</Link>
    ),
  },
  {
    name: 'Status',
    cell: ({ status }) => <Badge state={status} {...(status === 'started' && { tone: 'busy' as const })} />,
  },
  { name: 'Strategy', cell: ({ strategy }) => words(strategy) },
  { name: 'Devices', number: true, cell: (each) => `${count(each.activated_count)} of ${count(each.target_count)}` },
  { name: 'Reason', cell: ({ reason }) => reason ?? '' },
  { name: 'Started', number: true, cell: ({ created_at }) => <Ago time={created_at} /> },
]

export const DeploymentsPage = () => {
  const [{ page }, change] = usePageState(DEFAULTS)
  const query = useApi('/api/v1/deployments', { query: { limit: PAGE, offset: (page - 1) * PAGE } })
  const total = query.data?.total ?? 0
  return (
    <>
      <PageHeader title="Deployments">
        <Aside>
          <Quiet>{query.data && plural(total, 'deployment')}</Quiet>
        </Aside>
      </PageHeader>
      {total > PAGE && (
        <Filters>
          <Pager page={page} total={total} onChange={(next) => change({ page: next })} />
        </Filters>
      )}
      <Loaded query={query}>
        {({ deployments }) => (
          <Panel title="All deployments" flush>
            {deployments.length === 0 ? (
              <Empty title="No deployment yet" command="svc deploy my-model --devices pixel-7,lab-3">
                A deployment brings a version to the devices that you name, and says what became of each. Start one from
                a model’s page, or with:
              </Empty>
            ) : (
              <Table label="Deployments" columns={COLUMNS} rows={deployments} rowKey={(each) => each.deployment_id} />
            )}
          </Panel>
        )}
      </Loaded>
    </>
  )
}
