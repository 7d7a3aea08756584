import type { Command } from 'commander'
import { Option } from 'commander'
import { wholeAboveZero } from '../options.ts'
import type { Session } from '../session.ts'
import { type ContinueOptions, continuationOptions, continueJob } from './continue-job.ts'

export const define = (command: Command, session: Session): void => {
  command
    .argument('<job>', 'a completed job, by name or id; for a model, its newest job')
    .addOption(
      new Option('--rounds <count>', 'number of additional rounds').argParser(wholeAboveZero).makeOptionMandatory(),
    )
  continuationOptions(command).action((job: string, options: ContinueOptions & { readonly rounds: number }) =>
    continueJob(session, job, options, (job_id) => (client) => {
      const body = { rounds: options.rounds }
      return client.POST('/api/v1/training/jobs/{job_id}/extend', { params: { path: { job_id } }, body })
    }),
  )
}
