import { useState } from 'react'
import { api } from '../../api/client.ts'
import { write } from '../../api/write.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { NumberField } from '../../parts/form.tsx'
import { Button } from '../../parts/layout.tsx'
import { plural } from '../../text/format.ts'
import type { Deployment } from './types.ts'

const Promote = ({ deployment, onClose }: { readonly deployment: Deployment; readonly onClose: () => void }) => {
  const [percentage, setPercentage] = useState(100)
  const { deployment_id, model_name, model_version, rollout_percentage, target_count, activated_count } = deployment
  const after = Math.ceil((target_count * (Number.isNaN(percentage) ? 0 : percentage)) / 100)
  return (
    <Confirm
      title={`Promote ${model_name} ${model_version}?`}
      verb="Promote"
      tone="primary"
      onClose={onClose}
      act={() =>
        write(
          api.POST('/api/v1/deployments/{deployment_id}/promote', {
            params: { path: { deployment_id } },
            body: { rollout_percentage: percentage },
          }),
        )
      }
    >
      <NumberField
        label="Of its targets"
        unit="%"
        min={rollout_percentage + 1}
        max={100}
        value={percentage}
        onChange={setPercentage}
      />
      <p>{`${plural(Math.max(0, after - activated_count), 'more device')} of ${target_count} get it now.`}</p>
    </Confirm>
  )
}

export const DeploymentActions = ({ deployment }: { readonly deployment: Deployment }) => {
  const [asking, setAsking] = useState<'promote' | 'rollback' | null>(null)
  const { deployment_id, model_name, model_version, status, rollout_percentage, activated_count } = deployment
  const name = `${model_name} ${model_version}`
  const close = (): void => setAsking(null)
  if (status !== 'started' && status !== 'completed') return null
  return (
    <>
      {rollout_percentage < 100 && <Button onClick={() => setAsking('promote')}>Promote</Button>}
      <Button tone="danger" onClick={() => setAsking('rollback')}>
        Roll back
      </Button>
      {asking === 'promote' && <Promote deployment={deployment} onClose={close} />}
      {asking === 'rollback' && (
        <Confirm
          title={`Roll back ${name}?`}
          verb="Roll back"
          name={name}
          onClose={close}
          act={() =>
            write(
              api.POST('/api/v1/deployments/{deployment_id}/rollback', {
                params: { path: { deployment_id } },
                body: {},
              }),
            )
          }
        >
          {`${plural(activated_count, 'device')} go back to what they had before, with their next heartbeat.`}
        </Confirm>
      )}
    </>
  )
}
