import { Route, Switch } from 'wouter'
import { NotFound } from '../../parts/not-found.tsx'
import { IntegrationPage } from './integration-page.tsx'
import { IntegrationsPage } from './integrations-page.tsx'

export const Area = () => (
  <Switch>
    <Route path="/integrations" component={IntegrationsPage} />
    <Route path="/integrations/:id">{({ id }) => <IntegrationPage key={id} integrationId={id} />}</Route>
    <Route component={NotFound} />
  </Switch>
)
