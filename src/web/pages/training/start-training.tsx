import { useState } from 'react'
import { useLocation } from 'wouter'
import { STRATEGY_NAMES, type StrategyName } from '../../../domain/strategy-rules.ts'
import { api } from '../../api/client.ts'
import { useApi } from '../../api/use-api.ts'
import { write } from '../../api/write.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { FieldRow, Fields, NumberField, Outcome, SelectField, TextField } from '../../parts/form.tsx'
import { Button } from '../../parts/layout.tsx'
import { plural } from '../../text/format.ts'

const Start = ({ onClose }: { readonly onClose: () => void }) => {
  const [, go] = useLocation()
  const models = useApi('/api/v1/models', { query: { limit: 100, round_models: false } })
  const [model, setModel] = useState('')
  const [name, setName] = useState('')
  const [strategy, setStrategy] = useState<StrategyName>('fedavg')
  const [rounds, setRounds] = useState(10)
  const [minDevices, setMinDevices] = useState(2)
  return (
    <Confirm
      title="Start training"
      verb="Start training"
      tone="primary"
      onClose={onClose}
      act={async () => {
        const body = { model, strategy, rounds, min_devices: minDevices, ...(name !== '' && { name }) }
        const job = await write(api.POST('/api/v1/training/jobs', { body }))
        go(`/training/jobs/${job.id}`)
      }}
    >
      <Fields>
        <TextField
          label="Model"
          hint="By name or id; my-model@1.2.0 begins from that version."
          required
          list="trainable-models"
          value={model}
          onChange={(event) => setModel(event.target.value)}
        />
        <datalist id="trainable-models">
          {(models.data?.models ?? []).map((one) => (
            <option key={one.id} value={one.name ?? one.id} />
          ))}
        </datalist>
        <TextField label="Name of the job" value={name} onChange={(event) => setName(event.target.value)} />
        <FieldRow>
          <SelectField
            label="Strategy"
            value={strategy}
            options={STRATEGY_NAMES.map((one) => [one, one] as const)}
            onChange={setStrategy}
          />
          <NumberField label="Rounds" value={rounds} min={1} max={10_000} onChange={setRounds} />
          <NumberField label="Updates a round needs" value={minDevices} min={1} onChange={setMinDevices} />
        </FieldRow>
        <Outcome>
          <p>{`Devices train ${plural(rounds || 0, 'round')}; the result becomes the next version of the model.`}</p>
          <p>Privacy, secure aggregation, groups, and everything else: svc train start --help.</p>
        </Outcome>
      </Fields>
    </Confirm>
  )
}

export const StartTraining = () => {
  const [asking, setAsking] = useState(false)
  return (
    <>
      <Button tone="primary" onClick={() => setAsking(true)}>
        Start training
      </Button>
      {asking && <Start onClose={() => setAsking(false)} />}
    </>
  )
}
