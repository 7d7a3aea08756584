import { Link } from 'wouter'
import { Ago, Badge } from '../../parts/cells.tsx'
import type { Column } from '../../parts/table.tsx'
import { count, duration, elapsed, measure, percent } from '../../text/format.ts'
import type { JobRound, Round } from './training-records.ts'

/** An active round is in progress, whereas an active device is healthy. */
export const RoundBadge = ({ status }: { readonly status: Round['status'] }) => (
  <Badge state={status} {...(status === 'active' && { tone: 'busy' as const })} />
)

const NAME: Column<Round> = {
  name: 'Round',
  cell: (round) => <Link href={`/training/rounds/${round.id}`}>{`Round ${round.round_number}`}</Link>,
}

const FIGURES: readonly Column<Round>[] = [
  { name: 'Status', cell: ({ status }) => <RoundBadge status={status} /> },
  { name: 'Updates', number: true, cell: (round) => `${round.completed_devices} / ${round.target_devices}` },
  { name: 'Failed', number: true, cell: ({ failed_devices }) => failed_devices },
  { name: 'Training loss', number: true, cell: ({ loss }) => measure(loss) },
  { name: 'Training accuracy', number: true, cell: ({ accuracy }) => percent(accuracy) },
  {
    name: 'Duration',
    number: true,
    cell: ({ started_at, ended_at }) =>
      ended_at === null ? '' : duration(elapsed(started_at, ended_at, new Date(ended_at))),
  },
  { name: 'Reason', cell: ({ failure_reason }) => failure_reason ?? '' },
  { name: 'Started', number: true, cell: ({ started_at, created_at }) => <Ago time={started_at ?? created_at} /> },
]

export const ROUND_COLUMNS: readonly Column<Round>[] = [NAME, ...FIGURES]

/** With each round's place in its job, which the curves use. */
export const JOB_ROUND_COLUMNS: readonly Column<JobRound>[] = [
  NAME,
  { name: 'Job round', number: true, cell: ({ jobRound }) => count(jobRound) },
  ...FIGURES,
]
