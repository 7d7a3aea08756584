import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { unwrap } from '../../../client/client.ts'
import { STRATEGIES, type Strategy } from '../../../domain/deployment.ts'
import { useGroupOptions } from '../../api/choices.ts'
import { api, write } from '../../api/client.ts'
import { SendForm } from '../../parts/dialog.tsx'
import { FieldRow, Fields, NumberField, Outcome, SelectField, useFields } from '../../parts/form.tsx'
import { Problem, useLastError, Warnings } from '../../parts/layout.tsx'
import { plural } from '../../text/format.ts'
import type { DeployProps } from './model-records.ts'

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

const STANDARD = { strategy: 'canary' as Strategy, rollout_percentage: 100, group: '' }

export const DeploymentForm = ({ model, version }: DeployProps) => {
  const [, navigate] = useLocation()
  const [{ group, ...settings }, field] = useFields(STANDARD)
  const groups = useGroupOptions(model.org_id)
  const target = { model_name: model.id, model_version: version, ...(group !== '' && { group }) }
  const prepared = usePrepared(target)
  const error = useLastError(prepared)
  const targets = prepared.data?.target_count ?? 0
  const percentage = settings.rollout_percentage
  const share = percentage >= 1 && percentage <= 100 ? Math.ceil((targets * percentage) / 100) : 0
  const execute = async (): Promise<void> => {
    const body = { ...target, ...settings }
    const { deployment_id } = await write(api.POST('/api/v1/deploy/execute', { body }))
    navigate(`/delivery/deployments/${deployment_id}`)
  }
  return (
    <SendForm
      verb={share === 0 ? 'Deploy' : `Deploy to ${plural(share, 'device')}`}
      disabled={targets === 0}
      act={execute}
    >
      <Fields>
        <SelectField label="Strategy" options={OPTIONS} {...field('strategy')} />
        <FieldRow>
          <SelectField label="Devices" options={groups} {...field('group')} />
          <NumberField label="Share of devices" unit="%" min={1} max={100} {...field('rollout_percentage')} />
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
