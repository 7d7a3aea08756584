import { useState } from 'react'
import { useLocation } from 'wouter'
import { INTEGRATION_TYPES, type IntegrationType } from '../../../domain/integration.ts'
import { api, write } from '../../api/client.ts'
import { FormDialog } from '../../parts/dialog.tsx'
import { SelectField, TextField, useFields } from '../../parts/form.tsx'
import { showOnce } from '../../parts/shown-once.tsx'
import { capital, words } from '../../text/format.ts'

const TYPES = Object.keys(INTEGRATION_TYPES) as IntegrationType[]
const OPTIONS = TYPES.map((type) => [type, `${type} (${INTEGRATION_TYPES[type].kind})`] as const)

/** The receiver's settings, except headers, which are an object and can only be set on the command line. */
const fieldsOf = (type: IntegrationType): readonly (readonly [name: string, rule: string])[] =>
  Object.entries(INTEGRATION_TYPES[type].config).filter(([name]) => name !== 'headers')

export const CreateIntegration = () => {
  const [, navigate] = useLocation()
  const [type, setType] = useState<IntegrationType>('webhook')
  const [{ name, endpoint }, field] = useFields({ name: '', endpoint: '' })
  const [config, setConfig] = useState<Readonly<Record<string, string>>>({})
  const { kind, endpoint: usual, protocols } = INTEGRATION_TYPES[type]
  const create = async (): Promise<void> => {
    const known = fieldsOf(type).flatMap(([setting]) => (config[setting] ? [[setting, config[setting]] as const] : []))
    const body = {
      kind,
      type,
      config: Object.fromEntries(known),
      ...(name !== '' && { name }),
      ...(endpoint !== '' && { endpoint }),
    }
    const { id, secret: text } = await write(api.POST('/api/v1/integrations', { body }))
    const onClose = (): void => navigate(`/integrations/${id}`)
    if (text === null) return onClose()
    const says = 'The receiver checks signatures with it. It is shown only once.'
    showOnce({ title: 'The webhook’s secret', what: 'secret', text, says, onClose })
  }
  return (
    <FormDialog title="Create an integration" verb="Create" act={create}>
      <SelectField label="Receiver" value={type} options={OPTIONS} onChange={setType} />
      <TextField label="Name" maxLength={128} placeholder={type} {...field('name')} />
      <TextField
        label="Endpoint"
        required={usual === null}
        maxLength={2048}
        placeholder={usual ?? `${protocols[0]}//`}
        {...field('endpoint')}
      />
      {fieldsOf(type).map(([setting, rule]) => (
        <TextField
          key={setting}
          name={`config.${setting}`}
          label={capital(words(setting))}
          type={rule === 'optional' ? 'text' : 'password'}
          required={rule === 'required secret'}
          maxLength={4096}
          value={config[setting] ?? ''}
          onChange={(value) => setConfig({ ...config, [setting]: value })}
        />
      ))}
    </FormDialog>
  )
}
