import type { RoundResults } from '../../catalog/models/round-results.service.ts'
import type { Context } from '../../context.ts'
import type { VisibleRounds } from '../../training/rounds/visible-rounds.service.ts'
import { deliveriesStore, type LeasedIntegration } from './deliveries.store.ts'
import { integrationWork } from './integration-work.report.ts'
import type { StoredIntegration } from './integrations.store.ts'
import type { LogEvent, Receiver } from './log-messages.ts'
import { createMlflow, type DueSubject, type MeasuredRound } from './mlflow.ts'
import { failed, type Message, type Outcome, outcomeOf, reasonOf, Unsuccessful } from './send.ts'

const RUNS_AT_ONCE = 10
const ROUNDS_AT_ONCE = 100
/** Updates of later rounds evaluate a round, so this many rounds are read again. */
const EVALUATED_LATER = 10

/**
 * How much earlier than it was committed a round may have ended: clocks of several processes differ. So often, all are compared
 * again: a clock may have been wrong for longer, and older rounds may get an organization.
 */
const HOUR_MS = 60 * 60 * 1000

const TAKEN: Outcome = { ...failed(''), ok: true }

type Send = (message: Message) => Promise<Outcome>

/** Training jobs, and rounds without one, as runs of a tracking server. Continues a run, wherever a process was killed. */
export const createTrainingRuns = (
  { database, now }: Context,
  {
    roundResults,
    visibleRounds,
  }: {
    readonly roundResults: Pick<RoundResults, 'publishedBy'>
    readonly visibleRounds: Pick<VisibleRounds, 'ofOrg'>
  },
) => {
  /** Returns the page without figures of other organizations' devices that the organization may not see. */
  const visibleTo = async (orgId: string | null, page: readonly MeasuredRound[]): Promise<MeasuredRound[]> => {
    const shown = await visibleRounds.ofOrg(
      orgId,
      page.map(({ id }) => id),
    )
    return page.map((round) => {
      const { loss = null, accuracy = null, metrics = null, evaluation = null } = shown.get(round.id) ?? {}
      return { ...round, loss, accuracy, metrics, evaluation }
    })
  }

  const bring = async (receiver: Receiver, due: DueSubject, send: Send): Promise<void> => {
    const subject = await integrationWork.subject(database.sql, due)
    if (subject === null) return
    const mlflow = createMlflow(receiver, send)
    const stored = await deliveriesStore.run(database.sql, receiver.id, due.id)
    const known = stored.runId === null ? null : await mlflow.find(stored.runId)
    const runId = known === null ? await mlflow.runOf(due, subject) : known.info.run_id
    if (runId !== stored.runId) await deliveriesStore.setRun(database.sql, receiver.id, due.id, { runId })
    const run = known ?? (await mlflow.find(runId))
    if (run === null) throw new Unsuccessful(failed(`The run ${runId} was deleted in the meantime.`))
    // A person who deletes a run does not want it back.
    if (run.info.lifecycle_stage !== 'deleted') {
      const reached = Math.max(0, ...(run.data?.metrics ?? []).map(({ step }) => Number(step ?? 0)))
      let last: MeasuredRound | undefined
      for (let page: MeasuredRound[]; ; ) {
        const from = last?.number ?? reached - EVALUATED_LATER
        page = await integrationWork.rounds(database.sql, due, from, ROUNDS_AT_ONCE)
        await mlflow.logMetrics(run, await visibleTo(subject.orgId, page))
        last = page.at(-1) ?? last
        if (page.length < ROUNDS_AT_ONCE) break
      }
      const versions = due.kind === 'job' ? await roundResults.publishedBy(due.id) : []
      const published = versions.map(({ modelId, version }) => `${modelId}@${version}`).join(' ')
      await mlflow.describe(run, subject, { due, last, published })
    }
    await deliveriesStore.setRun(database.sql, receiver.id, due.id, { sent: due.progress })
  }

  const deliver = (receiver: Receiver, due: DueSubject, send: Send): Promise<Outcome> =>
    bring(receiver, due, send).then((): Outcome => TAKEN, outcomeOf)

  /** All that ended earlier is delivered; null if this is unknown. */
  let endedAfter: Date | null = null
  let allComparedAt = 0

  return {
    /** Returns the integrations that have audit log entries or runs to deliver. Rarely reads runs that ended long ago. */
    async withWork(): Promise<readonly string[]> {
      const at = now().getTime()
      if (Math.abs(at - allComparedAt) >= HOUR_MS) endedAfter = null
      const { ids, firstEnded } = await integrationWork.withWork(database.sql, endedAfter)
      if (endedAfter === null) allComparedAt = at
      endedAfter = new Date(Math.min(firstEnded?.getTime() ?? at, at) - HOUR_MS)
      return ids
    },

    /**
     * Updates the runs of the jobs and rounds that are behind. One that the receiver rejects permanently is set aside, so
     * that the others continue; any other failure ends it.
     */
    async deliverDue(integration: LeasedIntegration, receiver: Receiver, send: Send): Promise<Outcome> {
      const { id } = integration
      for (const due of await integrationWork.due(database.sql, id, RUNS_AT_ONCE, endedAfter)) {
        const outcome = await deliver(receiver, due, send)
        if (outcome.ok) continue
        if (!outcome.isFinal) return outcome
        const letter = { event: runEvent(integration, due, now()), place: null, reason: reasonOf(outcome), now: now() }
        await database.transaction(async (tx) => {
          if (await deliveriesStore.setAside(tx, integration, letter))
            await deliveriesStore.setRun(tx, id, due.id, { sent: due.progress })
        })
        // Setting it aside released the lease.
        return TAKEN
      }
      return TAKEN
    },

    /** Updates the run of one job or round, behind or not. */
    async deliver(receiver: Receiver, subjectId: string, send: Send): Promise<Outcome> {
      const due = await integrationWork.dueOf(database.sql, subjectId)
      return due === null ? TAKEN : deliver(receiver, due, send)
    },

    test: (receiver: Receiver, send: Send): Promise<Outcome> =>
      createMlflow(receiver, send).test(now()).catch(outcomeOf),
  }
}

const runEvent = ({ orgId }: StoredIntegration, { kind, id }: DueSubject, now: Date): LogEvent => ({
  id: `run-${id}`,
  type: 'training.run',
  org_id: orgId,
  subject: { kind, id },
  payload: {},
  time: now.toISOString(),
})

export type TrainingRuns = ReturnType<typeof createTrainingRuns>
