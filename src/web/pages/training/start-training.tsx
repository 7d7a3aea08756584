import { useState } from 'react'
import { useLocation } from 'wouter'
import { DEFAULT_STRATEGY, STRATEGY_NAMES, type StrategyName } from '../../../domain/strategy-rules.ts'
import { useNamedModels } from '../../api/choices.ts'
import { api, write } from '../../api/client.ts'
import { DialogButton, FormDialog } from '../../parts/dialog.tsx'
import { FieldRow, NumberField, Outcome, SelectField, Suggestions, TextField } from '../../parts/form.tsx'
import { ModelsNote } from '../../parts/models-note.tsx'
import { plural } from '../../text/format.ts'

const MAX_ROUNDS = 10_000

const Start = ({ onClose }: { readonly onClose: () => void }) => {
  const [, go] = useLocation()
  const choices = useNamedModels()
  const [model, setModel] = useState('')
  const [jobName, setJobName] = useState('')
  const [strategy, setStrategy] = useState<StrategyName>(DEFAULT_STRATEGY)
  const [rounds, setRounds] = useState(10)
  const [minDevices, setMinDevices] = useState(2)
  return (
    <FormDialog
      title="Start training"
      verb="Start training"
      onClose={onClose}
      act={async () => {
        const body = { model, strategy, rounds, min_devices: minDevices, ...(jobName !== '' && { name: jobName }) }
        const job = await write(api.POST('/api/v1/training/jobs', { body }))
        go(`/training/jobs/${job.id}`)
      }}
    >
      <TextField
        label="Model"
        name="model"
        hint="By name or id; my-model@1.2.0 starts from that version."
        required
        list="trainable-models"
        value={model}
        onChange={setModel}
      />
      <Suggestions id="trainable-models" values={choices.models.map(({ id, name }) => name ?? id)} />
      <ModelsNote choices={choices} />
      <TextField label="Job name" name="name" value={jobName} onChange={setJobName} />
      <FieldRow>
        <SelectField
          label="Strategy"
          value={strategy}
          options={STRATEGY_NAMES.map((one) => [one, one] as const)}
          onChange={setStrategy}
        />
        <NumberField label="Rounds" name="rounds" value={rounds} min={1} max={MAX_ROUNDS} onChange={setRounds} />
        <NumberField
          label="Minimum updates per round"
          name="min_devices"
          value={minDevices}
          min={1}
          onChange={setMinDevices}
        />
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
  <DialogButton needs="training:write" tone="primary" dialog={(close) => <Start onClose={close} />}>
    Start training
  </DialogButton>
)
