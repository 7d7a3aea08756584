import { sql } from 'kysely'
import type { Executor } from '../../../platform/db/open.ts'
import type { Contribution } from '../../federations/members.service.ts'

interface ContributionRow {
  org_id: string
  rounds: number
  samples: number
  accuracy: number | null
  loss: number | null
  last_at: Date
}

/** What the devices of each organization contributed to the federation's completed rounds. Private rounds are left out. */
export const contributionsTo = async (db: Executor, federationId: string): Promise<Map<string, Contribution>> => {
  const { rows } = await sql<ContributionRow>`
    select d.org_id, count(distinct u.round_id) as rounds, least(sum(u.num_samples), ${Number.MAX_SAFE_INTEGER}) as samples,
      sum(u.local_accuracy * u.num_samples) / nullif(sum(u.num_samples) filter (where u.local_accuracy is not null), 0)
        as accuracy,
      sum(u.local_loss * u.num_samples) / nullif(sum(u.num_samples) filter (where u.local_loss is not null), 0) as loss,
      max(u.created_at) as last_at
    from rounds r join updates u on u.round_id = r.id join devices d on d.id = u.device_id
    where r.federation_id = ${federationId} and r.status = 'completed' and d.org_id is not null
      -- Of private rounds before version 1.1 this has been shown.
      and coalesce(r.privacy->>'sampling', '') = ''
    group by d.org_id`.execute(db)
  return new Map(
    rows.map((row) => [
      row.org_id,
      {
        roundsContributed: row.rounds,
        totalSamples: row.samples,
        avgAccuracy: row.accuracy,
        avgLoss: row.loss,
        lastContributionAt: row.last_at,
      },
    ]),
  )
}
