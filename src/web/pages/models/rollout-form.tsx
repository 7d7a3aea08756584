import { useState } from 'react'
import { useLocation } from 'wouter'
import { ApiError } from '../../../client/client.ts'
import { HEALTH } from '../../../domain/rollout.ts'
import { useDryRun, useGroupOptions } from '../../api/choices.ts'
import { api, write } from '../../api/client.ts'
import { SendForm } from '../../parts/dialog.tsx'
import { CheckField, FieldRow, Fields, NumberField, Outcome, SelectField } from '../../parts/form.tsx'
import { Problem, useLastError, Warnings } from '../../parts/layout.tsx'
import { duration, percent, plural } from '../../text/format.ts'
import type { ModelDetail } from './model-records.ts'
import styles from './models.module.css'

interface Requested {
  readonly version: string
  readonly rollout_percentage: number
  readonly target_percentage: number
  readonly increment_step: number
  readonly step_interval_minutes: number
  readonly group?: string
  readonly auto_rollback: boolean
}

const SHOWN_STEPS = 6

const isWhole = (value: number): boolean => Number.isInteger(value) && value >= 0 && value <= 100

const isComplete = (requested: Requested): boolean =>
  isWhole(requested.rollout_percentage) &&
  isWhole(requested.target_percentage) &&
  isWhole(requested.increment_step) &&
  requested.increment_step > 0 &&
  requested.step_interval_minutes > 0

const Preview = ({ query }: { readonly query: ReturnType<typeof useDryRun> }) => {
  const error = useLastError(query)
  if (error !== null) return <Problem error={error} retry={query.refetch} />
  if (query.data === undefined) return null
  const { steps, target_devices, minutes_to_target, warnings } = query.data
  const shown = steps.length <= SHOWN_STEPS ? steps : [...steps.slice(0, SHOWN_STEPS - 1), steps.at(-1)!]
  return (
    <Outcome>
      <p>
        <strong>{`Reaches ${plural(target_devices, 'device')}`}</strong>
        {steps.length > 1 &&
          ` in ${duration(minutes_to_target * 60_000)}, if failures stay at ${percent(HEALTH.maxFailureShare, 0)} or less`}
      </p>
      <ol className={styles.steps}>
        {shown.map(({ after_minutes, percentage, devices }) => (
          <li key={percentage}>
            <span>{after_minutes === 0 ? 'At once' : `After ${duration(after_minutes * 60_000)}`}</span>
            <span>{`${percentage}%, ${plural(devices, 'device')}`}</span>
          </li>
        ))}
      </ol>
      <Warnings texts={warnings} />
    </Outcome>
  )
}

export const RolloutForm = ({
  model,
  version,
  onClose,
}: {
  readonly model: ModelDetail
  readonly version: string
  readonly onClose: () => void
}) => {
  const [, navigate] = useLocation()
  const [first, setFirst] = useState(10)
  const [target, setTarget] = useState(100)
  const [step, setStep] = useState(10)
  const [minutes, setMinutes] = useState(60)
  const [group, setGroup] = useState('')
  const [automatic, setAutomatic] = useState(false)
  const groups = useGroupOptions(model.org_id)
  const requested = {
    version,
    rollout_percentage: first,
    target_percentage: target,
    increment_step: step,
    step_interval_minutes: minutes,
    auto_rollback: automatic,
    ...(group !== '' && { group }),
  }
  const isValid = isComplete(requested)
  const preview = useDryRun(model.id, requested, isValid)
  const start = async (): Promise<void> => {
    const { rollout_id } = await write(
      api.POST('/api/v1/models/{model_id}/rollouts', { params: { path: { model_id: model.id } }, body: requested }),
    )
    navigate(`/delivery/rollouts/${model.id}/${rollout_id}`)
  }
  const begin = isValid ? preview.data?.steps[0]?.devices : undefined
  return (
    <SendForm
      verb={begin === undefined ? 'Start rollout' : `Start with ${plural(begin, 'device')}`}
      // The preview shows why.
      disabled={isValid && preview.error instanceof ApiError}
      act={start}
      onClose={onClose}
    >
      <Fields>
        <SelectField label="Devices" value={group} options={groups} onChange={setGroup} />
        <FieldRow>
          <NumberField
            label="First"
            name="rollout_percentage"
            unit="%"
            min={0}
            max={100}
            value={first}
            onChange={setFirst}
          />
          <NumberField label="Step" name="increment_step" unit="%" min={1} max={100} value={step} onChange={setStep} />
          <NumberField
            label="Every"
            name="step_interval_minutes"
            unit="min"
            min={0.01}
            step="any"
            value={minutes}
            onChange={setMinutes}
          />
          <NumberField
            label="Up to"
            name="target_percentage"
            unit="%"
            min={0}
            max={100}
            value={target}
            onChange={setTarget}
          />
        </FieldRow>
        <CheckField
          label="Roll back automatically when too many devices fail, instead of pausing"
          checked={automatic}
          onChange={setAutomatic}
        />
        {isValid && <Preview query={preview} />}
      </Fields>
    </SendForm>
  )
}
