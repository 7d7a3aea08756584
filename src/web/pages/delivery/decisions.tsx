import { Link } from 'wouter'
import { limitOf } from '../../../domain/policy.ts'
import { useApi } from '../../api/use-api.ts'
import { Actions, Ago, Badge, type Tone } from '../../parts/cells.tsx'
import { Empty, Quiet } from '../../parts/layout.tsx'
import { LoadedTable } from '../../parts/list-page.tsx'
import { Strip } from '../../parts/strip.tsx'
import type { Column } from '../../parts/table.tsx'
import { measure, plural } from '../../text/format.ts'
import styles from './delivery.module.css'
import type { Decision } from './delivery-records.ts'

type Comparison = Decision['comparisons'][number]

const TONES: Readonly<Record<Decision['status'], Tone>> = { observing: 'busy', promoted: 'good', rolled_back: 'bad' }
const FINDINGS: Readonly<Record<Comparison['finding'], Tone>> = { no_worse: 'good', worse: 'bad', unclear: 'idle' }

/** The confidence interval of the difference, and the margin that it must not cross. */
const Interval = ({ metric, interval, margin, finding }: Comparison) => {
  if (interval === null) return null
  const bad = limitOf({ metric, margin })
  const from = Math.min(interval.lower, bad, 0)
  const to = Math.max(interval.upper, bad, 0)
  const room = (to - from || 1) * 0.1
  const place = (value: number): number => ((value - from + room) / (to - from + 2 * room || 1)) * 100
  const mark = (value: number) => ({ from: place(value) - 0.25, to: place(value) + 0.25 })
  return (
    <Strip
      label={`Difference of ${metric} between ${measure(interval.lower)} and ${measure(interval.upper)}; the margin is ${measure(bad)}`}
      height={16}
      bars={[
        { ...mark(0), color: 'line-strong', y: [2, 14] },
        { ...mark(bad), color: 'bad' },
        { from: place(interval.lower), to: place(interval.upper), color: FINDINGS[finding], y: [6, 10] },
      ]}
    />
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

const columns = (modelId: string): readonly Column<Decision>[] => {
  const rolloutLink = (id: string | null, text: string) =>
    id !== null && <Link href={`/delivery/rollouts/${modelId}/${id}`}>{text}</Link>
  return [
    {
      name: 'Round',
      cell: ({ round_id, round_number }) => (
        <Link href={`/training/rounds/${round_id}`}>{`Round ${round_number}`}</Link>
      ),
    },
    { name: 'Version', cell: ({ version }) => version },
    { name: 'Decision', cell: ({ status }) => <Badge state={status} tone={TONES[status]} /> },
    {
      name: 'Measured',
      cell: ({ comparisons }) => (
        <div className={styles.comparison}>
          {comparisons.map((comparison) => (
            <Measured key={comparison.metric} comparison={comparison} />
          ))}
        </div>
      ),
    },
    { name: 'Reason', cell: ({ reason }) => reason ?? 'Canary devices are still measuring.' },
    {
      name: 'Rollouts',
      cell: ({ canary_rollout_id, promotion_rollout_id }) => (
        <Actions>
          {rolloutLink(canary_rollout_id, 'canary')}
          {promotion_rollout_id !== canary_rollout_id && rolloutLink(promotion_rollout_id, 'promotion')}
        </Actions>
      ),
    },
    { name: 'Decided', number: true, cell: ({ decided_at, created_at }) => <Ago time={decided_at ?? created_at} /> },
  ]
}

/** A policy's decision about each round, with its reason. */
export const Decisions = ({ modelId }: { readonly modelId: string }) => {
  const query = useApi('/api/v1/models/{model_id}/policy/decisions', {
    path: { model_id: modelId },
    query: { limit: 100 },
  })
  return (
    <LoadedTable
      title="Decisions"
      aside={`${plural(query.data?.total ?? 0, 'decision')}; bars: the interval of the difference, red: its limit`}
      query={query}
      columns={columns(modelId)}
      rows={({ decisions }) => decisions}
      rowKey="id"
      empty={
        <Empty title="No decisions yet" command="svc train start my-model --rounds 10">
          The result of the next training round goes to the canary first:
        </Empty>
      }
    />
  )
}
