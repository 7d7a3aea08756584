import { Link } from 'wouter'
import { useApi } from '../../api/use-api.ts'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { Empty, Loaded, Panel, Quiet } from '../../parts/layout.tsx'
import { Ago } from '../../parts/now.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { measure, plural } from '../../text/format.ts'
import styles from './decisions.module.css'
import type { Decision } from './types.ts'

type Comparison = Decision['comparisons'][number]

const TONES: Readonly<Record<Decision['status'], Tone>> = { observing: 'busy', promoted: 'good', rolled_back: 'bad' }
const FINDINGS: Readonly<Record<Comparison['finding'], Tone>> = { no_worse: 'good', worse: 'bad', unclear: 'idle' }

/** The interval of the difference, against the margin that it must not cross. */
const Interval = ({ metric, interval, margin, finding }: Comparison) => {
  if (interval === null) return null
  const bad = metric === 'accuracy' ? -margin : margin
  const from = Math.min(interval.lower, bad, 0)
  const to = Math.max(interval.upper, bad, 0)
  const room = (to - from || 1) * 0.1
  const place = (value: number): number => ((value - from + room) / (to - from + 2 * room || 1)) * 100
  const label = `Difference of ${metric} between ${measure(interval.lower)} and ${measure(interval.upper)}; the margin is ${measure(bad)}`
  return (
    <svg className={styles.interval} viewBox="0 0 100 16" preserveAspectRatio="none" role="img" aria-label={label}>
      <rect x={place(0) - 0.25} y="2" width="0.5" height="12" style={{ fill: 'var(--line-strong)' }} />
      <rect x={place(bad) - 0.25} y="0" width="0.5" height="16" style={{ fill: 'var(--bad)' }} />
      <rect
        x={place(interval.lower)}
        y="6"
        width={Math.max(0.5, place(interval.upper) - place(interval.lower))}
        height="4"
        style={{ fill: `var(--${FINDINGS[finding]})` }}
      />
    </svg>
  )
}

const Measured = ({ comparison }: { readonly comparison: Comparison }) => (
  <div className={styles.comparison}>
    <span>
      {`${comparison.metric} ${measure(comparison.canary.mean)} `}
      <Quiet>{`(${plural(comparison.canary.devices, 'device')})`}</Quiet>
      {` against ${measure(comparison.current.mean)} `}
      <Quiet>{`(${plural(comparison.current.devices, 'device')})`}</Quiet>
    </span>
    <Interval {...comparison} />
  </div>
)

const columns = (modelId: string): readonly Column<Decision>[] => [
  {
    name: 'Round',
    cell: ({ round_id, round_number }) => <Link href={`/training/rounds/${round_id}`}>{`Round ${round_number}`}</Link>,
  },
  { name: 'Version', cell: ({ version }) => version },
  { name: 'Decision', cell: ({ status }) => <Badge state={status} tone={TONES[status]} /> },
  {
    name: 'Measured',
    cell: ({ comparisons }) => (
      <div className={styles.comparisons}>
        {comparisons.map((comparison) => (
          <Measured key={comparison.metric} comparison={comparison} />
        ))}
      </div>
    ),
  },
  { name: 'Reason', cell: ({ reason }) => reason ?? 'Devices of the canary still measure.' },
  {
    name: 'Rollouts',
    cell: ({ canary_rollout_id, promotion_rollout_id }) => (
      <>
        {canary_rollout_id !== null && <Link href={`/delivery/rollouts/${modelId}/${canary_rollout_id}`}>canary</Link>}{' '}
        {promotion_rollout_id !== null && (
          <Link href={`/delivery/rollouts/${modelId}/${promotion_rollout_id}`}>promotion</Link>
        )}
      </>
    ),
  },
  { name: 'Decided', number: true, cell: ({ decided_at, created_at }) => <Ago time={decided_at ?? created_at} /> },
]

/** What a policy decided about each round, and why. */
export const Decisions = ({ modelId }: { readonly modelId: string }) => {
  const query = useApi('/api/v1/models/{model_id}/policy/decisions', {
    path: { model_id: modelId },
    query: { limit: 100 },
  })
  return (
    <Panel title="Decisions" aside={query.data && plural(query.data.total, 'decision')} flush>
      <Loaded query={query}>
        {({ decisions }) =>
          decisions.length === 0 ? (
            <Empty title="Nothing decided yet" command="svc train start my-model --rounds 10">
              The next round that is trained from this model is tried on the canary:
            </Empty>
          ) : (
            <Table label="Decisions" columns={columns(modelId)} rows={decisions} rowKey={({ id }) => id} />
          )
        }
      </Loaded>
    </Panel>
  )
}
