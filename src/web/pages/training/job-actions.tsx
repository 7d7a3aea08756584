import { api, write } from '../../api/client.ts'
import { useIsOthers } from '../../api/session.ts'
import { Confirm, DialogButton, FormDialog } from '../../parts/dialog.tsx'
import { NumberField, Outcome, useFields } from '../../parts/form.tsx'
import { capital, plural } from '../../text/format.ts'
import type { JobDetail } from './training-records.ts'

const MAX_ROUNDS = 10_000
const EXTENSION = 10

interface ActionProps {
  readonly job: JobDetail
}

const Stop = ({ job }: ActionProps) => (
  <Confirm
    title="Stop this job?"
    verb="Stop job"
    act={() => write(api.POST('/api/v1/training/jobs/{job_id}/stop', { params: { path: { job_id: job.id } } }))}
  >
    {`${plural(job.rounds_completed, 'round')} of ${job.rounds} are done; their models stay in the catalog. A round in progress is lost. The job can be resumed.`}
  </Confirm>
)

const STATE: Readonly<Record<JobDetail['optimizer_state'], string>> = {
  kept: 'The state of its strategy (moments, control variates) is restored, as if the job had not ended.',
  none: 'Its strategy keeps no state between rounds.',
  deleted: 'The state of its strategy was deleted after the retention period: start a new job from its result instead.',
}

/** Resumes a stopped or failed job, or extends a completed one, by a number of rounds. */
const GoOn = ({ job, verb }: ActionProps & { readonly verb: 'resume' | 'extend' }) => {
  const [body, field] = useFields({
    rounds: verb === 'resume' ? Math.max(1, job.rounds - job.rounds_completed) : EXTENSION,
  })
  const title = capital(verb)
  const params = { path: { job_id: job.id } }
  return (
    <FormDialog
      title={`${title} this job`}
      verb={`${title} job`}
      act={() => write(api.POST(`/api/v1/training/jobs/{job_id}/${verb}`, { params, body }))}
    >
      <NumberField label="More rounds" min={1} max={MAX_ROUNDS - job.rounds_completed} {...field('rounds')} />
      <Outcome>
        <p>
          {job.rounds_completed === 0
            ? 'The job starts over with its first round'
            : `The job continues from the model of its last completed round, after ${plural(job.rounds_completed, 'round')}`}
          {body.rounds >= 1 ? `, until ${plural(job.rounds_completed + body.rounds, 'round')} are completed.` : '.'}
        </p>
        <p>{STATE[job.optimizer_state]}</p>
        {job.privacy !== null && (
          <p>
            Every round spends privacy budget. If the budget of the job or its federation is too small, the request is
            refused.
          </p>
        )}
        {job.publish !== 'none' && <p>Its result becomes a new version of the model.</p>}
      </Outcome>
    </FormDialog>
  )
}

/** The action available for a job in its current state, with a confirmation. */
export const JobActions = ({ job }: { readonly job: JobDetail }) => {
  const action =
    job.status === 'completed' ? 'extend' : job.status === 'failed' || job.status === 'stopped' ? 'resume' : 'stop'
  const isOthers = useIsOthers()(job.org_id)
  return (
    <DialogButton
      needs="training:write"
      {...(isOthers && { disabled: true, title: `Only ${job.org_id}, which started the job, can ${action} it.` })}
      // The key closes an open dialog when the job's state changes, instead of turning it into a different dialog.
      key={action}
      tone={action === 'stop' ? 'danger' : 'primary'}
      dialog={action === 'stop' ? <Stop job={job} /> : <GoOn job={job} verb={action} />}
    >
      {`${capital(action)} job`}
    </DialogButton>
  )
}
