import { Link } from 'wouter'
import { useApi } from '../../api/use-api.ts'
import { Ago, Id } from '../../parts/cells.tsx'
import { DetailPage } from '../../parts/detail-page.tsx'
import { Facts, Figures, Loaded, Note, Panel } from '../../parts/layout.tsx'
import { count, words } from '../../text/format.ts'
import { modelHref } from '../../url/hrefs.ts'
import { type Deployment, REPORTS } from './delivery-records.ts'
import { DeploymentActions } from './deployment-actions.tsx'
import { DeviceStates, withoutDevices } from './device-states.tsx'
import { DeviceTable } from './device-table.tsx'
import { Events } from './events.tsx'
import { PlanBadge } from './plan-badge.tsx'

const MAX_ROWS = 1000

const Body = ({ deployment }: { readonly deployment: Deployment }) => {
  const params = { path: { deployment_id: deployment.deployment_id }, query: { limit: MAX_ROWS } }
  const devices = useApi('/api/v1/deployments/{deployment_id}/devices', params, REPORTS)
  const history = useApi('/api/v1/deployments/{deployment_id}/history', params)
  const none = withoutDevices(deployment.status)
  const { devices: counts, target_count, activated_count, ended_at } = deployment
  return (
    <>
      <Note title={deployment.status === 'completed' ? 'How it ended' : 'Why'} text={deployment.reason} />
      <Figures
        entries={[
          ['Targets', count(target_count)],
          [
            'Reached',
            <>
              {count(activated_count)} <small>{deployment.rollout_percentage}%</small>
            </>,
          ],
          ['Running', count(counts.active ?? 0)],
          ['Failed', count(counts.failed ?? 0)],
        ]}
      />
      <DeviceStates counts={{ ...counts, waiting: target_count - activated_count }} none={none} />
      <Loaded query={devices}>{(data) => <DeviceTable devices={data.devices} total={data.total} none={none} />}</Loaded>
      <Events planId={deployment.deployment_id} events={history.data?.events ?? []} />
      <Panel title="Deployment">
        <Facts
          entries={[
            [
              'Model',
              // A name outside the catalog has no page.
              deployment.model_id === null ? (
                deployment.model_name
              ) : (
                <Link key="model" href={modelHref(deployment.model_id)}>
                  {deployment.model_name}
                </Link>
              ),
            ],
            ['Version', deployment.model_version],
            ['Strategy', words(deployment.strategy)],
            ['Started', <Ago key="started" time={deployment.created_at} />],
            [ended_at === null ? 'Deadline' : 'Ended', <Ago key="end" time={ended_at ?? deployment.deadline_at} />],
            ['Deployment id', <Id key="id" id={deployment.deployment_id} />],
          ]}
        />
      </Panel>
    </>
  )
}

/** A deployment: its targets, their states, and the available actions. */
export const DeploymentPage = ({ deploymentId }: { readonly deploymentId: string }) => (
  <DetailPage
    query={useApi('/api/v1/deployments/{deployment_id}', { path: { deployment_id: deploymentId } }, REPORTS)}
    title={({ model_name, model_version }) => `${model_name} ${model_version}`}
    loading="Deployment"
    up={['/delivery/deployments', 'Deployments']}
    badge={PlanBadge}
    actions={(deployment) => <DeploymentActions deployment={deployment} />}
  >
    {(deployment) => <Body deployment={deployment} />}
  </DetailPage>
)
