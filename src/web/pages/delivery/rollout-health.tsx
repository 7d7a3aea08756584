import { type Tone, useNow } from '../../parts/cells.tsx'
import { Panel } from '../../parts/layout.tsx'
import { Strip } from '../../parts/strip.tsx'
import { count, duration, percent, plural } from '../../text/format.ts'
import styles from './delivery.module.css'
import type { Rollout } from './delivery-records.ts'

const summaryOf = ({ status, health }: Rollout): readonly [Tone, string] => {
  const { reports, failed, min_reports, max_failure_share } = health
  if (reports < min_reports) {
    const isOver = status === 'completed' || status === 'rolled_back'
    const what = isOver ? `, ${count(failed)} failed` : ` of the ${min_reports} needed before failures count`
    return ['idle', `${plural(reports, 'report')}${what}`]
  }
  const share = failed / reports
  const label = `${percent(share)} failed: ${count(failed)} of ${plural(reports, 'report')}`
  return share > max_failure_share ? ['bad', `${label}, over the limit`] : ['good', label]
}

/** What failures do to the rollout; null once it is rolled back. */
const effectOf = ({ status, auto_rollback, health: { max_failure_share, min_reports } }: Rollout): string | null => {
  if (status === 'rolled_back') return null
  if (status === 'completed') return 'It is completed: failures change nothing, but it can still be rolled back.'
  if (status === 'paused') return 'While it is paused, failures change nothing; once resumed, only later reports count.'
  return `If more than ${percent(max_failure_share, 0)} of at least ${min_reports} reports are failures, it ${
    auto_rollback ? 'is rolled back automatically.' : 'is paused and waits for you.'
  }`
}

/** The share of failures, compared with the limit that stops the rollout. */
export const Health = ({ rollout }: { readonly rollout: Rollout }) => {
  const { health, status, ended_at } = rollout
  const now = useNow(1000)
  const share = health.reports === 0 ? 0 : health.failed / health.reports
  // The bar ends at twice the limit, or at the share if that is larger.
  const scale = Math.max(share, 2 * health.max_failure_share)
  const [tone, text] = summaryOf(rollout)
  // Devices still report on a completed rollout.
  const until = status === 'rolled_back' && ended_at !== null ? Date.parse(ended_at) : now.getTime()
  const effect = effectOf(rollout)
  const limit = (health.max_failure_share / scale) * 100
  return (
    <Panel title="Health" aside={`limit ${percent(health.max_failure_share, 0)}`}>
      <div className={styles.health}>
        <Strip
          label={`${text}; the limit is ${percent(health.max_failure_share, 0)}`}
          height={20}
          bars={[
            { from: 0, to: 100, color: 'line', y: [7, 13] },
            { from: 0, to: (share / scale) * 100, color: tone, y: [7, 13] },
            { from: limit - 0.2, to: limit + 0.2, color: 'text', y: [1, 19] },
          ]}
        />
        <p>
          {text}
          {health.since !== null &&
            `, counted over ${status === 'rolled_back' ? '' : 'the last '}${duration(until - Date.parse(health.since))}`}
          .
        </p>
        {effect !== null && <p>{effect}</p>}
      </div>
    </Panel>
  )
}
