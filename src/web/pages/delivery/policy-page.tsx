import { goalOf } from '../../../domain/metric-goal.ts'
import { api, isNotFound, write } from '../../api/client.ts'
import { useApi } from '../../api/use-api.ts'
import { Ago } from '../../parts/cells.tsx'
import { ConfirmButton, DialogButton } from '../../parts/dialog.tsx'
import { Aside, Empty, Facts, Loaded, PageHeader, Panel, useLastError, Warnings } from '../../parts/layout.tsx'
import { duration, measure, percent, plural, points } from '../../text/format.ts'
import { Decisions } from './decisions.tsx'
import { type Policy, warningsOf } from './delivery-records.ts'
import { PolicyBadge } from './policies-page.tsx'
import { PolicyForm } from './policy-form.tsx'

const marginsOf = (policy: Policy): string =>
  new Intl.ListFormat('en').format([
    `to lose at most ${points(policy.max_accuracy_drop)} of accuracy`,
    `to increase the loss by at most ${percent(policy.max_loss_increase)}`,
    ...Object.entries(policy.metric_margins).map(([metric, margin]) =>
      goalOf(metric) === 'maximize'
        ? `to lose at most ${measure(margin)} of ${metric}`
        : `to increase ${metric} by at most ${percent(margin)}`,
    ),
  ])

const Settings = ({ policy }: { readonly policy: Policy }) => (
  <Panel title="What it does">
    <p>
      {`The result of a round goes to ${policy.canary_percentage}% of the ${
        policy.canary_group_id === null ? 'devices' : 'canary group'
      } for at most ${duration(policy.observe_minutes * 60_000)}. It is promoted once it is shown, with ${percent(
        policy.confidence_level,
        0,
      )} confidence, ${marginsOf(policy)}; otherwise it is rolled back.`}
    </p>
    <br />
    <Facts
      entries={[
        ['Early decision', `after ${plural(policy.min_reports, 'device')} on each side have reported`],
        ['Promotion', `${policy.increment_step}% every ${duration(policy.step_interval_minutes * 60_000)}`],
        ['Set', <Ago key="set" time={policy.created_at} />],
        ['Changed', <Ago key="changed" time={policy.updated_at} />],
      ]}
    />
  </Panel>
)

const UP = { href: '/delivery/policies', label: 'Policies' }

/** The policy of one model, and its decisions. */
export const PolicyPage = ({ modelId }: { readonly modelId: string }) => {
  const params = { path: { model_id: modelId } }
  const query = useApi('/api/v1/models/{model_id}/policy', params)
  const error = useLastError(query)
  const policy = isNotFound(error) ? undefined : query.data
  const model = useApi('/api/v1/models/{model_id}', params)
  const name = model.data?.name ?? modelId
  if (isNotFound(model.error)) {
    return (
      <>
        <PageHeader title={`Policy for ${modelId}`} up={UP} />
        <Loaded query={model}>{() => null}</Loaded>
      </>
    )
  }
  return (
    <>
      <PageHeader title={model.data === undefined ? 'Policy' : `Policy for ${name}`} up={UP}>
        {policy && <PolicyBadge {...policy} />}
        <Aside>
          <DialogButton
            needs="models:write"
            tone="primary"
            // The form starts with the policy's settings, and compares the policy when it is saved.
            disabled={policy === undefined && !isNotFound(error)}
            dialog={<PolicyForm modelId={modelId} orgId={model.data?.org_id ?? null} policy={policy} />}
          >
            {policy === undefined ? 'Set a policy' : 'Change'}
          </DialogButton>
          {policy && (
            <ConfirmButton
              button={{ needs: 'models:write', tone: 'danger' }}
              title={`Delete the policy for ${name}?`}
              verb="Delete"
              name={name}
              act={() => write(api.DELETE('/api/v1/models/{model_id}/policy', { params }))}
            >
              Its decisions are deleted too. A canary in progress stays as it is: no device changes its version.
            </ConfirmButton>
          )}
        </Aside>
      </PageHeader>
      {isNotFound(error) ? (
        <Panel title="Policy">
          <Empty title="This model has no policy">
            Its training results are not delivered automatically. Set a policy to deliver them.
          </Empty>
        </Panel>
      ) : (
        <Loaded query={query}>
          {(loaded) => (
            <>
              {warningsOf(loaded).length > 0 && (
                <Panel title="Attention">
                  <Warnings texts={warningsOf(loaded)} />
                </Panel>
              )}
              <Settings policy={loaded} />
              <Decisions modelId={loaded.model_id} />
            </>
          )}
        </Loaded>
      )}
    </>
  )
}
