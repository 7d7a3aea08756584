import { useState } from 'react'
import { Dialog } from '../../parts/dialog.tsx'
import { Fields, SelectField } from '../../parts/form.tsx'
import { DeploymentForm } from './deployment-form.tsx'
import { type DeployProps, type ModelDetail, nameOf, newestFirst } from './model-records.ts'
import { RolloutForm } from './rollout-form.tsx'

const KINDS = [
  ['rollout', 'Rollout: a growing share of the fleet'],
  ['deployment', 'Deployment: the devices that are active now'],
] as const

const optionsOf = (model: ModelDetail): readonly (readonly [string, string])[] => [
  ['latest', `latest (${model.versions.at(-1)?.version_label})`],
  ...newestFirst(model).flatMap(({ aliases, version_label }) =>
    aliases.map((alias) => [alias, `${alias} (${version_label})`] as const),
  ),
  ...newestFirst(model).map(({ version_label }) => [version_label, version_label] as const),
]

/** Deploys a version, and shows the number of devices before starting. */
export const DeployDialog = ({ model, version: first }: DeployProps) => {
  const [version, setVersion] = useState(first)
  const [kind, setKind] = useState<(typeof KINDS)[number][0]>('rollout')
  const Form = kind === 'rollout' ? RolloutForm : DeploymentForm
  return (
    <Dialog title={`Deploy ${nameOf(model)}`} closedby="closerequest">
      <Fields>
        <SelectField label="Version" value={version} options={optionsOf(model)} onChange={setVersion} />
        <SelectField label="How" value={kind} options={KINDS} onChange={setKind} />
      </Fields>
      <Form model={model} version={version} />
    </Dialog>
  )
}
