import { Link } from 'wouter'
import { api, write } from '../../api/client.ts'
import { useApi, WITHOUT_EVENTS } from '../../api/use-api.ts'
import { Ago, Id } from '../../parts/cells.tsx'
import { DetailPage } from '../../parts/detail-page.tsx'
import { DialogButton, FormDialog } from '../../parts/dialog.tsx'
import { TextField, useFields } from '../../parts/form.tsx'
import { Empty, Facts, Panel } from '../../parts/layout.tsx'
import { policyHref } from '../../url/hrefs.ts'
import { AliasHistory } from './alias-history.tsx'
import { CompareVersions } from './compare-versions.tsx'
import { DeployDialog } from './deploy-dialog.tsx'
import { Lineage } from './lineage.tsx'
import { type ModelDetail, nameOf, useGuard, useSharedNote } from './model-records.ts'
import { Versions } from './versions.tsx'

const About = ({ model }: { readonly model: ModelDetail }) => {
  const policies = useApi('/api/v1/policies', {})
  const isShared = useSharedNote(model) !== null
  const policy = policies.data?.policies.find(({ model_id }) => model_id === model.id)
  return (
    <Panel title="Model">
      <Facts
        entries={[
          ['Framework', [model.framework, model.framework_version].filter(Boolean).join(' ')],
          ['Description', model.description || 'none'],
          isShared && ['Shared by', model.org_id],
          ['Added', <Ago key="added" time={model.created_at} />],
          model.round_id !== null && [
            'Created by',
            <Link key="round" href={`/training/rounds/${model.round_id}`}>
              a training round
            </Link>,
          ],
          !isShared && [
            'Policy',
            <Link key="policy" href={policyHref(model.id)}>
              {policy === undefined ? 'none (set one)' : policy.enabled ? 'delivers automatically' : 'disabled'}
            </Link>,
          ],
          ['Model id', <Id key="id" id={model.id} />],
        ]}
      />
    </Panel>
  )
}

const Describe = ({ model }: { readonly model: ModelDetail }) => {
  const [body, field] = useFields({ description: model.description })
  const params = { path: { model_id: model.id } }
  return (
    <FormDialog
      title={`Describe ${nameOf(model)}`}
      verb="Save"
      act={() => write(api.PATCH('/api/v1/models/{model_id}', { params, body }))}
    >
      <TextField label="Description" maxLength={1000} {...field('description')} />
    </FormDialog>
  )
}

/** Keeps a shared model up to date: its events go only to its own organization. */
const SharedUpdates = ({ modelId }: { readonly modelId: string }) => {
  useApi('/api/v1/models/{model_id}', { path: { model_id: modelId } }, WITHOUT_EVENTS)
  return null
}

/** A model: its versions and aliases, their origins and uses, and deployment. */
export const ModelPage = ({ modelId }: { readonly modelId: string }) => {
  const query = useApi('/api/v1/models/{model_id}', { path: { model_id: modelId } })
  const isShared = useSharedNote(query.data) !== null
  const guard = useGuard(query.data)
  return (
    <DetailPage
      query={query}
      title={nameOf}
      loading={modelId}
      up={['/models', 'Models']}
      actions={(model) => (
        <>
          <DialogButton {...guard} dialog={<Describe model={model} />}>
            Describe
          </DialogButton>
          {model.versions.length > 0 && (
            <DialogButton {...guard} tone="primary" dialog={<DeployDialog model={model} version="latest" />}>
              Deploy
            </DialogButton>
          )}
        </>
      )}
    >
      {(model) => (
        <>
          {model.versions.length === 0 ? (
            <Panel title="Versions">
              <Empty
                title="No versions yet"
                command={`svc push weights.onnx --model-id ${nameOf(model)} --version 1.0.0`}
              >
                Upload its weights:
              </Empty>
            </Panel>
          ) : (
            <>
              <Versions model={model} />
              {!isShared && <Lineage model={model} />}
              <CompareVersions model={model} />
            </>
          )}
          {isShared && <SharedUpdates modelId={modelId} />}
          <About model={model} />
          <AliasHistory model={model} />
        </>
      )}
    </DetailPage>
  )
}
