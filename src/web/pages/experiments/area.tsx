import { Route, Switch } from 'wouter'
import { NotFound } from '../../parts/not-found.tsx'
import { ExperimentPage } from './experiment-page.tsx'
import { ExperimentsPage } from './experiments-page.tsx'

export const Area = () => (
  <Switch>
    <Route path="/experiments" component={ExperimentsPage} />
    <Route path="/experiments/:id">{({ id }) => <ExperimentPage key={id} experimentId={id} />}</Route>
    <Route component={NotFound} />
  </Switch>
)
