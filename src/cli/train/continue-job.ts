import type { Command } from 'commander'
import type { Connection } from '../connection.ts'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'

export interface ContinueOptions extends DataOptions {
  readonly rounds?: number
  readonly follow?: true
}

/** Options shared by `resume` and `extend`. */
export const continuationOptions = (command: Command): Command =>
  command.option('--follow', 'follow the rounds until the job ends').addOption(jsonOption()).addOption(apiBaseOption())

type Ask = Parameters<Connection['ask']>[0]

/** Continues a job and prints its new state. */
export const continueJob = async (
  session: Session,
  modelOrJob: string,
  { json, apiBase, follow: following }: ContinueOptions,
  send: (jobId: string) => Ask,
): Promise<void> => {
  const { out } = session
  const connection = await session.signedIn({ apiBase })
  const { jobById, jobOf, resultOf, roundsOf } = await import('./job.ts')
  const { id } = await jobOf(connection, modelOrJob)
  await connection.ask(send(id))
  const job = await jobById(connection, id)
  if (json && !following) return out.json(job)
  const state = job.optimizer_state === 'kept' ? ', with its optimizer state' : ''
  const says = `Job ${id} continues after ${roundsOf(job.rounds_completed)}, until ${roundsOf(job.rounds)} ${job.rounds === 1 ? 'is' : 'are'} completed${state}.`
  if (!following) {
    out.line(says)
    return out.note(`Watch it with: svc train status ${id} --follow`)
  }
  out.note(says)
  const { follow } = await import('./follow.ts')
  const done = await follow(session, connection, id)
  if (json) return out.json(done)
  out.line(`Completed: ${done.reason} ${resultOf(done, modelOrJob)}`)
}
