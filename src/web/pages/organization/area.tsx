import { Route, Switch } from 'wouter'
import { NotFound } from '../../parts/not-found.tsx'
import { AccountPage } from './account-page.tsx'
import { ApprovalsPage } from './approvals-page.tsx'
import { AuditPage } from './audit-page.tsx'
import { KeysPage } from './keys-page.tsx'
import { TeamPage } from './team-page.tsx'

export const Area = () => (
  <Switch>
    <Route path="/organization" component={TeamPage} />
    <Route path="/organization/keys" component={KeysPage} />
    <Route path="/organization/approvals" component={ApprovalsPage} />
    <Route path="/organization/audit" component={AuditPage} />
    <Route path="/organization/account" component={AccountPage} />
    <Route component={NotFound} />
  </Switch>
)
