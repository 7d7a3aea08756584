import { useState } from 'react'
import { useLocation } from 'wouter'
import { useDeviceCount, useGroupOptions, useNamedModels } from '../../api/choices.ts'
import { api, write } from '../../api/client.ts'
import { FormDialog } from '../../parts/dialog.tsx'
import { FieldRow, NumberField, Outcome, SelectField, TextField, useFields } from '../../parts/form.tsx'
import { Button } from '../../parts/layout.tsx'
import { ModelsNote } from '../../parts/models-note.tsx'
import { count, plural } from '../../text/format.ts'

interface Variant {
  readonly name: string
  readonly model: string
  readonly version: string
  /** A percentage. */
  readonly share: number
}

const MAX_VARIANTS = 20
const NEW = { name: '', model: '', version: '', share: 0 }
const FIRST = [
  { ...NEW, name: 'control', share: 50 },
  { ...NEW, name: 'treatment', share: 50 },
]

interface VariantProps {
  readonly variant: Variant
  readonly models: readonly (readonly [id: string, name: string])[]
  readonly number: number
  readonly onChange: (changed: Partial<Variant>) => void
}

const VariantFields = ({ variant, models, number, onChange }: VariantProps) => {
  const field = <Name extends keyof Variant>(key: Name, label: string, name: string = key) => ({
    label: `${label} ${number}`,
    name: `variants[${number - 1}].${name}`,
    value: variant[key],
    onChange: (value: Variant[Name]) => onChange({ [key]: value }),
  })
  return (
    <FieldRow>
      <TextField {...field('name', 'Variant')} required maxLength={128} />
      <SelectField {...field('model', 'Model')} options={models} />
      <TextField {...field('version', 'Version')} maxLength={200} placeholder="highest" />
      <NumberField {...field('share', 'Share', 'allocation')} unit="%" min={0} max={100} step="any" />
    </FieldRow>
  )
}

const split = (deviceCount: number, variants: readonly Variant[]): string =>
  variants.map(({ name, share }) => `${name} about ${count(Math.round((deviceCount * share) / 100))}`).join(', ')

/** Converts a percentage to a share, without floating-point noise. */
const toShare = (percentage: number): number => Number((percentage / 100).toPrecision(12))

export const CreateExperiment = () => {
  const [, navigate] = useLocation()
  const [{ confidence_level, ...named }, field] = useFields({
    name: '',
    primary_metric: 'accuracy',
    /** A percentage. */
    confidence_level: 95,
  })
  const [chosenGroup, setGroup] = useState('')
  const [variants, setVariants] = useState<readonly Variant[]>(FIRST)
  const choices = useNamedModels()
  const models = choices.options
  const first = models[0]?.[0] ?? ''
  const modelId = variants[0]?.model || first
  const orgId = choices.models.find(({ id }) => id === modelId)?.org_id ?? null
  const groups = useGroupOptions(orgId)
  // Another model may be of another organization.
  const group = groups.some(([id]) => id === chosenGroup) ? chosenGroup : ''
  const groupIds = group === '' ? [] : [group]
  const deviceCount = useDeviceCount(groupIds, orgId)
  const sum = variants.reduce((total, { share }) => total + share, 0)
  const create = async (): Promise<void> => {
    const { id } = await write(
      api.POST('/api/v1/experiments', {
        body: {
          ...named,
          confidence_level: toShare(confidence_level),
          target_groups: groupIds,
          variants: variants.map((variant) => ({
            name: variant.name,
            model_id: variant.model || first,
            allocation: toShare(variant.share),
            ...(variant.version !== '' && { version: variant.version }),
          })),
        },
      }),
    )
    navigate(`/experiments/${id}`)
  }
  return (
    <FormDialog title="Create an experiment" verb="Create draft" act={create} disabled={models.length === 0}>
      <TextField label="Name" required maxLength={128} {...field('name')} />
      <FieldRow>
        <TextField label="Metric" required maxLength={100} {...field('primary_metric')} />
        <NumberField label="Confidence" unit="%" min={50} max={99.9} step="any" {...field('confidence_level')} />
        <SelectField label="Devices" value={group} options={groups} onChange={setGroup} />
      </FieldRow>
      {variants.map((variant, index) => (
        <VariantFields
          // biome-ignore lint/suspicious/noArrayIndexKey: a variant without a name is identified by its position
          key={index}
          variant={variant}
          models={models}
          number={index + 1}
          onChange={(changed) =>
            setVariants(variants.map((other, place) => (place === index ? { ...other, ...changed } : other)))
          }
        />
      ))}
      <div>
        <Button disabled={variants.length >= MAX_VARIANTS} onClick={() => setVariants([...variants, NEW])}>
          Add variant
        </Button>{' '}
        {variants.length > 2 && (
          <Button onClick={() => setVariants(variants.slice(0, -1))}>{`Remove variant ${variants.length}`}</Button>
        )}
      </div>
      <ModelsNote choices={choices} />
      <Outcome>
        {choices.isLoaded && models.length === 0
          ? 'There is no model to compare yet. Upload one with svc push.'
          : Math.abs(sum - 100) > 1e-6
            ? `The shares sum to ${Number(sum.toPrecision(6))}%; they must sum to 100%.`
            : deviceCount === null || Number.isNaN(sum)
              ? 'No device gets a variant until the experiment is started.'
              : `Of ${plural(deviceCount, 'device')}: ${split(deviceCount, variants)}. None gets a variant until the experiment is started.`}
      </Outcome>
    </FormDialog>
  )
}
