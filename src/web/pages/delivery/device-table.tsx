import { Link } from 'wouter'
import { Badge } from '../../parts/badge.tsx'
import { Empty, Panel } from '../../parts/layout.tsx'
import { Ago } from '../../parts/now.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { count } from '../../text/format.ts'
import { deviceHref } from '../../url/device-href.ts'
import { stateTone } from './device-states.tsx'

export interface ReachedDevice {
  readonly device_id: string
  readonly state: string
  readonly version: string | null
  readonly reason: string | null
  readonly reported_at: string | null
}

const COLUMNS: readonly Column<ReachedDevice>[] = [
  {
    name: 'Device',
    cell: ({ device_id }) => <Link href={deviceHref(device_id)}>{device_id}</Link>,
  },
  { name: 'State', cell: ({ state }) => <Badge state={state} tone={stateTone(state)} /> },
  { name: 'Reason', cell: ({ reason }) => reason ?? '' },
  { name: 'Reported', number: true, cell: ({ reported_at }) => <Ago time={reported_at} /> },
]

/** The devices of a rollout or deployment, failed ones first. */
export const DeviceTable = ({
  devices,
  total,
}: {
  readonly devices: readonly ReachedDevice[]
  readonly total: number
}) => {
  const sorted = [...devices].sort((a, b) => Number(b.state === 'failed') - Number(a.state === 'failed'))
  return (
    <Panel
      title="Devices"
      aside={devices.length < total ? `the first ${count(devices.length)} of ${count(total)}` : count(total)}
      flush
    >
      {sorted.length === 0 ? (
        <Empty title="No device yet">Devices get the version with their next heartbeat.</Empty>
      ) : (
        <Table label="Devices" columns={COLUMNS} rows={sorted} rowKey={({ device_id }) => device_id} />
      )}
    </Panel>
  )
}
