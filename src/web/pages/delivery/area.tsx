import { Route, Switch } from 'wouter'
import { NotFound } from '../../parts/not-found.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { nameIn } from '../../url/raw-address.ts'
import { DeploymentPage } from './deployment-page.tsx'
import { DeploymentsPage } from './deployments-page.tsx'
import { GroupPage } from './group-page.tsx'
import { GroupsPage } from './groups-page.tsx'
import { PairingPage } from './pairing-page.tsx'
import { PoliciesPage } from './policies-page.tsx'
import { PolicyPage } from './policy-page.tsx'
import { RolloutPage } from './rollout-page.tsx'
import { RolloutsPage } from './rollouts-page.tsx'

const TABS = [
  ['/delivery', 'Rollouts'],
  ['/delivery/deployments', 'Deployments'],
  ['/delivery/policies', 'Policies'],
  ['/delivery/groups', 'Groups'],
  ['/delivery/pairing', 'Pairing'],
] as const

export const Area = () => (
  <>
    <Tabs label="Delivery" tabs={TABS} />
    <Switch>
      <Route path="/delivery" component={RolloutsPage} />
      <Route path="/delivery/rollouts/:model_id/:rollout_id">
        {({ model_id, rollout_id }) => <RolloutPage key={rollout_id} modelId={model_id} rolloutId={rollout_id} />}
      </Route>
      <Route path="/delivery/deployments" component={DeploymentsPage} />
      <Route path="/delivery/deployments/:id">{({ id }) => <DeploymentPage key={id} deploymentId={id} />}</Route>
      <Route path="/delivery/policies" component={PoliciesPage} />
      <Route path="/delivery/policies/:model_id">
        {({ model_id }) => <PolicyPage key={model_id} modelId={nameIn(model_id)} />}
      </Route>
      <Route path="/delivery/groups" component={GroupsPage} />
      <Route path="/delivery/groups/:id">{({ id }) => <GroupPage key={id} groupId={id} />}</Route>
      <Route path="/delivery/pairing" component={PairingPage} />
      <Route component={NotFound} />
    </Switch>
  </>
)
