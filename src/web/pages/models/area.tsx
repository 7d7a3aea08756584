import { Route, Switch } from 'wouter'
import { NotFound } from '../../parts/not-found.tsx'
import { nameIn } from '../../url/raw-address.ts'
import { ModelPage } from './model-page.tsx'
import { ModelsPage } from './models-page.tsx'

export const Area = () => (
  <Switch>
    <Route path="/models" component={ModelsPage} />
    <Route path="/models/:model_id">{({ model_id }) => <ModelPage key={model_id} modelId={nameIn(model_id)} />}</Route>
    <Route component={NotFound} />
  </Switch>
)
