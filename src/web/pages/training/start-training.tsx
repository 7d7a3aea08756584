import { useLocation } from 'wouter'
import { DEFAULT_STRATEGY, STRATEGY_NAMES, type StrategyName } from '../../../domain/strategy-rules.ts'
import { useNamedModels } from '../../api/choices.ts'
import { api, write } from '../../api/client.ts'
import { DialogButton, FormDialog } from '../../parts/dialog.tsx'
import { FieldRow, NumberField, Outcome, SelectField, Suggestions, TextField, useFields } from '../../parts/form.tsx'
import { ModelsNote } from '../../parts/models-note.tsx'
import { plural } from '../../text/format.ts'

const MAX_ROUNDS = 10_000

const STANDARD = { model: '', name: '', strategy: DEFAULT_STRATEGY as StrategyName, rounds: 10, min_devices: 2 }

const Start = () => {
  const [, go] = useLocation()
  const choices = useNamedModels()
  const [{ name, ...values }, field] = useFields(STANDARD)
  const { rounds } = values
  return (
    <FormDialog
      title="Start training"
      verb="Start training"
      act={async () => {
        const body = { ...values, ...(name !== '' && { name }) }
        const { id } = await write(api.POST('/api/v1/training/jobs', { body }))
        go(`/training/jobs/${id}`)
      }}
    >
      <TextField
        label="Model"
        hint="By name or id; my-model@1.2.0 starts from that version."
        required
        list="trainable-models"
        {...field('model')}
      />
      <Suggestions
        id="trainable-models"
        // A name that several organizations use is ambiguous.
        values={choices.options.map(([id, label], index) => (choices.models[index]?.name === label ? label : id))}
        labels={new Map(choices.options)}
      />
      <ModelsNote choices={choices} />
      <TextField label="Job name" {...field('name')} />
      <FieldRow>
        <SelectField
          label="Strategy"
          options={STRATEGY_NAMES.map((one) => [one, one] as const)}
          {...field('strategy')}
        />
        <NumberField label="Rounds" min={1} max={MAX_ROUNDS} {...field('rounds')} />
        <NumberField label="Minimum updates per round" min={1} {...field('min_devices')} />
      </FieldRow>
      <Outcome>
        {rounds >= 1 && rounds <= MAX_ROUNDS && (
          <p>{`Devices train ${plural(rounds, 'round')}; the result becomes the next version of the model.`}</p>
        )}
        <p>For privacy, secure aggregation, groups, and all other options, see svc train start --help.</p>
      </Outcome>
    </FormDialog>
  )
}

export const StartTraining = () => (
  <DialogButton needs="training:write" tone="primary" dialog={<Start />}>
    Start training
  </DialogButton>
)
