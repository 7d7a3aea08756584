import { Link } from 'wouter'
import { useApi } from '../../api/use-api.ts'
import { Badge, toneOf } from '../../parts/cells.tsx'
import { Loaded, Panel, Quiet } from '../../parts/layout.tsx'
import { measure, plural, words } from '../../text/format.ts'
import styles from './lineage.module.css'
import { chooseVersions, type LineageRow, type Use } from './lineage-versions.ts'
import {
  type Deployment,
  type ModelDetail,
  newestFirst,
  type Rollout,
  type Version,
  type VersionLineage,
} from './model-records.ts'
import { AliasNames } from './versions.tsx'

const MAX_USES = 100

const rolloutUse = (rollout: Rollout): Use => ({
  key: rollout.rollout_id,
  version: rollout.version,
  href: `/delivery/rollouts/${rollout.model_id}/${rollout.rollout_id}`,
  state: rollout.status,
  inForce: rollout.status === 'active' || rollout.status === 'paused' || rollout.status === 'completed',
  text: `rollout to ${rollout.percentage}%${rollout.group_id === null ? '' : ' of a group'}`,
})

const deploymentUse = (deployment: Deployment): Use => ({
  key: deployment.deployment_id,
  version: deployment.model_version,
  href: `/delivery/deployments/${deployment.deployment_id}`,
  state: deployment.status,
  inForce: deployment.status === 'started' || deployment.status === 'completed',
  text: `deployment to ${plural(deployment.activated_count, 'device')}`,
})

/** A version's origin, with its round's strategy, devices, and privacy once loaded. */
const Source = ({ version, lineage }: { readonly version: Version; readonly lineage: VersionLineage | undefined }) => {
  const training = lineage?.training
  if (version.trained_by === null && training == null) return <Quiet>Upload</Quiet>
  const { round_id, round_number, job_id } = training ?? version.trained_by!
  const spent = training?.privacy_spent
  return (
    <>
      <Link href={`/training/rounds/${round_id}`}>{`Round ${round_number}`}</Link>
      {job_id !== null && (
        <Quiet>
          {' of '}
          <Link href={`/training/jobs/${job_id}`}>{training?.job_name ?? 'a job'}</Link>
        </Quiet>
      )}
      {training && (
        <Quiet>
          {`: ${training.strategy}, ${plural(training.completed_devices, 'device')}`}
          {spent && `, ε ${measure(spent.epsilon)}`}
        </Quiet>
      )}
    </>
  )
}

/** One version: its origin on the left, its uses on the right. */
const Row = ({ model, row }: { readonly model: ModelDetail; readonly row: LineageRow }) => {
  const { version, uses } = row
  const { data: lineage } = useApi('/api/v1/models/{model_id}/versions/{version}', {
    path: { model_id: model.id, version: String(version.version) },
  })
  const devices = Object.entries(lineage?.runs?.devices ?? {})
  return (
    <li>
      <div className={styles.node}>
        <Source version={version} lineage={lineage} />
      </div>
      <div className={`${styles.node} ${styles.middle}`}>
        <strong>{version.version_label}</strong> <AliasNames aliases={version.aliases} />
      </div>
      <ul className={styles.uses}>
        {uses.length === 0 && devices.length === 0 && (
          <li className={styles.none}>
            <Quiet>not deployed</Quiet>
          </li>
        )}
        {uses.map((use) => (
          <li key={use.key} className={styles.node}>
            <Badge state={use.state} tone={use.state === 'active' ? 'busy' : toneOf(use.state)} />{' '}
            <Link href={use.href}>{use.text}</Link>
          </li>
        ))}
        {devices.length > 0 && (
          <li className={styles.none}>
            <Quiet>
              {devices.map(([state, number]) => `${words(state)} on ${plural(number, 'device')}`).join(', ')}
            </Quiet>
          </li>
        )}
      </ul>
    </li>
  )
}

/** Lineage in both directions: the origins of versions, and the plans that deliver them. */
export const Lineage = ({ model }: { readonly model: ModelDetail }) => {
  const rollouts = useApi('/api/v1/models/{model_id}/rollouts', {
    path: { model_id: model.id },
    query: { limit: MAX_USES },
  })
  const deployments = useApi('/api/v1/deployments', {
    query: { limit: MAX_USES, ...(model.name !== null && { model_name: model.name }) },
  })
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
            {rows.map((row) => (
              <Row key={row.version.version} model={model} row={row} />
            ))}
          </ul>
        )}
      </Loaded>
    </Panel>
  )
}
