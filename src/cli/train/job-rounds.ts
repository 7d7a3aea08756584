import type { operations } from '../../client/api.gen.ts'
import type { Connection } from '../connection.ts'
import { MAX_PAGE, readPages } from '../resources/requests.ts'

export type Round =
  operations['listTrainingJobRounds']['responses'][200]['content']['application/json']['rounds'][number]

/** Returns all rounds of a job, oldest first. */
export const allRounds = async (connection: Connection, job_id: string): Promise<readonly Round[]> => {
  const { rows } = await readPages(
    (query) =>
      connection.request((client) =>
        client.GET('/api/v1/training/jobs/{job_id}/rounds', { params: { path: { job_id }, query } }),
      ),
    ({ rounds }) => rounds,
    { pageSize: MAX_PAGE },
  )
  // A round that starts while pages are read shifts the others.
  const rounds = new Map(rows.map((round) => [round.id, round]))
  return [...rounds.values()].sort((one, other) => one.round_number - other.round_number)
}
