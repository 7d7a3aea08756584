import { Link } from 'wouter'
import { useApi } from '../../api/use-api.ts'
import { toneOf } from '../../parts/cells.tsx'
import { Empty, Panel } from '../../parts/layout.tsx'
import { type Moment, Timeline } from '../../parts/timeline.tsx'
import { measure, words } from '../../text/format.ts'
import { LoadedParts } from './loaded-parts.tsx'
import { JOBS, MODELS, ROUNDS, type Seen } from './reads.ts'

const MAX_ROWS = 12

/** Recent jobs, rounds, and models, newest first. */
export const Recent = ({ training, models: seesModels }: Seen) => {
  const rounds = useApi(...ROUNDS, { enabled: training })
  const jobs = useApi(...JOBS, { enabled: training })
  const models = useApi(...MODELS, { enabled: seesModels })
  const moments: Moment[] = [
    ...(rounds.data?.rounds ?? []).map((round) => ({
      key: round.id,
      tone: round.status === 'active' ? ('busy' as const) : toneOf(round.status),
      text: (
        <>
          <Link href={`/training/rounds/${round.id}`}>Round {round.round_number}</Link> {words(round.status)}
          {round.loss != null && `, training loss ${measure(round.loss)}`}
        </>
      ),
      time: round.ended_at ?? round.started_at ?? round.created_at,
    })),
    ...(jobs.data?.jobs ?? []).map((job) => ({
      key: job.id,
      tone: toneOf(job.status),
      text: (
        <>
          <Link href={`/training/jobs/${job.id}`}>{job.name ?? 'Training job'}</Link>{' '}
          {job.ended_by === null ? words(job.status) : `${words(job.status)}: ${words(job.ended_by)}`}
        </>
      ),
      time: job.ended_at ?? job.started_at ?? job.created_at,
    })),
    ...(models.data?.models ?? []).map((model) => ({
      key: model.id,
      tone: 'idle' as const,
      text: <>Model {model.name ?? model.id} added</>,
      time: model.created_at,
    })),
  ]
  const latest = moments.sort((a, b) => Date.parse(b.time ?? '') - Date.parse(a.time ?? '')).slice(0, MAX_ROWS)
  return (
    <Panel title="Recent activity">
      <LoadedParts
        queries={[...(training ? [rounds, jobs] : []), ...(seesModels ? [models] : [])]}
        empty={
          <Empty title="Nothing has happened yet" command="npm run demo -- --keep">
            Run the demo to see devices train within a minute:
          </Empty>
        }
      >
        {latest.length === 0 ? null : <Timeline moments={latest} />}
      </LoadedParts>
    </Panel>
  )
}
