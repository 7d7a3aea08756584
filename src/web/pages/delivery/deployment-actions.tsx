import { useState } from 'react'
import { api, write } from '../../api/client.ts'
import { Confirm, DialogButton, FormDialog } from '../../parts/dialog.tsx'
import { NumberField } from '../../parts/form.tsx'
import { plural } from '../../text/format.ts'
import type { Deployment } from './delivery-records.ts'

const at = ({ deployment_id }: Deployment) => ({ params: { path: { deployment_id } } })

const Promote = ({ deployment, onClose }: { readonly deployment: Deployment; readonly onClose: () => void }) => {
  const [percentage, setPercentage] = useState(100)
  const { model_name, model_version, rollout_percentage, target_count, activated_count } = deployment
  const after = Math.ceil((target_count * (Number.isNaN(percentage) ? 0 : percentage)) / 100)
  const body = { rollout_percentage: percentage }
  return (
    <FormDialog
      title={`Promote ${model_name} ${model_version}?`}
      verb="Promote"
      onClose={onClose}
      act={() => write(api.POST('/api/v1/deployments/{deployment_id}/promote', { ...at(deployment), body }))}
    >
      <NumberField
        label="Share of targets"
        name="rollout_percentage"
        unit="%"
        min={rollout_percentage + 1}
        max={100}
        value={percentage}
        onChange={setPercentage}
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
        <DialogButton needs="models:write" dialog={(close) => <Promote deployment={deployment} onClose={close} />}>
          Promote
        </DialogButton>
      )}
      <DialogButton
        needs="models:write"
        tone="danger"
        dialog={(close) => (
          <Confirm
            title={`Roll back ${name}?`}
            verb="Roll back"
            name={name}
            onClose={close}
            act={() => write(api.POST('/api/v1/deployments/{deployment_id}/rollback', { ...at(deployment), body: {} }))}
          >
            {`${plural(activated_count, 'device')} will return to the previous version with the next heartbeat.`}
          </Confirm>
        )}
      >
        Roll back
      </DialogButton>
    </>
  )
}
