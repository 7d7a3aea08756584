import { useState } from 'react'
import { Link } from 'wouter'
import { shellWord } from '../../../domain/shell-word.ts'
import { useNamedModels } from '../../api/choices.ts'
import { api, write } from '../../api/client.ts'
import { useApi } from '../../api/use-api.ts'
import { Ago } from '../../parts/cells.tsx'
import { ConfirmButton, DialogButton, FormDialog } from '../../parts/dialog.tsx'
import { Outcome, SelectField } from '../../parts/form.tsx'
import { Empty, Loaded, Panel } from '../../parts/layout.tsx'
import { ModelsNote } from '../../parts/models-note.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { count, measure, percent, plural, shortId } from '../../text/format.ts'
import { modelHref } from '../../url/hrefs.ts'
import { type Federation, OTHERS, type SharedModel } from './federation-records.ts'
import { useRole } from './role.ts'

const MAX_ROWS = 200

const nameOf = ({ name, model_id }: SharedModel): string => name ?? `round result ${shortId(model_id)}`

const Unshare = ({ federation, model }: { readonly federation: Federation; readonly model: SharedModel }) => (
  <ConfirmButton
    button={{ needs: 'training:write', 'aria-label': `Unshare ${nameOf(model)}` }}
    title={`Unshare ${nameOf(model)}?`}
    verb="Unshare"
    act={() => {
      const params = { path: { federation_id: federation.id, model_id: model.model_id } }
      return write(api.DELETE('/api/v1/federations/{federation_id}/models/{model_id}', { params }))
    }}
  >
    {`${plural(federation.member_count, 'member')} can no longer read it. They keep what they have downloaded.`}
  </ConfirmButton>
)

const columnsFor = (federation: Federation, isOwner: boolean): readonly Column<SharedModel>[] => [
  { name: 'Model', cell: (model) => <Link href={modelHref(model.model_id)}>{nameOf(model)}</Link> },
  { name: 'Owner', cell: ({ org_id }) => org_id ?? '' },
  { name: 'Framework', cell: ({ framework }) => framework },
  { name: 'Versions', number: true, cell: ({ latest_version }) => count(latest_version) },
  { name: 'Accuracy', number: true, cell: ({ accuracy }) => percent(accuracy) },
  { name: 'Loss', number: true, cell: ({ loss }) => measure(loss) },
  { name: 'Shared', number: true, cell: ({ shared_at }) => <Ago time={shared_at} /> },
  { name: 'Action', cell: (model) => isOwner && <Unshare federation={federation} model={model} /> },
]

const Share = ({ federation }: { readonly federation: Federation }) => {
  const [chosen, setChosen] = useState('')
  const choices = useNamedModels()
  const models = choices.options
  const model = chosen || (models[0]?.[0] ?? '')
  const params = { path: { federation_id: federation.id } }
  return (
    <FormDialog
      title={`Share a model with ${federation.name}`}
      verb="Share"
      disabled={model === ''}
      act={() => write(api.POST('/api/v1/federations/{federation_id}/models', { params, body: { model_id: model } }))}
    >
      <SelectField label="Model" value={model} options={models} onChange={setChosen} />
      <ModelsNote choices={choices} />
      <Outcome>
        {choices.isLoaded && models.length === 0
          ? 'There is no model to share. Upload one with svc push.'
          : `${plural(federation.member_count, 'member')} may read and download all of its versions until it is unshared.`}
      </Outcome>
    </FormDialog>
  )
}

/** The models that members may read, including the results of the federation's rounds. */
export const SharedModels = ({ federation }: { readonly federation: Federation }) => {
  const { isOwner } = useRole(federation)
  const path = { federation_id: federation.id }
  const query = useApi('/api/v1/federations/{federation_id}/models', { path, query: { limit: MAX_ROWS } }, OTHERS)
  return (
    <Panel
      title="Shared models"
      aside={
        isOwner && (
          <DialogButton needs="training:write" dialog={<Share federation={federation} />}>
            Share a model
          </DialogButton>
        )
      }
      flush
    >
      <Loaded query={query}>
        {({ models, total }) =>
          models.length === 0 ? (
            <Empty title="No model is shared" command={`svc federation share my-model ${shellWord(federation.name)}`}>
              {isOwner
                ? 'Share a model with all members:'
                : `Only ${federation.org_id}, the owner, can share models, with:`}
            </Empty>
          ) : (
            <>
              <Table label="Shared models" columns={columnsFor(federation, isOwner)} rows={models} rowKey="model_id" />
              {total > models.length && <p>{`The first ${count(models.length)} of ${count(total)}.`}</p>}
            </>
          )
        }
      </Loaded>
    </Panel>
  )
}
