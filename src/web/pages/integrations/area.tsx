import { Route, Switch } from 'wouter'
import { IntegrationPage } from './integration-page.tsx'
import { IntegrationsPage } from './integrations-page.tsx'

export const Area = () => (
  <Switch>
    <Route path="/integrations" component={IntegrationsPage} />
    <Route path="/integrations/:id">{({ id }) => <IntegrationPage integrationId={id} />}</Route>
  </Switch>
)
