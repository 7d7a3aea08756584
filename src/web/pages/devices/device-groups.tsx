import { Link } from 'wouter'
import { useApi } from '../../api/use-api.ts'
import { Empty, Loaded, Panel } from '../../parts/layout.tsx'
import { plural } from '../../text/format.ts'
import { shellWord } from '../../text/shell-word.ts'

/** The groups that the device is in. */
export const DeviceGroups = ({
  device,
}: {
  readonly device: { readonly device_id: string; readonly org_id: string | null }
}) => {
  const query = useApi('/api/v1/devices/{device_id}/groups', {
    path: { device_id: device.device_id },
    query: { ...(device.org_id !== null && { org_id: device.org_id }) },
  })
  return (
    <Panel title="Groups">
      <Loaded query={query}>
        {({ groups }) =>
          groups.length === 0 ? (
            <Empty title="It is in no group" command={`svc groups add my-group ${shellWord(device.device_id)}`}>
              Rollouts, deployments, experiments and policies can aim at a group:
            </Empty>
          ) : (
            groups.map(({ id, name, device_count }) => (
              <p key={id}>
                <Link href={`/delivery/groups/${id}`}>{name}</Link> {`of ${plural(device_count, 'device')}`}
              </p>
            ))
          )
        }
      </Loaded>
    </Panel>
  )
}
