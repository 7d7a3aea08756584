import { Route, Switch } from 'wouter'
import { KeysPage } from './keys-page.tsx'
import { TeamPage } from './team-page.tsx'

export const Area = () => (
  <Switch>
    <Route path="/organization" component={TeamPage} />
    <Route path="/organization/keys" component={KeysPage} />
  </Switch>
)
