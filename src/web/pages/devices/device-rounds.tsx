import { Link } from 'wouter'
import { Ago, Badge } from '../../parts/cells.tsx'
import { Empty, Loaded, Panel, Quiet } from '../../parts/layout.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import type { RoundOfDevice, useDeviceRounds } from './use-device-rounds.ts'

const COLUMNS: readonly Column<RoundOfDevice>[] = [
  {
    name: 'Round',
    cell: ({ round }) => <Link href={`/training/rounds/${round.id}`}>{`Round ${round.round_number}`}</Link>,
  },
  {
    name: 'Participation',
    cell: ({ selection }) =>
      selection === null ? '' : selection.state === null ? <Quiet>none</Quiet> : <Badge state={selection.state} />,
  },
  { name: 'Reason', cell: ({ selection }) => selection?.reason ?? '' },
  { name: 'Started', number: true, cell: ({ round }) => <Ago time={round.started_at ?? round.created_at} /> },
]

/** The latest rounds of the device's organization: whether it took part, and why or why not. */
export const DeviceRounds = ({ rounds }: { readonly rounds: ReturnType<typeof useDeviceRounds> }) => (
  <Panel title="Participation in the latest rounds" flush>
    <Loaded query={rounds.query}>
      {() =>
        rounds.rows.length === 0 ? (
          <Empty title="No round has started yet" command="svc train start my-model --rounds 10">
            Start a training job:
          </Empty>
        ) : (
          <Table
            label="Participation in rounds"
            columns={COLUMNS}
            rows={rounds.rows}
            rowKey={({ round }) => round.id}
          />
        )
      }
    </Loaded>
  </Panel>
)
