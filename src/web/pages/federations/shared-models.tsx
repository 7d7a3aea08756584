import { useState } from 'react'
import { Link } from 'wouter'
import { api } from '../../api/client.ts'
import { useApi } from '../../api/use-api.ts'
import { write } from '../../api/write.ts'
import { Confirm, Dialog, SendForm } from '../../parts/dialog.tsx'
import { Fields, Outcome, SelectField } from '../../parts/form.tsx'
import { Button, Empty, Loaded, Panel } from '../../parts/layout.tsx'
import { Ago } from '../../parts/now.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { count, measure, percent, plural, shortId } from '../../text/format.ts'
import { shellWord } from '../../text/shell-word.ts'
import { useRole } from './role.ts'
import { type Federation, OTHERS, type SharedModel } from './types.ts'

const MOST = 200

const nameOf = ({ name, model_id }: SharedModel): string => name ?? `round result ${shortId(model_id)}`

const columnsFor = (isOwner: boolean, onUnshare: (model: SharedModel) => void): readonly Column<SharedModel>[] => [
  { name: 'Model', cell: (model) => <Link href={`/models/${model.model_id}`}>{nameOf(model)}</Link> },
  { name: 'Of', cell: ({ org_id }) => org_id ?? '' },
  { name: 'Framework', cell: ({ framework }) => framework },
  { name: 'Versions', number: true, cell: ({ latest_version }) => count(latest_version) },
  { name: 'Accuracy', number: true, cell: ({ accuracy }) => percent(accuracy) },
  { name: 'Loss', number: true, cell: ({ loss }) => measure(loss) },
  { name: 'Shared', number: true, cell: ({ shared_at }) => <Ago time={shared_at} /> },
  {
    name: 'Action',
    cell: (model) =>
      isOwner && (
        <Button onClick={() => onUnshare(model)} aria-label={`Unshare ${nameOf(model)}`}>
          Unshare
        </Button>
      ),
  },
]

const Share = ({ federation, onClose }: { readonly federation: Federation; readonly onClose: () => void }) => {
  const [chosen, setChosen] = useState('')
  const found = useApi('/api/v1/models', { query: { limit: 100, round_models: false } })
  const models = (found.data?.models ?? []).map(({ id, name }) => [id, name ?? id] as const)
  const model = chosen || (models[0]?.[0] ?? '')
  return (
    <Dialog title={`Share a model with ${federation.name}`} open onClose={onClose}>
      <SendForm
        verb="Share"
        tone="primary"
        disabled={model === ''}
        onClose={onClose}
        act={() =>
          write(
            api.POST('/api/v1/federations/{federation_id}/models', {
              params: { path: { federation_id: federation.id } },
              body: { model_id: model },
            }),
          )
        }
      >
        <Fields>
          <SelectField label="Model" value={model} options={models} onChange={setChosen} />
          <Outcome>
            {models.length === 0
              ? 'There is no model to share. Push one first.'
              : `${plural(federation.member_count, 'member')} may read and download all of its versions until it is unshared.`}
          </Outcome>
        </Fields>
      </SendForm>
    </Dialog>
  )
}

/** Models that the members may read; the results of the federation's rounds are among them. */
export const SharedModels = ({ federation }: { readonly federation: Federation }) => {
  const { isOwner } = useRole(federation)
  const [sharing, setSharing] = useState(false)
  const [unsharing, setUnsharing] = useState<SharedModel | null>(null)
  const path = { federation_id: federation.id }
  const query = useApi('/api/v1/federations/{federation_id}/models', { path, query: { limit: MOST } }, OTHERS)
  return (
    <Panel
      title="Shared models"
      aside={isOwner && <Button onClick={() => setSharing(true)}>Share a model</Button>}
      flush
    >
      <Loaded query={query}>
        {({ models, total }) =>
          models.length === 0 ? (
            <Empty title="No model is shared" command={`svc federation share my-model ${shellWord(federation.name)}`}>
              {isOwner
                ? 'Members may read what is shared:'
                : `${federation.org_id} owns the federation, and shares with:`}
            </Empty>
          ) : (
            <>
              <Table
                label="Shared models"
                columns={columnsFor(isOwner, setUnsharing)}
                rows={models}
                rowKey={({ model_id }) => model_id}
              />
              {total > models.length && <p>{`The first ${count(models.length)} of ${count(total)}.`}</p>}
            </>
          )
        }
      </Loaded>
      {sharing && <Share federation={federation} onClose={() => setSharing(false)} />}
      {unsharing && (
        <Confirm
          title={`Unshare ${nameOf(unsharing)}?`}
          verb="Unshare"
          onClose={() => setUnsharing(null)}
          act={() =>
            write(
              api.DELETE('/api/v1/federations/{federation_id}/models/{model_id}', {
                params: { path: { ...path, model_id: unsharing.model_id } },
              }),
            )
          }
        >
          {`${plural(federation.member_count, 'member')} may read it no more. What they have downloaded stays with them.`}
        </Confirm>
      )}
    </Panel>
  )
}
