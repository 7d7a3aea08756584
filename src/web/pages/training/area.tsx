import { Route, Switch } from 'wouter'
import { NotFound } from '../../parts/not-found.tsx'
import { JobPage } from './job-page.tsx'
import { JobsPage } from './jobs-page.tsx'
import { RoundPage } from './round-page.tsx'

export const Area = () => (
  <Switch>
    <Route path="/training" component={JobsPage} />
    <Route path="/training/jobs/:job_id">{({ job_id }) => <JobPage key={job_id} jobId={job_id} />}</Route>
    <Route path="/training/rounds/:round_id">{({ round_id }) => <RoundPage key={round_id} roundId={round_id} />}</Route>
    <Route component={NotFound} />
  </Switch>
)
