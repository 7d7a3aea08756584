import type { Command } from 'commander'
import { wholeAboveZero } from '../options.ts'
import type { Session } from '../session.ts'
import { type ContinueOptions, continuationOptions, continueJob } from './continue-job.ts'

export const define = (command: Command, session: Session): void => {
  command
    .argument('<job>', 'a stopped or failed job, by name or id; for a model, its newest job')
    .option('--rounds <count>', 'number of additional rounds (default: the remaining ones)', wholeAboveZero)
  continuationOptions(command).action((job: string, options: ContinueOptions) =>
    continueJob(session, job, options, (job_id) => (client) => {
      const body = options.rounds === undefined ? {} : { rounds: options.rounds }
      return client.POST('/api/v1/training/jobs/{job_id}/resume', { params: { path: { job_id } }, body })
    }),
  )
}
