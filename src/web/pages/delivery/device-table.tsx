import { Link } from 'wouter'
import { Ago, Badge } from '../../parts/cells.tsx'
import { Empty, Quiet } from '../../parts/layout.tsx'
import { TablePanel } from '../../parts/list-page.tsx'
import type { Column } from '../../parts/table.tsx'
import { count, plural } from '../../text/format.ts'
import { deviceHref } from '../../url/hrefs.ts'
import { stateTone } from './device-states.tsx'

interface ReachedDevice {
  readonly device_id: string
  readonly state: string
  readonly reason: string | null
  readonly reported_at: string | null
  /** False if the plan no longer reaches the device. */
  readonly current?: boolean
}

const COLUMNS: readonly Column<ReachedDevice>[] = [
  { name: 'Device', cell: ({ device_id }) => <Link href={deviceHref(device_id)}>{device_id}</Link> },
  {
    name: 'State',
    cell: ({ state, current = true }) => (
      <>
        <Badge state={state} tone={current ? stateTone(state) : 'idle'} />
        {!current && <Quiet> no longer reached</Quiet>}
      </>
    ),
  },
  { name: 'Reason', cell: ({ reason }) => reason ?? '' },
  { name: 'Reported', number: true, cell: ({ reported_at }) => <Ago time={reported_at} /> },
]

interface DeviceTableProps {
  readonly devices: readonly ReachedDevice[]
  readonly total: number
  readonly none: string
}

/** The devices of a rollout or deployment, failed ones first. `none`: why there are none. */
export const DeviceTable = ({ devices, total, none }: DeviceTableProps) => (
  <TablePanel
    title="Devices"
    aside={devices.length < total ? `the first ${count(devices.length)} of ${count(total)}` : plural(total, 'device')}
    columns={COLUMNS}
    rows={[...devices].sort((a, b) => Number(b.state === 'failed') - Number(a.state === 'failed'))}
    rowKey="device_id"
    empty={<Empty title="No devices">{none}</Empty>}
  />
)
