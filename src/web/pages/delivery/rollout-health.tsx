import { type Tone, useNow } from '../../parts/cells.tsx'
import { Panel } from '../../parts/layout.tsx'
import { Strip } from '../../parts/strip.tsx'
import { duration, percent, plural } from '../../text/format.ts'
import styles from './delivery.module.css'
import type { Rollout } from './delivery-records.ts'

const summaryOf = ({ reports, failed, min_reports, max_failure_share }: Rollout['health']): readonly [Tone, string] => {
  if (reports < min_reports) {
    return ['idle', `${plural(reports, 'report')} of the ${min_reports} needed before failures count`]
  }
  const share = failed / reports
  const label = `${percent(share)} failed: ${failed} of ${plural(reports, 'report')}`
  return share > max_failure_share ? ['bad', `${label}, over the limit`] : ['good', label]
}

/** The share of failures, compared with the limit that stops the rollout. */
export const Health = ({ rollout }: { readonly rollout: Rollout }) => {
  const { health, auto_rollback } = rollout
  const now = useNow(1000)
  const share = health.reports === 0 ? 0 : health.failed / health.reports
  // The bar ends at twice the limit, or at the share if that is larger.
  const scale = Math.max(share, 2 * health.max_failure_share)
  const [tone, text] = summaryOf(health)
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
          {health.since !== null && `, counted over the last ${duration(now.getTime() - Date.parse(health.since))}`}.
        </p>
        <p>
          {`If more than ${percent(health.max_failure_share, 0)} of at least ${health.min_reports} reports are failures, it ${
            auto_rollback ? 'is rolled back automatically.' : 'is paused and waits for you.'
          }`}
        </p>
      </div>
    </Panel>
  )
}
