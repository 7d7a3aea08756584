import { Option } from 'commander'
import { plural } from '../../domain/plural.ts'
import type { CommandFile } from '../command.ts'
import { apiBaseOption, type DataOptions, jsonOption, wholeAboveZero } from '../options.ts'
import type { Session } from '../session.ts'

interface ContinueOptions extends DataOptions {
  readonly rounds?: number
  readonly follow?: true
}

type Continuation = 'resume' | 'extend'

/** Continues a job and prints its new state. */
const continueJob = async (
  session: Session,
  how: Continuation,
  modelOrJob: string,
  { json, apiBase, follow: following, rounds }: ContinueOptions,
): Promise<void> => {
  const { out } = session
  const connection = await session.signedIn({ apiBase })
  const { jobById, jobOf } = await import('./job.ts')
  const { id } = await jobOf(session, connection, modelOrJob)
  const params = { path: { job_id: id } }
  await connection.request((client) =>
    how === 'extend'
      ? client.POST('/api/v1/training/jobs/{job_id}/extend', { params, body: { rounds: rounds! } })
      : client.POST('/api/v1/training/jobs/{job_id}/resume', { params, body: rounds === undefined ? {} : { rounds } }),
  )
  const job = await jobById(connection, id)
  if (json && !following) return out.json(job)
  const state = job.optimizer_state === 'kept' ? ', with its optimizer state' : ''
  const says = `Job ${id} continues after ${plural(job.rounds_completed, 'round')}, until ${plural(job.rounds, 'round')} ${job.rounds === 1 ? 'is' : 'are'} completed${state}.`
  if (!following) {
    out.line(says)
    return out.note(`Watch it with: svc train status ${id} --follow`)
  }
  out.note(says)
  const { followToResult } = await import('./follow.ts')
  await followToResult(session, connection, id, json === true)
}

const continuation = (how: Continuation, jobs: string, rounds: string): CommandFile => ({
  define: (command, session) => {
    command
      .argument('<job>', `${jobs} job, by name or id; for a model, its newest job`)
      .addOption(new Option('--rounds <count>', rounds).argParser(wholeAboveZero).makeOptionMandatory(how === 'extend'))
      .option('--follow', 'follow the rounds until the job ends')
      .addOption(jsonOption())
      .addOption(apiBaseOption())
      .action((job: string, options: ContinueOptions) => continueJob(session, how, job, options))
  },
})

export const resume = continuation(
  'resume',
  'a stopped or failed',
  'number of additional rounds (default: the remaining ones)',
)
export const extend = continuation('extend', 'a completed', 'number of additional rounds')
