import type { Connection } from '../connection.ts'
import { Failure } from '../failure.ts'
import { waitForNextPoll, withRetries } from '../polling.ts'
import { timeWords } from '../resources/cells.ts'
import type { Session } from '../session.ts'
import { evaluationLine, type JobDetail, jobById, placesOf, resultOf, roundLine } from './job.ts'

/** After the first minute, several commands can follow jobs within a key's limit of 100 requests per minute. */
const FAST_POLL_INTERVAL_MS = 1000
const SLOW_POLL_INTERVAL_MS = 5000
const FAST_POLL_PERIOD_MS = 60_000
const WIDTH = 24
const OVER = ['completed', 'failed']

const barOf = (job: JobDetail): string => {
  const filled = Math.round((WIDTH * job.rounds_completed) / job.rounds)
  const now = job.history.at(-1)
  const doing =
    now?.status === 'active'
      ? `round ${job.rounds_completed + 1}: ${now.completed_devices} updates`
      : job.waiting_until !== null
        ? 'waiting for devices'
        : (now?.status ?? 'waiting')
  return `${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)} ${job.rounds_completed}/${job.rounds} ${doing}`
}

const waitingNote = ({ waiting_for, waiting_until }: JobDetail): string =>
  waiting_until === null ? `${waiting_for}` : `${waiting_for} It waits until ${timeWords(waiting_until)} UTC.`

/**
 * Prints each round as it ends and what the job waits for, with a progress bar on a terminal, until the job has ended. Ctrl-C does
 * not stop the job. Survives a restart of the service. With `json`, prints the ended job to stdout and the rounds to stderr.
 * @throws Failure with the job's reason if the job did not complete
 */
export const follow = async (
  session: Session,
  connection: Connection,
  id: string,
  json: boolean,
): Promise<JobDetail> => {
  const { io, out } = session
  const isTerminal = io.stderr.isTTY === true
  let shown = 0
  const clear = () => isTerminal && io.stderr.write(`\r${' '.repeat(shown)}\r`)
  const note = (text: string): void => {
    clear()
    out.note(text)
  }
  const line = json ? note : out.line
  const clearing: Session = { ...session, out: { ...out, note } }
  const reported = new Set<string>()
  const evaluated = new Set<string>()
  let waitingFor: string | null = null
  const began = performance.now()
  const continuationNote = `The job continues. Watch it with: svc train status ${id} --follow`
  for (;;) {
    const job = await withRetries(clearing, () => jobById(connection, id), continuationNote)
    clear()
    const places = placesOf(job)
    for (const [index, round] of job.history.entries()) {
      if (!OVER.includes(round.status) || reported.has(round.round_id)) continue
      reported.add(round.round_id)
      line(roundLine(round, places[index]!, job.rounds))
    }
    for (const [index, round] of job.history.entries()) {
      const evaluation = evaluated.has(round.round_id) ? null : evaluationLine(round, places[index]!)
      if (evaluation === null) continue
      evaluated.add(round.round_id)
      line(evaluation)
    }
    if (job.ended_by !== null) {
      if (json) out.json(job)
      if (job.status === 'completed') return job
      throw new Failure(`The job ${job.status === 'stopped' ? 'was stopped' : 'failed'}: ${job.reason}`)
    }
    if (job.waiting_for !== waitingFor && job.waiting_for !== null) note(waitingNote(job))
    waitingFor = job.waiting_for
    if (isTerminal) {
      const bar = barOf(job)
      shown = [...bar].length
      io.stderr.write(bar)
    }
    const intervalMs = performance.now() - began < FAST_POLL_PERIOD_MS ? FAST_POLL_INTERVAL_MS : SLOW_POLL_INTERVAL_MS
    await waitForNextPoll(clearing, intervalMs, continuationNote)
  }
}

/** Follows a job, then prints its result. */
export const followToResult = async (session: Session, connection: Connection, id: string, json: boolean) => {
  const { out } = session
  const job = await follow(session, connection, id, json)
  if (!json) out.line(`Completed: ${job.reason} ${await resultOf(connection, job)}`)
}
