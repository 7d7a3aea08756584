import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useDryRun } from '../../api/choices.ts'
import { api, write } from '../../api/client.ts'
import { ConfirmButton } from '../../parts/dialog.tsx'
import { capital, plural } from '../../text/format.ts'
import type { Rollout } from './delivery-records.ts'

type Action = 'start' | 'pause' | 'resume' | 'advance' | 'rollback'

const ALLOWED: Readonly<Record<Rollout['status'], readonly Action[]>> = {
  pending: ['start'],
  active: ['advance', 'pause', 'rollback'],
  paused: ['resume', 'rollback'],
  completed: ['rollback'],
  rolled_back: [],
}

const verbOf = (action: Action): string => (action === 'rollback' ? 'Roll back' : capital(action))

const act = (action: Action, { model_id, rollout_id }: Rollout): Promise<unknown> => {
  const params = { params: { path: { model_id, rollout_id } } }
  const at = '/api/v1/models/{model_id}/rollouts/{rollout_id}'
  return action === 'pause' || action === 'rollback'
    ? write(api.POST(`${at}/${action}`, { ...params, body: {} }))
    : write(api.POST(`${at}/${action}`, params))
}

const nextOf = ({ percentage, increment_step, target_percentage }: Rollout): number =>
  Math.min(target_percentage, percentage + increment_step)

const Consequence = (props: { action: Action; rollout: Rollout; devices: number }): ReactNode => {
  const { action, rollout, devices } = props
  const next = nextOf(rollout)
  const percentage = action === 'advance' ? next : rollout.percentage
  const preview = useDryRun(rollout.model_id, {
    version: rollout.version,
    rollout_percentage: percentage,
    target_percentage: percentage,
    ...(rollout.group_id !== null && { group: rollout.group_id }),
  })
  const after = preview.data?.target_devices
  const some = after === undefined ? '' : ` (about ${plural(after, 'device')})`
  switch (action) {
    case 'start':
      return `Version ${rollout.version} goes to ${rollout.percentage}% of the devices${some} with their next heartbeat.`
    case 'pause':
      return `It stays at ${rollout.percentage}%${some} until it is resumed. Devices keep version ${rollout.version}, and those among them without it still get it; to stop that, roll back.`
    case 'resume':
      return `It continues at ${rollout.percentage}%${some}. The failure count starts over.`
    case 'advance':
      return `Version ${rollout.version} goes to ${next}% of the devices${some} now instead of ${rollout.percentage}%, without waiting for the next step.`
    case 'rollback':
      return `${plural(devices, 'device')} reached by this rollout will return to the previous version with the next heartbeat. It cannot be resumed.`
  }
}

/** The actions available for a rollout in its current state, each with its effect and number of devices. */
export const RolloutActions = ({ rollout, devices }: { readonly rollout: Rollout; readonly devices: number }) => {
  const name = `${rollout.model_name ?? 'model'} ${rollout.version}`
  const isDone = rollout.percentage >= rollout.target_percentage
  if (rollout.approval_id !== undefined) return <Link href="/organization/approvals">Waiting for approval</Link>
  return ALLOWED[rollout.status]
    .filter((action) => action !== 'advance' || !isDone)
    .map((action) => (
      <ConfirmButton
        key={action}
        button={{
          needs: 'models:write',
          tone: action === 'rollback' ? 'danger' : action === 'start' || action === 'resume' ? 'primary' : undefined,
        }}
        title={`${verbOf(action)} ${name}?`}
        verb={verbOf(action)}
        tone={action === 'rollback' ? 'danger' : 'primary'}
        {...(action === 'rollback' && { name })}
        act={() => act(action, rollout)}
      >
        <Consequence action={action} rollout={rollout} devices={devices} />
      </ConfirmButton>
    ))
}
