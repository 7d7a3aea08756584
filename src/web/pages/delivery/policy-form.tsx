import { useState } from 'react'
import { useDeviceCount, useGroupOptions } from '../../api/choices.ts'
import { api, isNotFound, queries, write } from '../../api/client.ts'
import { read } from '../../api/use-api.ts'
import { FormDialog } from '../../parts/dialog.tsx'
import { CheckField, FieldRow, NumberField, Outcome, SelectField, useFields } from '../../parts/form.tsx'
import { plural } from '../../text/format.ts'
import { type Policy, warningsOf } from './delivery-records.ts'

const STANDARD = {
  enabled: true,
  canary_percentage: 10,
  observe_minutes: 60,
  min_reports: 20,
  max_accuracy_drop: 0.02,
  max_loss_increase: 0.05,
  confidence_level: 0.95,
  increment_step: 10,
  step_interval_minutes: 60,
}

/** Converts a share to a percentage, without floating-point noise. */
const toPercent = (share: number): number => Number((share * 100).toPrecision(12))

/** The dialog replaces the whole policy. @throws if somebody else changed it since the dialog was opened */
const requireUnchanged = async (modelId: string, before: Policy | undefined): Promise<void> => {
  const control = new AbortController()
  const now = await read('/api/v1/models/{model_id}/policy', { path: { model_id: modelId } }, control.signal).catch(
    (error: unknown) => {
      if (isNotFound(error)) return undefined
      throw error
    },
  )
  if (now?.updated_at === before?.updated_at) return
  // The next dialog starts with the current settings.
  await queries.invalidateQueries({ queryKey: ['/api/v1/models/{model_id}/policy'] })
  const what = now === undefined ? 'deleted the policy' : before === undefined ? 'set a policy' : 'changed the policy'
  throw new Error(
    `Somebody ${what} after you opened this dialog, so nothing was saved. Cancel, look at the current settings, and change them again.`,
  )
}

interface PolicyFormProps {
  readonly modelId: string
  /** The model's organization. */
  readonly orgId: string | null
  readonly policy: Policy | undefined
}

export const PolicyForm = ({ modelId, orgId, policy }: PolicyFormProps) => {
  const [before] = useState(policy)
  const [requested, field] = useFields(() => {
    if (policy === undefined) return STANDARD
    const { model_id, org_id, canary_group_id, created_at, updated_at, warnings, ...settings } = policy
    return settings
  })
  const [group, setGroup] = useState(policy?.canary_group_id ?? '')
  const options = useGroupOptions(orgId)
  const isListed = options.some(([id]) => id === group)
  const isDeleted = before !== undefined && warningsOf(before).length > 0
  const current = [group, isDeleted ? 'Deleted group' : 'Current group'] as const
  const deviceCount = useDeviceCount(group === '' ? [] : [group], orgId)
  const share = (name: 'max_accuracy_drop' | 'max_loss_increase') => ({
    name,
    min: 0,
    max: 100,
    step: 'any',
    value: toPercent(requested[name]),
    onChange: (value: number) => field(name).onChange(value / 100),
  })
  const canary = deviceCount === null ? Number.NaN : Math.round((deviceCount * requested.canary_percentage) / 100)
  const some = Number.isNaN(canary) ? 'some of the devices' : `about ${plural(canary, 'device')}`
  const first = group === '' ? some : `${some} of the canary group`
  const params = { path: { model_id: modelId } }
  return (
    <FormDialog
      title={policy === undefined ? 'Set a policy' : 'Change the policy'}
      verb="Save"
      act={async () => {
        await requireUnchanged(modelId, before)
        const body = { ...requested, ...(group !== '' && { canary_group: group }) }
        await write(api.PUT('/api/v1/models/{model_id}/policy', { params, body }))
      }}
    >
      <CheckField
        label="Enabled: act on training results"
        checked={requested.enabled}
        onChange={field('enabled').onChange}
      />
      <SelectField
        label="Canary group"
        value={group}
        options={isListed ? options : [...options, current]}
        onChange={setGroup}
      />
      <FieldRow>
        <NumberField
          label="Canary"
          unit="% of devices"
          min={1}
          max={group === '' ? 99 : 100}
          {...field('canary_percentage')}
        />
        <NumberField label="Observe for" unit="min" min={0.01} step="any" {...field('observe_minutes')} />
        <NumberField label="Devices on each side" min={2} {...field('min_reports')} />
      </FieldRow>
      <FieldRow>
        <NumberField label="Max accuracy drop" unit="percentage points" {...share('max_accuracy_drop')} />
        <NumberField label="Max loss increase" unit="%" {...share('max_loss_increase')} />
      </FieldRow>
      <FieldRow>
        <NumberField label="Step" unit="%" min={1} max={100} {...field('increment_step')} />
        <NumberField label="Every" unit="min" min={0.01} step="any" {...field('step_interval_minutes')} />
      </FieldRow>
      <Outcome>
        {requested.enabled
          ? `The result of each completed round goes to ${first} first, and to the others only if it is no worse there.`
          : 'Nothing is delivered automatically.'}
      </Outcome>
    </FormDialog>
  )
}
