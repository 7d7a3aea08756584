import type { Connection } from '../connection.ts'

const AT_ONCE = 1000

const page = (connection: Connection, job_id: string, offset: number) =>
  connection.ask((client) =>
    client.GET('/api/v1/training/jobs/{job_id}/rounds', {
      params: { path: { job_id }, query: { limit: AT_ONCE, offset } },
    }),
  )

export type Round = Awaited<ReturnType<typeof page>>['rounds'][number]

/** Returns all rounds of a job, oldest first. */
export const allRounds = async (connection: Connection, jobId: string): Promise<readonly Round[]> => {
  const rounds = new Map<string, Round>()
  for (let offset = 0; ; offset += AT_ONCE) {
    const { rounds: found, total } = await page(connection, jobId, offset)
    for (const round of found) rounds.set(round.id, round)
    if (offset + AT_ONCE >= total) break
  }
  return [...rounds.values()].sort((one, other) => one.round_number - other.round_number)
}
