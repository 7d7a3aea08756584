import { useDeviceCount } from '../../api/choices.ts'
import { api, write } from '../../api/client.ts'
import { Confirm, DialogButton } from '../../parts/dialog.tsx'
import { TextField, useFields } from '../../parts/form.tsx'
import { capital, count, percent, plural } from '../../text/format.ts'
import type { Experiment } from './experiment-records.ts'

type Action = 'start' | 'pause' | 'resume' | 'complete' | 'cancel'

const ALLOWED: Readonly<Record<Experiment['status'], readonly Action[]>> = {
  draft: ['start', 'cancel'],
  running: ['pause', 'complete', 'cancel'],
  paused: ['resume', 'complete', 'cancel'],
  completed: [],
  cancelled: [],
}

const verbOf = (action: Action): string => (action === 'cancel' ? 'Cancel experiment' : capital(action))

const act = (action: Action, { id }: Experiment, reason: string): Promise<unknown> => {
  const params = { params: { path: { experiment_id: id } } }
  const body = reason === '' ? {} : { reason }
  return action === 'start'
    ? write(api.POST('/api/v1/experiments/{experiment_id}/start', params))
    : write(api.POST(`/api/v1/experiments/{experiment_id}/${action}`, { ...params, body }))
}

/** Describes the effect of an action, with approximate numbers of devices. */
const consequence = (
  action: Action,
  { variants, status, target_groups }: Experiment,
  deviceCount: number | null,
): string => {
  // A device may be in several of the groups.
  const about = target_groups.length > 1 ? 'At most' : 'About'
  const devices = deviceCount === null ? 'The devices' : `${about} ${plural(deviceCount, 'device')}`
  const shares = variants.map(({ name, allocation }) =>
    deviceCount === null
      ? `${percent(allocation, 0)} ${name}`
      : `${count(Math.round(deviceCount * allocation))} ${name}`,
  )
  switch (action) {
    case 'start':
    case 'resume':
      return `${devices} will get their variant with their next heartbeat: ${shares.join(', ')}.`
    case 'pause':
      return `${devices} will return to the version they have without the experiment, and nothing is measured until it is resumed. Each device keeps its variant.`
    case 'complete':
      return `${devices} will return to the version they have without the experiment. The results are final; deploy the version that you choose.`
    case 'cancel':
      return status === 'draft'
        ? 'No device has a variant yet. A canceled experiment cannot be started.'
        : `${devices} will return to the version they have without the experiment. It cannot be resumed.`
  }
}

const Ask = ({ action, experiment }: { readonly action: Action; readonly experiment: Experiment }) => {
  const [{ reason }, field] = useFields({ reason: '' })
  const deviceCount = useDeviceCount(experiment.target_groups, experiment.org_id)
  const isFinal = action === 'complete' || action === 'cancel'
  return (
    <Confirm
      title={`${capital(action)} ${experiment.name}?`}
      verb={verbOf(action)}
      tone={isFinal ? 'danger' : 'primary'}
      {...(isFinal && { name: experiment.name })}
      act={() => act(action, experiment, reason)}
    >
      <p>{consequence(action, experiment, deviceCount)}</p>
      {action !== 'start' && (
        <TextField label="Reason" hint="Stored with the experiment" maxLength={1000} {...field('reason')} />
      )}
    </Confirm>
  )
}

/** The actions available for an experiment in its current state. */
export const ExperimentActions = ({ experiment }: { readonly experiment: Experiment }) =>
  ALLOWED[experiment.status].map((action) => (
    <DialogButton
      needs="models:write"
      key={action}
      tone={action === 'cancel' ? 'danger' : action === 'start' || action === 'resume' ? 'primary' : undefined}
      dialog={<Ask action={action} experiment={experiment} />}
    >
      {verbOf(action)}
    </DialogButton>
  ))
