import { Link } from 'wouter'
import { useMay } from '../../api/session.ts'
import { Panel, Quiet } from '../../parts/layout.tsx'
import { Timeline } from '../../parts/timeline.tsx'
import type { DeploymentEvent, RolloutEvent } from './delivery-records.ts'
import { planTone } from './plan-badge.tsx'

const TITLES: Readonly<Record<string, string>> = {
  create: 'Created',
  start: 'Started',
  pause: 'Paused',
  resume: 'Resumed',
  advance: 'Advanced',
  step: 'Increased',
  reach: 'Reached its target',
  rollback: 'Rolled back',
  fail_health: 'Paused: too many devices failed',
  set_percentage: 'Percentage set',
  complete: 'Completed',
  fail: 'Failed and withdrawn',
  promote: 'Promoted',
  switch: 'Switched to the new version',
}

/** Events that carry a new percentage. */
const CHANGES_PERCENTAGE: readonly string[] = ['advance', 'step', 'set_percentage', 'promote']

interface EventsProps {
  readonly planId: string
  readonly events: readonly (RolloutEvent | DeploymentEvent)[]
}

/** The history of a rollout or deployment, newest first. The audit log says who caused the events. */
export const Events = ({ planId, events }: EventsProps) => (
  <Panel
    title="History"
    aside={useMay()('admin') && <Link href={`/organization/audit?object=${planId}`}>Audit log</Link>}
  >
    <Timeline
      moments={events
        .map(({ at, event, status, percentage, reason, actor }, index) => ({
          key: `${index}`,
          tone: event === 'fail_health' ? ('warn' as const) : planTone(status),
          text: (
            <>
              {TITLES[event] ?? event}
              {percentage !== null && ` ${CHANGES_PERCENTAGE.includes(event) ? 'to' : 'at'} ${percentage}%`}{' '}
              <Quiet>{actor === null ? 'automatically' : 'by a person or a key'}</Quiet>
              {reason !== null && <p>{reason}</p>}
            </>
          ),
          time: at,
        }))
        .reverse()}
    />
  </Panel>
)
