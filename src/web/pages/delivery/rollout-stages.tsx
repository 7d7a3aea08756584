import { Fragment } from 'react'
import { Ago, useNow } from '../../parts/cells.tsx'
import { duration, percent, plural, relative } from '../../text/format.ts'
import styles from './delivery.module.css'
import type { Rollout } from './delivery-records.ts'
import { isCanary, type Stage, visibleStages } from './stages.ts'

const SECOND_MS = 1000
const HOUR_MS = 60 * 60 * 1000

const When = ({ stage: { state, at } }: { readonly stage: Stage }) => {
  const now = useNow()
  if (state === 'current') {
    const since = at === null ? 0 : now.getTime() - Date.parse(at)
    return since < SECOND_MS ? 'now' : `now, for ${duration(since)}`
  }
  const word = state === 'past' ? 'reached' : state === 'next' ? 'next' : 'then'
  const left = at === null ? 0 : Date.parse(at) - now.getTime()
  // `Ago` is more precise for times within an hour.
  if (state !== 'past' && left > HOUR_MS) return `${word} in ${duration(left)}`
  return (
    <>
      {word} {at !== null && <Ago time={at} />}
    </>
  )
}

const failureShare = ({ health: { failed, reports } }: Rollout): string =>
  reports === 0 ? 'no reports yet' : `${percent(failed / reports)} now, ${plural(reports, 'report')}`

interface HeadlineProps {
  readonly rollout: Rollout
  readonly next: Stage | undefined
  /** When its policy decides on it at the latest, if that is known. */
  readonly decidedBy: Date | null
}

/** One sentence: the current state, the next step and its time, and what would stop it. */
export const Headline = ({ rollout, next, decidedBy }: HeadlineProps) => {
  const now = useNow(1000)
  const { status, percentage, target_percentage, health, reason, next_step_at } = rollout
  const limit = percent(health.max_failure_share, 0)
  const when = next_step_at === null ? '' : ` ${relative(new Date(next_step_at), now)}`
  if (status === 'pending') return <>{`Not started. ${reason ?? ''} It begins with ${percentage}% of the devices.`}</>
  if (status === 'paused') {
    return (
      <>
        <strong>{`Paused at ${percentage}%.`}</strong> {reason ?? 'It takes no steps until it is resumed.'}
      </>
    )
  }
  if (status === 'completed') return <>{`Completed at ${percentage}% of the devices.`}</>
  if (status === 'rolled_back') {
    return (
      <>
        <strong>{`Rolled back at ${percentage}%.`}</strong> {reason ?? 'Its devices return to their previous version.'}
      </>
    )
  }
  if (isCanary(rollout)) {
    const left = decidedBy === null ? '' : ` within ${duration(decidedBy.getTime() - now.getTime())}`
    return (
      <>
        <strong>{`Now ${percentage}%.`}</strong>{' '}
        {`Its policy promotes it or rolls it back${left}, and at once if more than ${limit} of the devices fail (${failureShare(rollout)}).`}
      </>
    )
  }
  return (
    <>
      <strong>{`Now ${percentage}%,`}</strong>{' '}
      {next === undefined
        ? `its target of ${target_percentage}%: it completes${when}`
        : `next ${next.percentage}%${when}`}
      {` if failures stay at ${limit} or less (${failureShare(rollout)}).`}
    </>
  )
}

/** Past, current, and next steps in a row; on a phone, in a column. */
export const StageTrack = ({ stages }: { readonly stages: readonly Stage[] }) => (
  <ol className={styles.stages} aria-label="Stages">
    {visibleStages(stages).map((stage, index) => (
      <Fragment key={stage?.percentage ?? `gap ${index}`}>
        {stage === null ? (
          <li className={styles.gap} aria-label="more stages">
            …
          </li>
        ) : (
          <li className={`${styles.stage} ${styles[stage.state]}`} aria-current={stage.state === 'current' && 'step'}>
            <span className={styles.percentage}>{stage.percentage}%</span>
            <span className={styles.when}>
              <When stage={stage} />
            </span>
          </li>
        )}
      </Fragment>
    ))}
  </ol>
)
