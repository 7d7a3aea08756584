import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { unwrap } from '../../../client/client.ts'
import { api } from '../../api/client.ts'
import { write } from '../../api/write.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { Button } from '../../parts/layout.tsx'
import { plural } from '../../text/format.ts'
import type { Rollout } from './types.ts'

type Action = 'start' | 'pause' | 'resume' | 'advance' | 'rollback'

const ALLOWED: Readonly<Record<Rollout['status'], readonly Action[]>> = {
  pending: ['start'],
  active: ['advance', 'pause', 'rollback'],
  paused: ['resume', 'rollback'],
  completed: ['rollback'],
  rolled_back: [],
}

const VERB: Readonly<Record<Action, string>> = {
  start: 'Start',
  pause: 'Pause',
  resume: 'Resume',
  advance: 'Advance',
  rollback: 'Roll back',
}

const act = (action: Action, { model_id, rollout_id }: Rollout): Promise<unknown> => {
  const params = { params: { path: { model_id, rollout_id } } }
  switch (action) {
    case 'start':
      return write(api.POST('/api/v1/models/{model_id}/rollouts/{rollout_id}/start', params))
    case 'pause':
      return write(api.POST('/api/v1/models/{model_id}/rollouts/{rollout_id}/pause', { ...params, body: {} }))
    case 'resume':
      return write(api.POST('/api/v1/models/{model_id}/rollouts/{rollout_id}/resume', params))
    case 'advance':
      return write(api.POST('/api/v1/models/{model_id}/rollouts/{rollout_id}/advance', params))
    case 'rollback':
      return write(api.POST('/api/v1/models/{model_id}/rollouts/{rollout_id}/rollback', { ...params, body: {} }))
  }
}

const nextOf = ({ percentage, increment_step, target_percentage }: Rollout): number =>
  Math.min(target_percentage, percentage + increment_step)

/** About how many devices a percentage of the fleet or group is, as the service counts them; null until it has said. */
const useDevicesAt = (rollout: Rollout, percentage: number): number | null => {
  const body = {
    version: rollout.version,
    rollout_percentage: percentage,
    target_percentage: percentage,
    ...(rollout.group_id !== null && { group: rollout.group_id }),
  }
  const query = useQuery({
    queryKey: ['/api/v1/models/{model_id}/rollouts/dry-run', rollout.model_id, body],
    queryFn: ({ signal }) =>
      unwrap(
        api.POST('/api/v1/models/{model_id}/rollouts/dry-run', {
          params: { path: { model_id: rollout.model_id } },
          body,
          signal,
        }),
      ),
  })
  return query.data?.target_devices ?? null
}

const Consequence = ({
  action,
  rollout,
  devices,
}: {
  action: Action
  rollout: Rollout
  devices: number
}): ReactNode => {
  const next = nextOf(rollout)
  const after = useDevicesAt(rollout, action === 'advance' ? next : rollout.percentage)
  const some = after === null ? '' : ` (about ${plural(after, 'device')})`
  switch (action) {
    case 'start':
      return `Version ${rollout.version} goes to ${rollout.percentage} % of the devices${some} with their next heartbeat.`
    case 'pause':
      return `${plural(devices, 'device')} keep version ${rollout.version}; no others get it until the rollout is resumed.`
    case 'resume':
      return `It goes on at ${rollout.percentage} %${some}. Failures are counted anew from now.`
    case 'advance':
      return `Version ${rollout.version} goes to ${next} % of the devices${some} now instead of ${rollout.percentage} %, without waiting for the next step.`
    case 'rollback':
      return `${plural(devices, 'device')} that this rollout reaches go back to what they had before, with their next heartbeat. It cannot be resumed.`
  }
}

/** What can be done with a rollout as it is, each with what it will do to how many devices. */
export const RolloutActions = ({ rollout, devices }: { readonly rollout: Rollout; readonly devices: number }) => {
  const [asking, setAsking] = useState<Action | null>(null)
  const name = `${rollout.model_name ?? 'model'} ${rollout.version}`
  const isDone = rollout.percentage >= rollout.target_percentage
  return (
    <>
      {ALLOWED[rollout.status]
        .filter((action) => action !== 'advance' || !isDone)
        .map((action) => (
          <Button
            key={action}
            onClick={() => setAsking(action)}
            {...(action === 'rollback' && { tone: 'danger' as const })}
            {...((action === 'start' || action === 'resume') && { tone: 'primary' as const })}
          >
            {VERB[action]}
          </Button>
        ))}
      {asking !== null && (
        <Confirm
          title={`${VERB[asking]} ${name}?`}
          verb={VERB[asking]}
          tone={asking === 'rollback' ? 'danger' : 'primary'}
          {...(asking === 'rollback' && { name })}
          act={() => act(asking, rollout)}
          onClose={() => setAsking(null)}
        >
          <Consequence action={asking} rollout={rollout} devices={devices} />
        </Confirm>
      )}
    </>
  )
}
