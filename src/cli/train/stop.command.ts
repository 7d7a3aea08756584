import type { Command } from 'commander'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'

export const define = (command: Command, session: Session): void => {
  command
    .argument('<model>', 'a job, by name or id; for a model, its newest job that has not ended')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (model: string, { json, apiBase }: DataOptions) => {
      const connection = await session.signedIn({ apiBase })
      const { hasEnded, jobOf } = await import('./job.ts')
      const { id } = await jobOf(connection, model, (job) => !hasEnded(job))
      const path = { job_id: id }
      const job = await connection.ask((client) =>
        client.POST('/api/v1/training/jobs/{job_id}/stop', { params: { path } }),
      )
      if (json) return session.out.json(job)
      session.out.line(`Stopped job ${id} after ${job.rounds_completed} of ${job.rounds} rounds.`)
    })
}
