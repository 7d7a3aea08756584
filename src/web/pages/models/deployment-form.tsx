import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { unwrap } from '../../../client/client.ts'
import { STRATEGIES, type Strategy } from '../../../domain/deployment.ts'
import { useGroupOptions } from '../../api/choices.ts'
import { api, write } from '../../api/client.ts'
import { SendForm } from '../../parts/dialog.tsx'
import { FieldRow, Fields, NumberField, Outcome, SelectField } from '../../parts/form.tsx'
import { Problem, useLastError, Warnings } from '../../parts/layout.tsx'
import { plural } from '../../text/format.ts'
import type { ModelDetail } from './model-records.ts'

const MEANING: Readonly<Record<Strategy, string>> = {
  canary: 'withdrawn as soon as too many devices fail',
  immediate: 'evaluated once every device has reported',
  blue_green: 'all devices prepare, then all switch',
}

const OPTIONS = STRATEGIES.map((name) => [name, `${name.replace('_', '/')}: ${MEANING[name]}`] as const)

const usePrepared = (body: { readonly model_name: string; readonly model_version: string; readonly group?: string }) =>
  useQuery({
    queryKey: ['/api/v1/deploy/prepare', body],
    queryFn: ({ signal }) => unwrap(api.POST('/api/v1/deploy/prepare', { body, signal })),
    placeholderData: keepPreviousData,
  })

export const DeploymentForm = ({
  model,
  version,
  onClose,
}: {
  readonly model: ModelDetail
  readonly version: string
  readonly onClose: () => void
}) => {
  const [, navigate] = useLocation()
  const [strategy, setStrategy] = useState<Strategy>('canary')
  const [percentage, setPercentage] = useState(100)
  const [group, setGroup] = useState('')
  const groups = useGroupOptions(model.org_id)
  const target = { model_name: model.id, model_version: version, ...(group !== '' && { group }) }
  const prepared = usePrepared(target)
  const error = useLastError(prepared)
  const targets = prepared.data?.target_count ?? 0
  const share = percentage >= 1 && percentage <= 100 ? Math.ceil((targets * percentage) / 100) : 0
  const execute = async (): Promise<void> => {
    const body = { ...target, strategy, rollout_percentage: percentage }
    const { deployment_id } = await write(api.POST('/api/v1/deploy/execute', { body }))
    navigate(`/delivery/deployments/${deployment_id}`)
  }
  return (
    <SendForm
      verb={share === 0 ? 'Deploy' : `Deploy to ${plural(share, 'device')}`}
      disabled={targets === 0}
      act={execute}
      onClose={onClose}
    >
      <Fields>
        <SelectField label="Strategy" value={strategy} options={OPTIONS} onChange={setStrategy} />
        <FieldRow>
          <SelectField label="Devices" value={group} options={groups} onChange={setGroup} />
          <NumberField
            label="Share of devices"
            name="rollout_percentage"
            unit="%"
            min={1}
            max={100}
            value={percentage}
            onChange={setPercentage}
          />
        </FieldRow>
        {error && <Problem error={error} retry={prepared.refetch} />}
        {error === null && prepared.data && (
          <Outcome>
            <p>
              <strong>{`Targets ${plural(targets, 'device')}`}</strong>
              {group === '' && ' active in the last 5 minutes'}
            </p>
            <Warnings texts={prepared.data.warnings} />
          </Outcome>
        )}
      </Fields>
    </SendForm>
  )
}
