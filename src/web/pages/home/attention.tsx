import { Link } from 'wouter'
import { clockOffset } from '../../api/service-clock.ts'
import { useMay } from '../../api/session.ts'
import { type ResponseOf, useApi, useApiAll } from '../../api/use-api.ts'
import { Ago, Badge } from '../../parts/cells.tsx'
import { Empty, type Loadable, Panel, Quiet } from '../../parts/layout.tsx'
import { measure } from '../../text/format.ts'
import styles from './home.module.css'
import { LoadedParts } from './loaded-parts.tsx'
import {
  APPROVALS,
  DAY_MS,
  FEDERATIONS,
  failedDeployments,
  INTEGRATIONS,
  JOBS,
  MAX_FAILURES,
  PAUSED_ROLLOUTS,
  ROUNDS,
  rolledBack,
  type Seen,
} from './reads.ts'

interface Item {
  readonly key: string
  /** null if there is no page about it. */
  readonly href: string | null
  readonly state: string
  readonly name: string
  readonly reason: string
  readonly time: string | null
}

const isRecent = (time: string | null): boolean =>
  time !== null && Date.now() + clockOffset.get() - Date.parse(time) < DAY_MS

interface Found {
  readonly items: readonly Item[]
  readonly queries: readonly Loadable<unknown>[]
}

/** Finds the federations that have spent their privacy budget, so that they cannot start private rounds. */
const useSpentBudgets = (enabled: boolean): Found => {
  const query = useApi(...FEDERATIONS, { enabled })
  // Only members may read the budget. A key without an organization is no member, and may.
  const federations = (query.data?.federations ?? []).filter(({ membership }) => membership?.status !== 'invited')
  const budgets = useApiAll(
    '/api/v1/federations/{federation_id}/privacy',
    federations.map(({ id }) => ({ path: { federation_id: id } })),
  )
  const items = federations.flatMap(({ id, name }, index): Item[] => {
    const budget = budgets[index]?.data
    if (budget === undefined || !budget.is_set || !budget.is_exhausted) return []
    const reason = `Its privacy budget of ε ${measure(budget.total_epsilon_budget)} is spent: private rounds cannot start.`
    return [{ key: id, href: null, state: 'paused', name: `Federation ${name}`, reason, time: null }]
  })
  return { items, queries: [query, ...budgets] }
}

type Rollout = ResponseOf<'/api/v1/rollouts'>['rollouts'][number]

const rolloutItem = (rollout: Rollout, reason: string, time: string | null): Item => ({
  key: rollout.rollout_id,
  href: `/delivery/rollouts/${rollout.model_id}/${rollout.rollout_id}`,
  state: rollout.status,
  name: `Rollout of ${rollout.model_name ?? 'a model'} ${rollout.version}`,
  reason,
  time,
})

/** Finds the paused rollouts, and the rollouts and deployments that were withdrawn, with the reason. */
const useDelivery = (enabled: boolean): Found => {
  const paused = useApi(...PAUSED_ROLLOUTS, { enabled })
  const withdrawn = useApi(...rolledBack(), { enabled })
  const failed = useApi(...failedDeployments(), { enabled })
  const items = [
    ...(paused.data?.rollouts ?? []).map((rollout) =>
      rolloutItem(
        rollout,
        rollout.reason ?? `Paused at ${rollout.percentage}%; it is waiting to be resumed.`,
        rollout.updated_at,
      ),
    ),
    ...(withdrawn.data?.rollouts ?? []).map((rollout) => rolloutItem(rollout, rollout.reason ?? '', rollout.ended_at)),
    ...(failed.data?.deployments ?? []).map(({ deployment_id, model_name, model_version, reason, ended_at }) => ({
      key: deployment_id,
      href: `/delivery/deployments/${deployment_id}`,
      state: 'failed',
      name: `Deployment of ${model_name} ${model_version}`,
      reason: reason ?? '',
      time: ended_at,
    })),
  ]
  return { items, queries: [paused, withdrawn, failed] }
}

/** Finds the integrations whose receiver does not take events. */
const useFailingIntegrations = (enabled: boolean): Found => {
  const query = useApi(...INTEGRATIONS, { enabled })
  const failing = (query.data?.integrations ?? []).filter(({ status }) => status === 'failing')
  const items = failing.map(({ id, name, last_error, last_error_at }) => ({
    key: id,
    href: `/integrations/${id}`,
    state: 'failed',
    name: `Integration ${name}`,
    reason: last_error ?? '',
    time: last_error_at,
  }))
  return { items, queries: enabled ? [query] : [] }
}

/** What failed or needs attention, with reasons: jobs, rounds, delivery, approvals, integrations, and spent privacy budgets. */
export const Attention = ({ training, models }: Seen) => {
  const jobs = useApi(...JOBS, { enabled: training })
  const rounds = useApi(...ROUNDS, { enabled: training })
  const approvals = useApi(...APPROVALS, { enabled: models })
  const waiting = (jobs.data?.jobs ?? []).filter((job) => job.waiting_for !== null)
  const budgets = useSpentBudgets(training)
  const delivery = useDelivery(models)
  const integrations = useFailingIntegrations(useMay()('admin'))
  const items: readonly Item[] = [
    ...budgets.items,
    ...(approvals.data?.approvals ?? []).map((approval) => ({
      key: approval.id,
      href: '/organization/approvals',
      state: 'pending',
      name: approval.title,
      reason: 'An admin other than the requester must approve or reject it.',
      time: approval.requested_at,
    })),
    ...delivery.items,
    ...integrations.items,
    ...waiting.map((job) => ({
      key: job.id,
      href: `/training/jobs/${job.id}`,
      state: 'pending',
      name: job.name ?? 'Training job',
      reason: `Waiting for devices: ${job.waiting_for}`,
      time: job.started_at ?? job.created_at,
    })),
    ...(jobs.data?.jobs ?? [])
      .filter((job) => job.status === 'failed' && isRecent(job.ended_at))
      .map((job) => ({
        key: job.id,
        href: `/training/jobs/${job.id}`,
        state: 'failed',
        name: job.name ?? 'Training job',
        reason: job.reason ?? '',
        time: job.ended_at,
      })),
    ...(rounds.data?.rounds ?? [])
      .filter((round) => round.status === 'failed' && isRecent(round.ended_at ?? round.created_at))
      .slice(0, MAX_FAILURES)
      .map((round) => ({
        key: round.id,
        href: `/training/rounds/${round.id}`,
        state: 'failed',
        name: `Round ${round.round_number}`,
        reason: round.failure_reason ?? '',
        time: round.ended_at ?? round.created_at,
      })),
  ]
  const queries = [
    ...(training ? [jobs, rounds, ...budgets.queries] : []),
    ...(models ? [approvals, ...delivery.queries] : []),
    ...integrations.queries,
  ]
  return (
    <Panel title="Needs attention" aside="failures of the last 24 h">
      <LoadedParts
        queries={queries}
        empty={
          <Empty title="Nothing needs attention">
            Failed jobs, rounds, and deployments, paused and rolled-back rollouts, requests for approval, failing
            integrations, and spent privacy budgets appear here, with the reason.
          </Empty>
        }
      >
        {items.length === 0 ? null : (
          <ul className={styles.items}>
            {items.map(({ key, href, state, name, reason, time }) => (
              <li key={key}>
                <span className={styles.line}>
                  <Badge state={state} /> {href === null ? name : <Link href={href}>{name}</Link>}
                  {time !== null && (
                    <Quiet>
                      <Ago time={time} />
                    </Quiet>
                  )}
                </span>
                <span>{reason}</span>
              </li>
            ))}
          </ul>
        )}
      </LoadedParts>
    </Panel>
  )
}
