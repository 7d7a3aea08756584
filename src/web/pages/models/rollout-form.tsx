import { useLocation } from 'wouter'
import { ApiError } from '../../../client/client.ts'
import { HEALTH } from '../../../domain/rollout.ts'
import { useDryRun, useGroupOptions } from '../../api/choices.ts'
import { api, write } from '../../api/client.ts'
import { SendForm } from '../../parts/dialog.tsx'
import { CheckField, FieldRow, Fields, NumberField, Outcome, SelectField, useFields } from '../../parts/form.tsx'
import { Problem, useLastError, Warnings } from '../../parts/layout.tsx'
import { duration, percent, plural } from '../../text/format.ts'
import type { DeployProps } from './model-records.ts'
import styles from './models.module.css'

const STANDARD = {
  rollout_percentage: 10,
  increment_step: 10,
  step_interval_minutes: 60,
  target_percentage: 100,
  auto_rollback: false,
  group: '',
}

const SHOWN_STEPS = 6

const isWhole = (value: number): boolean => Number.isInteger(value) && value >= 0 && value <= 100

const isComplete = (requested: typeof STANDARD): boolean =>
  isWhole(requested.rollout_percentage) &&
  isWhole(requested.target_percentage) &&
  isWhole(requested.increment_step) &&
  requested.increment_step > 0 &&
  requested.step_interval_minutes > 0

/** A hash decides which devices a share contains, so only the numbers for 0% and 100% are certain. */
const reached = (percentage: number, devices: number): string =>
  `${percentage === 0 || percentage === 100 ? '' : 'about '}${plural(devices, 'device')}`

const Preview = ({ query }: { readonly query: ReturnType<typeof useDryRun> }) => {
  const error = useLastError(query)
  if (error !== null) return <Problem error={error} retry={query.refetch} />
  if (query.data === undefined) return null
  const { steps, target_devices, minutes_to_target, warnings } = query.data
  const shown = steps.length <= SHOWN_STEPS ? steps : [...steps.slice(0, SHOWN_STEPS - 1), steps.at(-1)!]
  return (
    <Outcome>
      <p>
        <strong>{`Reaches ${reached(steps.at(-1)!.percentage, target_devices)}`}</strong>
        {steps.length > 1 &&
          ` in ${duration(minutes_to_target * 60_000)}, if failures stay at ${percent(HEALTH.maxFailureShare, 0)} or less`}
      </p>
      <ol className={styles.steps}>
        {shown.map(({ after_minutes, percentage, devices }) => (
          <li key={percentage}>
            <span>{after_minutes === 0 ? 'At once' : `After ${duration(after_minutes * 60_000)}`}</span>
            <span>{`${percentage}%, ${reached(percentage, devices)}`}</span>
          </li>
        ))}
      </ol>
      <Warnings texts={warnings} />
    </Outcome>
  )
}

export const RolloutForm = ({ model, version }: DeployProps) => {
  const [, navigate] = useLocation()
  const [values, field] = useFields(STANDARD)
  const groups = useGroupOptions(model.org_id)
  const { group, ...settings } = values
  const requested = { version, ...settings, ...(group !== '' && { group }) }
  const isValid = isComplete(values)
  const preview = useDryRun(model.id, requested, isValid)
  const start = async (): Promise<void> => {
    const { rollout_id } = await write(
      api.POST('/api/v1/models/{model_id}/rollouts', { params: { path: { model_id: model.id } }, body: requested }),
    )
    navigate(`/delivery/rollouts/${model.id}/${rollout_id}`)
  }
  const begin = isValid ? preview.data?.steps[0] : undefined
  return (
    <SendForm
      verb={begin === undefined ? 'Start rollout' : `Start with ${reached(begin.percentage, begin.devices)}`}
      // The preview shows why.
      disabled={isValid && preview.error instanceof ApiError}
      act={start}
    >
      <Fields>
        <SelectField label="Devices" options={groups} {...field('group')} />
        <FieldRow>
          <NumberField label="First" unit="%" min={0} max={100} {...field('rollout_percentage')} />
          <NumberField label="Step" unit="%" min={1} max={100} {...field('increment_step')} />
          <NumberField label="Every" unit="min" min={0.01} step="any" {...field('step_interval_minutes')} />
          <NumberField label="Up to" unit="%" min={0} max={100} {...field('target_percentage')} />
        </FieldRow>
        <CheckField
          label="Roll back automatically when too many devices fail, instead of pausing"
          checked={values.auto_rollback}
          onChange={field('auto_rollback').onChange}
        />
        {isValid && <Preview query={preview} />}
      </Fields>
    </SendForm>
  )
}
