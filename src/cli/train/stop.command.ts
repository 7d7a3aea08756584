import type { Command } from 'commander'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'

export const define = (command: Command, session: Session): void => {
  command
    .argument('<model>', 'a model in training, by name or id, or the id of a job')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (model: string, { json, apiBase }: DataOptions) => {
      const connection = await session.signedIn({ apiBase })
      const { jobOf } = await import('./job.ts')
      const { id } = await jobOf(connection, model)
      const path = { job_id: id }
      const job = await connection.ask((client) =>
        client.POST('/api/v1/training/jobs/{job_id}/stop', { params: { path } }),
      )
      if (json) return session.out.json(job)
      session.out.line(`Stopped job ${id} after ${job.rounds_completed} of ${job.rounds} rounds.`)
    })
}
