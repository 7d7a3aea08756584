import type { Tone } from '../../parts/badge.tsx'
import { Panel } from '../../parts/layout.tsx'
import { Ago } from '../../parts/now.tsx'
import { percent, plural } from '../../text/format.ts'
import styles from './rollout.module.css'
import type { Rollout } from './types.ts'

/** The bar ends at twice the limit, or at the share where that is beyond it. */
const scaleOf = (share: number, limit: number): number => Math.max(share, 2 * limit)

const verdict = ({ reports, failed, min_reports, max_failure_share }: Rollout['health']): readonly [Tone, string] => {
  if (reports < min_reports) {
    return ['idle', `${plural(reports, 'report')} of ${min_reports} that are needed before failures count`]
  }
  const share = failed / reports
  const label = `${percent(share)} failed: ${failed} of ${plural(reports, 'report')}`
  return share > max_failure_share ? ['bad', `${label}, over the limit`] : ['good', label]
}

/** Failures against the share that stops the rollout. */
export const Health = ({ rollout }: { readonly rollout: Rollout }) => {
  const { health, auto_rollback } = rollout
  const share = health.reports === 0 ? 0 : health.failed / health.reports
  const scale = scaleOf(share, health.max_failure_share)
  const [tone, text] = verdict(health)
  const limit = (health.max_failure_share / scale) * 100
  return (
    <Panel title="Health" aside={`limit ${percent(health.max_failure_share, 0)}`}>
      <div className={styles.health}>
        <svg
          viewBox="0 0 100 20"
          preserveAspectRatio="none"
          role="img"
          aria-label={`${text}; the limit is ${percent(health.max_failure_share, 0)}`}
        >
          <rect x="0" y="7" width="100" height="6" style={{ fill: 'var(--line)' }} />
          <rect x="0" y="7" width={(share / scale) * 100} height="6" style={{ fill: `var(--${tone})` }} />
          <rect x={limit - 0.2} y="1" width="0.4" height="18" style={{ fill: 'var(--text)' }} />
        </svg>
        <p>
          {text}
          {health.since !== null && (
            <>
              {', counted from '}
              <Ago time={health.since} />
            </>
          )}
          .
        </p>
        <p>
          {`More than ${percent(health.max_failure_share, 0)} of at least ${health.min_reports} reports ${
            auto_rollback ? 'roll it back by itself.' : 'pause it, and it waits for you.'
          }`}
        </p>
      </div>
    </Panel>
  )
}
