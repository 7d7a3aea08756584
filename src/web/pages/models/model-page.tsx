import { useState } from 'react'
import { Link } from 'wouter'
import { useApi, WITHOUT_EVENTS } from '../../api/use-api.ts'
import { Ago, Id } from '../../parts/cells.tsx'
import { Aside, Button, Empty, Facts, Loaded, PageHeader, Panel } from '../../parts/layout.tsx'
import { policyHref } from '../../url/hrefs.ts'
import { AliasHistory } from './alias-history.tsx'
import { CompareVersions } from './compare-versions.tsx'
import { DeployDialog } from './deploy-dialog.tsx'
import { Lineage } from './lineage.tsx'
import { type ModelDetail, nameOf, useSharedNote } from './model-records.ts'
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

/** Keeps a shared model up to date: its events go only to its own organization. */
const SharedUpdates = ({ modelId }: { readonly modelId: string }) => {
  useApi('/api/v1/models/{model_id}', { path: { model_id: modelId } }, WITHOUT_EVENTS)
  return null
}

/** A model: its versions and aliases, their origins and uses, and deployment. */
export const ModelPage = ({ modelId }: { readonly modelId: string }) => {
  const query = useApi('/api/v1/models/{model_id}', { path: { model_id: modelId } })
  const [deploying, setDeploying] = useState<string | null>(null)
  const model = query.data
  const sharedNote = useSharedNote(model)
  return (
    <>
      <PageHeader title={model ? nameOf(model) : modelId} up={{ href: '/models', label: 'Models' }}>
        <Aside>
          {model && model.versions.length > 0 && (
            <Button
              needs="models:write"
              tone="primary"
              disabled={sharedNote !== null}
              title={sharedNote ?? undefined}
              onClick={() => setDeploying('latest')}
            >
              Deploy
            </Button>
          )}
        </Aside>
      </PageHeader>
      <Loaded query={query}>
        {(loaded) => (
          <>
            {loaded.versions.length === 0 ? (
              <Panel title="Versions">
                <Empty
                  title="No versions yet"
                  command={`svc push weights.onnx --model-id ${nameOf(loaded)} --version 1.0.0`}
                >
                  Upload its weights:
                </Empty>
              </Panel>
            ) : (
              <>
                <Versions model={loaded} onDeploy={setDeploying} />
                {sharedNote === null && <Lineage model={loaded} />}
                <CompareVersions model={loaded} />
              </>
            )}
            {sharedNote !== null && <SharedUpdates modelId={modelId} />}
            <About model={loaded} />
            <AliasHistory model={loaded} />
            {deploying !== null && (
              <DeployDialog model={loaded} version={deploying} onClose={() => setDeploying(null)} />
            )}
          </>
        )}
      </Loaded>
    </>
  )
}
