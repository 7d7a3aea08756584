import { api, write } from '../../api/client.ts'
import { ConfirmButton, DialogButton, FormDialog } from '../../parts/dialog.tsx'
import { NumberField, useFields } from '../../parts/form.tsx'
import { plural } from '../../text/format.ts'
import type { Deployment } from './delivery-records.ts'

const at = ({ deployment_id }: Deployment) => ({ params: { path: { deployment_id } } })

const Promote = ({ deployment }: { readonly deployment: Deployment }) => {
  const [body, field] = useFields({ rollout_percentage: 100 })
  const { model_name, model_version, rollout_percentage, target_count, activated_count } = deployment
  const after = Math.ceil((target_count * (body.rollout_percentage || 0)) / 100)
  return (
    <FormDialog
      title={`Promote ${model_name} ${model_version}?`}
      verb="Promote"
      act={() => write(api.POST('/api/v1/deployments/{deployment_id}/promote', { ...at(deployment), body }))}
    >
      <NumberField
        label="Share of targets"
        unit="%"
        min={rollout_percentage + 1}
        max={100}
        {...field('rollout_percentage')}
      />
      <p>{`${plural(Math.max(0, after - activated_count), 'more device')} of ${target_count} will get it now.`}</p>
    </FormDialog>
  )
}

export const DeploymentActions = ({ deployment }: { readonly deployment: Deployment }) => {
  const { model_name, model_version, status, rollout_percentage, activated_count } = deployment
  const name = `${model_name} ${model_version}`
  if (status !== 'started' && status !== 'completed') return null
  return (
    <>
      {rollout_percentage < 100 && (
        <DialogButton needs="models:write" dialog={<Promote deployment={deployment} />}>
          Promote
        </DialogButton>
      )}
      <ConfirmButton
        button={{ needs: 'models:write', tone: 'danger' }}
        title={`Roll back ${name}?`}
        verb="Roll back"
        name={name}
        act={() => write(api.POST('/api/v1/deployments/{deployment_id}/rollback', { ...at(deployment), body: {} }))}
      >
        {`${plural(activated_count, 'device')} will return to the previous version with the next heartbeat.`}
      </ConfirmButton>
    </>
  )
}
