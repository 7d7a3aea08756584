import { Link } from 'wouter'
import { useApi } from '../../api/use-api.ts'
import { Badge, toneOf } from '../../parts/badge.tsx'
import { Loaded, Panel, Quiet } from '../../parts/layout.tsx'
import { plural } from '../../text/format.ts'
import styles from './lineage.module.css'
import { chooseVersions, type Use } from './lineage-versions.ts'
import { type Deployment, type ModelDetail, newestFirst, type Rollout } from './types.ts'
import { AliasNames } from './versions.tsx'

const MOST_USES = 100

const rolloutUse = (rollout: Rollout): Use => ({
  key: rollout.rollout_id,
  version: rollout.version,
  href: `/delivery/rollouts/${rollout.model_id}/${rollout.rollout_id}`,
  state: rollout.status,
  inForce: rollout.status === 'active' || rollout.status === 'paused' || rollout.status === 'completed',
  text: `rollout to ${rollout.percentage} %${rollout.group_id === null ? '' : ' of a group'}`,
})

const deploymentUse = (deployment: Deployment): Use => ({
  key: deployment.deployment_id,
  version: deployment.model_version,
  href: `/delivery/deployments/${deployment.deployment_id}`,
  state: deployment.status,
  inForce: deployment.status === 'started' || deployment.status === 'completed',
  text: `deployment to ${plural(deployment.activated_count, 'device')}`,
})

interface Origin {
  readonly round_id: string
  readonly round_number: number
  readonly job_id?: string | null
}

const Source = ({ origin }: { readonly origin: Origin | null }) => {
  if (origin === null) return <Quiet>Upload</Quiet>
  return (
    <>
      <Link href={`/training/rounds/${origin.round_id}`}>{`Round ${origin.round_number}`}</Link>
      {origin.job_id != null && (
        <Quiet>
          {' of '}
          <Link href={`/training/jobs/${origin.job_id}`}>a job</Link>
        </Quiet>
      )}
    </>
  )
}

/** The rounds whose results the model's policy has added as versions, by the versions' numbers. */
const usePolicyRounds = (model: ModelDetail): ReadonlyMap<string, Origin> => {
  const policies = useApi('/api/v1/policies', {})
  const decisions = useApi(
    '/api/v1/models/{model_id}/policy/decisions',
    { path: { model_id: model.id }, query: { limit: 1000 } },
    { enabled: policies.data?.policies.some(({ model_id }) => model_id === model.id) === true },
  )
  return new Map((decisions.data?.decisions ?? []).map((decision) => [decision.version, decision]))
}

/** Lineage both ways: what a version came from, and what brings it to devices. */
export const Lineage = ({ model }: { readonly model: ModelDetail }) => {
  const rollouts = useApi('/api/v1/models/{model_id}/rollouts', {
    path: { model_id: model.id },
    query: { limit: MOST_USES },
  })
  const deployments = useApi('/api/v1/deployments', {
    query: { limit: MOST_USES, ...(model.name !== null && { model_name: model.name }) },
  })
  const rounds = usePolicyRounds(model)
  const uses = [
    ...(rollouts.data?.rollouts ?? []).map(rolloutUse),
    ...(deployments.data?.deployments ?? []).filter(({ model_id }) => model_id === model.id).map(deploymentUse),
  ]
  const rows = chooseVersions(newestFirst(model), uses)
  return (
    <Panel
      title="Lineage"
      aside={rows.length < model.versions.length && `${rows.length} of ${model.versions.length} versions`}
    >
      <Loaded query={rollouts}>
        {() => (
          <ul className={styles.lineage}>
            {rows.map(({ version, uses: of }) => (
              <li key={version.version}>
                <div className={styles.node}>
                  <Source origin={version.trained_by ?? rounds.get(String(version.version)) ?? null} />
                </div>
                <div className={`${styles.node} ${styles.middle}`}>
                  <strong>{version.version_label}</strong> <AliasNames aliases={version.aliases} />
                </div>
                <ul className={styles.uses}>
                  {of.length === 0 && (
                    <li className={styles.none}>
                      <Quiet>runs nowhere</Quiet>
                    </li>
                  )}
                  {of.map((use) => (
                    <li key={use.key} className={styles.node}>
                      <Badge state={use.state} tone={use.state === 'active' ? 'busy' : toneOf(use.state)} />{' '}
                      <Link href={use.href}>{use.text}</Link>
                    </li>
                  ))}
                </ul>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </Panel>
  )
}
