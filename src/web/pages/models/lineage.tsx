import { Link } from 'wouter'
import { useApi } from '../../api/use-api.ts'
import { Badge, toneOf } from '../../parts/cells.tsx'
import { Panel, Quiet } from '../../parts/layout.tsx'
import { count, measure, plural, words } from '../../text/format.ts'
import styles from './lineage.module.css'
import { chooseVersions, latestUses, type Use } from './lineage-versions.ts'
import { type ModelDetail, newestFirst, type Version, type VersionLineage } from './model-records.ts'
import { AliasNames } from './versions.tsx'

const hrefOf = ({ kind, id }: Use, modelId: string): string => {
  if (kind === 'rollout') return `/delivery/rollouts/${modelId}/${id}`
  return kind === 'deployment' ? `/delivery/deployments/${id}` : `/experiments/${id}`
}

const textOf = ({ kind, name, percentage }: Use): string => {
  const share = percentage === null ? '' : `${name === null ? '' : ','} to ${count(percentage)}%`
  return `${kind}${name === null ? '' : ` ${name}`}${share}`
}

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
const Row = ({ model, version }: { readonly model: ModelDetail; readonly version: Version }) => {
  const { data: lineage } = useApi('/api/v1/models/{model_id}/versions/{version}', {
    path: { model_id: model.id, version: String(version.version) },
  })
  const uses = latestUses(lineage?.runs?.uses ?? [])
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
        {lineage !== undefined && uses.length === 0 && devices.length === 0 && (
          <li className={styles.none}>
            <Quiet>not deployed</Quiet>
          </li>
        )}
        {uses.map((use) => (
          <li key={use.id} className={styles.node}>
            <Badge state={use.status} tone={use.status === 'active' ? 'busy' : toneOf(use.status)} />{' '}
            <Link href={hrefOf(use, model.id)}>{textOf(use)}</Link>
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
  const rows = chooseVersions(newestFirst(model), new Set(model.delivered_versions))
  return (
    <Panel
      title="Lineage"
      aside={rows.length < model.versions.length && `${rows.length} of ${model.versions.length} versions`}
    >
      <ul className={styles.lineage}>
        {rows.map((version) => (
          <Row key={version.version} model={model} version={version} />
        ))}
      </ul>
    </Panel>
  )
}
