import { useState } from 'react'
import { INTEGRATION_TYPES, type IntegrationType } from '../../../domain/integration.ts'
import { api, write } from '../../api/client.ts'
import { FormDialog } from '../../parts/dialog.tsx'
import { SelectField, TextField } from '../../parts/form.tsx'
import { capital, words } from '../../text/format.ts'

const TYPES = Object.keys(INTEGRATION_TYPES) as IntegrationType[]
const OPTIONS = TYPES.map((type) => [type, `${type} (${INTEGRATION_TYPES[type].kind})`] as const)

/** The receiver's settings, except headers, which are an object and can only be set on the command line. */
const fieldsOf = (type: IntegrationType): readonly (readonly [name: string, rule: string])[] =>
  Object.entries(INTEGRATION_TYPES[type].config).filter(([name]) => name !== 'headers')

export const CreateIntegration = ({
  onMade,
  onClose,
}: {
  readonly onMade: (made: { readonly id: string; readonly secret: string | null }) => void
  readonly onClose: () => void
}) => {
  const [type, setType] = useState<IntegrationType>('webhook')
  const [name, setName] = useState('')
  const [endpoint, setEndpoint] = useState('')
  const [config, setConfig] = useState<Readonly<Record<string, string>>>({})
  const { kind, endpoint: usual, protocols } = INTEGRATION_TYPES[type]
  const create = async (): Promise<void> => {
    const known = fieldsOf(type).flatMap(([field]) => (config[field] ? [[field, config[field]] as const] : []))
    const made = await write(
      api.POST('/api/v1/integrations', {
        body: {
          kind,
          type,
          config: Object.fromEntries(known),
          ...(name !== '' && { name }),
          ...(endpoint !== '' && { endpoint }),
        },
      }),
    )
    onMade(made)
  }
  return (
    <FormDialog title="Create an integration" verb="Create" act={create} onClose={onClose}>
      <SelectField label="Receiver" value={type} options={OPTIONS} onChange={setType} />
      <TextField label="Name" name="name" maxLength={128} placeholder={type} value={name} onChange={setName} />
      <TextField
        label="Endpoint"
        name="endpoint"
        required={usual === null}
        maxLength={2048}
        placeholder={usual ?? `${protocols[0]}//`}
        value={endpoint}
        onChange={setEndpoint}
      />
      {fieldsOf(type).map(([field, rule]) => (
        <TextField
          key={field}
          name={`config.${field}`}
          label={capital(words(field))}
          type={rule === 'optional' ? 'text' : 'password'}
          required={rule === 'required secret'}
          maxLength={4096}
          value={config[field] ?? ''}
          onChange={(value) => setConfig({ ...config, [field]: value })}
        />
      ))}
    </FormDialog>
  )
}
