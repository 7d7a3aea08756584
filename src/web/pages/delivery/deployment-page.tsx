import { Link } from 'wouter'
import { useApi } from '../../api/use-api.ts'
import { Badge } from '../../parts/badge.tsx'
import { Id } from '../../parts/copy.tsx'
import { Aside, Facts, Figures, Loaded, PageHeader, Panel } from '../../parts/layout.tsx'
import { Ago } from '../../parts/now.tsx'
import { count, words } from '../../text/format.ts'
import { DeploymentActions } from './deployment-actions.tsx'
import { DeviceStates } from './device-states.tsx'
import { DeviceTable } from './device-table.tsx'
import { Events } from './events.tsx'
import styles from './rollout.module.css'
import type { Deployment } from './types.ts'

/** What devices report comes on no stream: there may be thousands in a second. */
const REPORTS = { everyMs: 3000 } as const
const MOST = 1000

const About = ({ deployment }: { readonly deployment: Deployment }) => (
  <Panel title="Deployment">
    <Facts
      entries={[
        [
          'Model',
          <Link key="model" href={`/models/${encodeURIComponent(deployment.model_id ?? deployment.model_name)}`}>
            {deployment.model_name}
          </Link>,
        ],
        ['Version', deployment.model_version],
        ['Strategy', words(deployment.strategy)],
        ['Started', <Ago key="started" time={deployment.created_at} />],
        deployment.ended_at === null
          ? ['Deadline', <Ago key="deadline" time={deployment.deadline_at} />]
          : ['Ended', <Ago key="ended" time={deployment.ended_at} />],
        ['Deployment id', <Id key="id" id={deployment.deployment_id} />],
      ]}
    />
  </Panel>
)

const Body = ({ deployment }: { readonly deployment: Deployment }) => {
  const params = { path: { deployment_id: deployment.deployment_id }, query: { limit: MOST } }
  const devices = useApi('/api/v1/deployments/{deployment_id}/devices', params, REPORTS)
  const history = useApi('/api/v1/deployments/{deployment_id}/history', params)
  const { devices: counts, target_count, activated_count } = deployment
  return (
    <>
      {deployment.reason !== null && (
        <Panel title={deployment.status === 'completed' ? 'How it ended' : 'Why'}>
          <p>{deployment.reason}</p>
        </Panel>
      )}
      <div className={styles.below}>
        <Figures
          entries={[
            ['Targets', count(target_count)],
            [
              'Activated',
              <>
                {count(activated_count)} <small>{deployment.rollout_percentage} %</small>
              </>,
            ],
            ['Run it', count(counts.active ?? 0)],
            ['Failed', count(counts.failed ?? 0)],
          ]}
        />
        <DeviceStates counts={{ ...counts, waiting: target_count - activated_count }} />
        <Loaded query={devices}>{(data) => <DeviceTable devices={data.devices} total={data.total} />}</Loaded>
        <Events events={history.data?.events ?? []} />
        <About deployment={deployment} />
      </div>
    </>
  )
}

/** One deployment: its targets, what became of each, and what can be done. */
export const DeploymentPage = ({ deploymentId }: { readonly deploymentId: string }) => {
  const query = useApi('/api/v1/deployments/{deployment_id}', { path: { deployment_id: deploymentId } }, REPORTS)
  const deployment = query.data
  return (
    <>
      <PageHeader
        title={deployment ? `${deployment.model_name} ${deployment.model_version}` : 'Deployment'}
        up={{ href: '/delivery/deployments', label: 'Deployments' }}
      >
        {deployment && (
          <Badge state={deployment.status} {...(deployment.status === 'started' && { tone: 'busy' as const })} />
        )}
        <Aside>{deployment && <DeploymentActions deployment={deployment} />}</Aside>
      </PageHeader>
      <Loaded query={query}>{(loaded) => <Body deployment={loaded} />}</Loaded>
    </>
  )
}
