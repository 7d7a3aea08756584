import type { Command } from 'commander'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'

export const define = (command: Command, session: Session): void => {
  command
    .argument('<model>', 'a trained model, by name or id, or the id of a job')
    .option('--follow', 'follow the rounds until the job ends')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (model: string, { json, apiBase, follow: following }: DataOptions & { readonly follow?: true }) => {
      const connection = await session.signedIn({ apiBase })
      const { jobOf, printJob } = await import('./job.ts')
      let job = await jobOf(session, connection, model)
      if (following) {
        const { follow } = await import('./follow.ts')
        job = await follow(session, connection, job.id, json === true)
        if (json) return
      }
      if (json) return session.out.json(job)
      printJob(session.out, job)
    })
}
