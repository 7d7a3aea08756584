import { Route, Switch } from 'wouter'
import { NotFound } from '../../parts/not-found.tsx'
import { AnalyticsPage } from './analytics-page.tsx'
import { FederationPage } from './federation-page.tsx'
import { FederationsPage } from './federations-page.tsx'

export const Area = () => (
  <Switch>
    <Route path="/federations" component={FederationsPage} />
    <Route path="/federations/:id">{({ id }) => <FederationPage key={id} federationId={id} />}</Route>
    <Route path="/federations/:id/analytics">{({ id }) => <AnalyticsPage key={id} federationId={id} />}</Route>
    <Route component={NotFound} />
  </Switch>
)
