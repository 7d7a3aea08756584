import { useState } from 'react'
import { api } from '../../api/client.ts'
import { write } from '../../api/write.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/form.tsx'
import { Button } from '../../parts/layout.tsx'
import { count, percent, plural } from '../../text/format.ts'
import { useReach } from './reach.ts'
import type { Experiment } from './types.ts'

type Action = 'start' | 'pause' | 'resume' | 'complete' | 'cancel'

const ALLOWED: Readonly<Record<Experiment['status'], readonly Action[]>> = {
  draft: ['start', 'cancel'],
  running: ['pause', 'complete', 'cancel'],
  paused: ['resume', 'complete', 'cancel'],
  completed: [],
  cancelled: [],
}

const VERB: Readonly<Record<Action, string>> = {
  start: 'Start',
  pause: 'Pause',
  resume: 'Resume',
  complete: 'Complete',
  cancel: 'Cancel experiment',
}

const act = (action: Action, { id }: Experiment, reason: string): Promise<unknown> => {
  const params = { params: { path: { experiment_id: id } } }
  const body = reason === '' ? {} : { reason }
  switch (action) {
    case 'start':
      return write(api.POST('/api/v1/experiments/{experiment_id}/start', params))
    case 'pause':
      return write(api.POST('/api/v1/experiments/{experiment_id}/pause', { ...params, body }))
    case 'resume':
      return write(api.POST('/api/v1/experiments/{experiment_id}/resume', { ...params, body }))
    case 'complete':
      return write(api.POST('/api/v1/experiments/{experiment_id}/complete', { ...params, body }))
    case 'cancel':
      return write(api.POST('/api/v1/experiments/{experiment_id}/cancel', { ...params, body }))
  }
}

/** What will happen, to about how many devices. */
const consequence = (action: Action, { variants, status }: Experiment, reach: number | null): string => {
  const devices = reach === null ? 'The devices' : `About ${plural(reach, 'device')}`
  const shares = variants.map(({ name, allocation }) =>
    reach === null ? `${percent(allocation, 0)} ${name}` : `${count(Math.round(reach * allocation))} ${name}`,
  )
  switch (action) {
    case 'start':
    case 'resume':
      return `${devices} get their variant with their next heartbeat: ${shares.join(', ')}.`
    case 'pause':
      return `${devices} go back to what they have without the experiment, and nothing is measured until it is resumed. Each keeps its variant.`
    case 'complete':
      return `${devices} go back to what they have without the experiment. Its figures are final; deploy the version that you choose.`
    case 'cancel':
      return status === 'draft'
        ? 'No device has been given a variant. A cancelled experiment cannot be started.'
        : `${devices} go back to what they have without the experiment. It cannot be resumed.`
  }
}

/** What can be done with an experiment as it is. */
export const ExperimentActions = ({ experiment }: { readonly experiment: Experiment }) => {
  const [asking, setAsking] = useState<Action | null>(null)
  const [reason, setReason] = useState('')
  const reach = useReach(experiment.target_groups)
  const isFinal = asking === 'complete' || asking === 'cancel'
  return (
    <>
      {ALLOWED[experiment.status].map((action) => (
        <Button
          key={action}
          onClick={() => {
            setReason('')
            setAsking(action)
          }}
          {...(action === 'cancel' && { tone: 'danger' as const })}
          {...((action === 'start' || action === 'resume') && { tone: 'primary' as const })}
        >
          {VERB[action]}
        </Button>
      ))}
      {asking !== null && (
        <Confirm
          title={`${asking === 'cancel' ? 'Cancel' : VERB[asking]} ${experiment.name}?`}
          verb={VERB[asking]}
          tone={isFinal ? 'danger' : 'primary'}
          {...(isFinal && { name: experiment.name })}
          act={() => act(asking, experiment, reason)}
          onClose={() => setAsking(null)}
        >
          <p>{consequence(asking, experiment, reach)}</p>
          {asking !== 'start' && (
            <TextField
              label="Reason"
              hint="Kept with the experiment"
              maxLength={1000}
              value={reason}
              onChange={(event) => setReason(event.target.value)}
            />
          )}
        </Confirm>
      )}
    </>
  )
}
