import { Link } from 'wouter'
import { Badge, toneOf } from '../../parts/cells.tsx'
import type { Column } from '../../parts/table.tsx'
import { Span, type Stretch } from '../../parts/timeline.tsx'
import { bytes, count, measure, percent } from '../../text/format.ts'
import { deviceHref } from '../../url/hrefs.ts'
import { timesOf } from './round-figures.ts'
import styles from './training.module.css'
import type { Participant, Update } from './training-records.ts'

export interface Row {
  readonly participant: Participant
  readonly update: Update | null
  /** True if its update's norm is far from the others. */
  readonly isOutlier: boolean
}

/** Time from selection to fetching the model, and from there to the report, as shares of the round. */
const stretchesOf = ({ participant }: Row, start: Date, end: Date, isOver: boolean): readonly Stretch[] => {
  const whole = Math.max(1, end.getTime() - start.getTime())
  const share = (time: string): number => Math.min(1, Math.max(0, (Date.parse(time) - start.getTime()) / whole))
  const from = share(participant.selected_at)
  const fetched = participant.model_fetched_at ?? participant.acknowledged_at
  const reported = participant.reported_at
  const until = reported === null ? 1 : share(reported)
  const tone = reported !== null ? toneOf(participant.state) : fetched === null || isOver ? 'idle' : 'busy'
  if (fetched === null) return [{ from, to: until, tone }]
  return [
    { from, to: share(fetched), tone: 'idle' },
    { from: share(fetched), to: until, tone },
  ]
}

const Norm = ({ row }: { readonly row: Row }) =>
  row.isOutlier ? (
    <span className={styles.outlier} title="Far from the other updates’ norms">
      {measure(row.update?.norm)} (outlier)
    </span>
  ) : (
    measure(row.update?.norm)
  )

/** Columns for a participant: its times in the round, and how its update compares with the others. */
export const participantColumns = (
  start: Date,
  end: Date,
  isOver: boolean,
  isOthers: (orgId: string | null) => boolean,
): readonly Column<Row>[] => [
  {
    name: 'Device',
    cell: ({ participant: { device_identifier: name, org_id } }) =>
      isOthers(org_id) ? name : <Link href={deviceHref(name, org_id)}>{name}</Link>,
  },
  { name: 'State', cell: ({ participant }) => <Badge state={participant.state} /> },
  {
    name: 'Timeline',
    cell: (row) => <Span label={timesOf(row.participant, isOver)} stretches={stretchesOf(row, start, end, isOver)} />,
  },
  { name: 'Samples', number: true, cell: ({ update }) => count(update?.num_samples) },
  { name: 'Loss', number: true, cell: ({ update }) => measure(update?.local_loss) },
  { name: 'Accuracy', number: true, cell: ({ update }) => percent(update?.local_accuracy) },
  { name: 'Norm', number: true, cell: (row) => <Norm row={row} /> },
  { name: 'Cosine', number: true, cell: ({ update }) => (update?.cosine == null ? '–' : update.cosine.toFixed(3)) },
  { name: 'Sent', number: true, cell: ({ update }) => bytes(update?.model_size_bytes) },
  { name: 'Reason', cell: ({ participant }) => participant.reason ?? '' },
]
