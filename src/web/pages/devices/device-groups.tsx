import { Link } from 'wouter'
import { shellWord } from '../../../domain/shell-word.ts'
import { useApi } from '../../api/use-api.ts'
import { Empty, Loaded, Panel, Quiet } from '../../parts/layout.tsx'
import { plural } from '../../text/format.ts'
import { type DeviceName, deviceParams } from './use-device-rounds.ts'

export const DeviceGroups = ({ device }: { readonly device: DeviceName }) => {
  const query = useApi('/api/v1/devices/{device_id}/groups', deviceParams(device))
  return (
    <Panel title="Groups">
      <Loaded query={query}>
        {({ groups }) =>
          groups.length === 0 ? (
            <Empty title="The device is in no group" command={`svc groups add my-group ${shellWord(device.device_id)}`}>
              Rollouts, deployments, experiments, and policies can target a group:
            </Empty>
          ) : (
            groups.map(({ id, name, device_count }) => (
              <p key={id}>
                <Link href={`/delivery/groups/${id}`}>{name}</Link> <Quiet>{plural(device_count, 'device')}</Quiet>
              </p>
            ))
          )
        }
      </Loaded>
    </Panel>
  )
}
