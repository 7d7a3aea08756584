import type { Command } from 'commander'
import { wholeAboveZero } from '../options.ts'
import type { Session } from '../session.ts'
import { type ContinueOptions, continuationOptions, goOn } from './go-on.ts'

export const define = (command: Command, session: Session): void => {
  command
    .argument('<job>', 'a stopped or failed job, by id or name, or the newest of a model')
    .option('--rounds <count>', 'number of rounds after the completed ones (default: those left)', wholeAboveZero)
  continuationOptions(command).action((job: string, options: ContinueOptions) =>
    goOn(session, job, options, (job_id) => (client) => {
      const body = options.rounds === undefined ? {} : { rounds: options.rounds }
      return client.POST('/api/v1/training/jobs/{job_id}/resume', { params: { path: { job_id } }, body })
    }),
  )
}
