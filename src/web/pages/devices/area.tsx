import { Route, Switch } from 'wouter'
import { NotFound } from '../../parts/not-found.tsx'
import { nameIn } from '../../url/raw-address.ts'
import { DevicePage } from './device-page.tsx'
import { DevicesPage } from './devices-page.tsx'

export const Area = () => (
  <Switch>
    <Route path="/devices" component={DevicesPage} />
    <Route path="/devices/:device_id">
      {({ device_id }) => <DevicePage key={device_id} deviceId={nameIn(device_id)} />}
    </Route>
    <Route component={NotFound} />
  </Switch>
)
