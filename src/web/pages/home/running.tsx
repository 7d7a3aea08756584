import { Link } from 'wouter'
import { type ResponseOf, useApi } from '../../api/use-api.ts'
import { Badge } from '../../parts/cells.tsx'
import { Empty, Panel, Quiet } from '../../parts/layout.tsx'
import { Meter } from '../../parts/meter.tsx'
import { plural } from '../../text/format.ts'
import styles from './home.module.css'
import { LoadedParts } from './loaded-parts.tsx'
import { ACTIVE_ROLLOUTS, EXPERIMENTS, ROUNDS, RUNNING_JOBS, type Seen, STARTED_DEPLOYMENTS } from './reads.ts'

const Jobs = ({ jobs }: { readonly jobs: ResponseOf<'/api/v1/training/jobs'>['jobs'] }) =>
  jobs.map((job) => (
    <li key={job.id}>
      <span className={styles.line}>
        <Badge state={job.status} /> <Link href={`/training/jobs/${job.id}`}>{job.name ?? 'Training job'}</Link>
        <Quiet>{job.strategy}</Quiet>
      </span>
      <Meter
        label="Rounds completed"
        value={job.rounds_completed}
        max={job.rounds}
        text={`${job.rounds_completed} of ${plural(job.rounds, 'round')}`}
      />
    </li>
  ))

const Deployments = ({ started }: { readonly started: ResponseOf<'/api/v1/deployments'>['deployments'] }) =>
  started.map(({ deployment_id, model_name, model_version, status, activated_count, target_count }) => (
    <li key={deployment_id}>
      <span className={styles.line}>
        <Badge state={status} tone="busy" />
        <Link href={`/delivery/deployments/${deployment_id}`}>{`Deployment of ${model_name} ${model_version}`}</Link>
      </span>
      <Meter
        label="Devices reached"
        value={activated_count}
        max={target_count}
        text={`reaches ${activated_count} of ${plural(target_count, 'device')}`}
      />
    </li>
  ))

/** Training in progress, and versions being delivered. */
export const Running = ({ training, models }: Seen) => {
  const jobs = useApi(...RUNNING_JOBS, { enabled: training })
  const rounds = useApi(...ROUNDS, { enabled: training })
  const rollouts = useApi(...ACTIVE_ROLLOUTS, { enabled: models })
  const deployments = useApi(...STARTED_DEPLOYMENTS, { enabled: models })
  const experiments = useApi(...EXPERIMENTS, { enabled: models })
  const alone = (rounds.data?.rounds ?? []).filter(
    ({ status, job_id }) => job_id === undefined && (status === 'active' || status === 'aggregating'),
  )
  const running = jobs.data?.jobs ?? []
  const active = rollouts.data?.rollouts ?? []
  const started = deployments.data?.deployments ?? []
  const compared = experiments.data?.experiments ?? []
  return (
    <Panel title="Running now">
      <LoadedParts
        queries={[...(training ? [jobs, rounds] : []), ...(models ? [rollouts, deployments, experiments] : [])]}
        empty={
          <Empty title="Nothing is running" command="svc train start my-model --rounds 10">
            Start a training job:
          </Empty>
        }
      >
        {running.length + alone.length + active.length + started.length + compared.length === 0 ? null : (
          <ul className={styles.items}>
            <Jobs jobs={running} />
            {alone.map((round) => (
              <li key={round.id}>
                <span className={styles.line}>
                  <Badge state={round.status} tone="busy" />
                  <Link href={`/training/rounds/${round.id}`}>Round {round.round_number}</Link>
                </span>
                <Meter
                  label="Updates"
                  value={round.completed_devices}
                  max={round.target_devices}
                  text={`${round.completed_devices} of ${plural(round.target_devices, 'update')}`}
                />
              </li>
            ))}
            {active.map((rollout) => (
              <li key={rollout.rollout_id}>
                <span className={styles.line}>
                  <Badge state={rollout.status} tone="busy" />
                  <Link href={`/delivery/rollouts/${rollout.model_id}/${rollout.rollout_id}`}>
                    {`Rollout of ${rollout.model_name ?? 'a model'} ${rollout.version}`}
                  </Link>
                </span>
                <Meter
                  label="Share of devices"
                  value={rollout.percentage}
                  max={100}
                  text={`${rollout.percentage}% of devices`}
                />
              </li>
            ))}
            <Deployments started={started} />
            {compared.map(({ id, name, status, variants, primary_metric }) => (
              <li key={id}>
                <span className={styles.line}>
                  <Badge state={status} /> <Link href={`/experiments/${id}`}>{name}</Link>
                  <Quiet>{`${plural(variants.length, 'variant')} compared by ${primary_metric}`}</Quiet>
                </span>
              </li>
            ))}
          </ul>
        )}
      </LoadedParts>
    </Panel>
  )
}
