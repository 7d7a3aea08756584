import { useQueries } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { AnswerOf } from '../../api/paths.ts'
import { read, useApi } from '../../api/use-api.ts'
import { Badge } from '../../parts/badge.tsx'
import { Empty, Loaded, Panel, Quiet } from '../../parts/layout.tsx'
import { Ago } from '../../parts/now.tsx'
import { type Column, Table } from '../../parts/table.tsx'

type Round = AnswerOf<'/api/v1/training/rounds'>['rounds'][number]
type Selection = AnswerOf<'/api/v1/training/rounds/{round_id}/selection'>

interface Row {
  readonly round: Round
  /** Null until it is known, or where only an administrator may know it. */
  readonly selection: Selection | null
}

const LATEST = 10

const COLUMNS: readonly Column<Row>[] = [
  {
    name: 'Round',
    cell: ({ round }) => <Link href={`/training/rounds/${round.id}`}>{`Round ${round.round_number}`}</Link>,
  },
  {
    name: 'Part',
    cell: ({ selection }) =>
      selection === null ? '' : selection.state === null ? <Quiet>none</Quiet> : <Badge state={selection.state} />,
  },
  { name: 'Why', cell: ({ selection }) => selection?.reason ?? '' },
  { name: 'Started', number: true, cell: ({ round }) => <Ago time={round.started_at ?? round.created_at} /> },
]

/** The latest rounds of the device's organization: whether it took part, and why or why not. */
export const DeviceRounds = ({
  device,
}: {
  readonly device: { readonly device_id: string; readonly org_id: string | null }
}) => {
  const query = useApi('/api/v1/training/rounds', { query: { limit: 100 } })
  const rounds = (query.data?.rounds ?? []).filter(({ org_id }) => org_id === device.org_id).slice(0, LATEST)
  const selections = useQueries({
    queries: rounds.map(({ id }) => {
      const params = { path: { round_id: id }, query: { device_id: device.device_id } }
      return {
        queryKey: ['/api/v1/training/rounds/{round_id}/selection', params],
        queryFn: ({ signal }: { signal: AbortSignal }) =>
          read('/api/v1/training/rounds/{round_id}/selection', params, signal),
      }
    }),
  })
  const rows = rounds.map((round, index) => ({ round, selection: selections[index]?.data ?? null }))
  return (
    <Panel title="Part in the latest rounds" flush>
      <Loaded query={query}>
        {() =>
          rows.length === 0 ? (
            <Empty title="No round has started yet" command="svc train start my-model --rounds 10">
              Start a training job:
            </Empty>
          ) : (
            <Table label="Part in rounds" columns={COLUMNS} rows={rows} rowKey={({ round }) => round.id} />
          )
        }
      </Loaded>
    </Panel>
  )
}
