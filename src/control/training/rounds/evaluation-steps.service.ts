import type { Caller } from '../../../domain/access.ts'
import { conflict } from '../../../domain/errors.ts'
import { type MetricReport, summarizeEvaluation } from '../../../domain/metrics.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { ModelsService, StoredVersion } from '../../catalog/models/models.service.ts'
import type { Context } from '../../context.ts'
import { forEach, runDue } from '../../periodic-tasks.ts'
import { singleFlight } from '../../single-flight.ts'
import { evaluationsStore } from './evaluations.store.ts'
import { factsOf } from './round-endings.service.ts'
import { roundsReport } from './rounds.report.ts'
import type { RoundsService } from './rounds.service.ts'
import { roundsStore, type StoredRound } from './rounds.store.ts'

/**
 * Evaluates the model of a job's last round, which has no next round to do so: asks the devices that offered it with their
 * updates, with a deadline.
 */
export const createEvaluationSteps = (
  { database, events, now }: Context,
  {
    rounds,
    models,
  }: {
    readonly rounds: Pick<RoundsService, 'get'>
    readonly models: Pick<ModelsService, 'originOf'>
  },
) => {
  // All devices of an evaluation request the same version at once.
  const handedOut = singleFlight<StoredVersion>(16)

  const keepReported = async (tx: Executor, { id, plan }: StoredRound): Promise<void> =>
    evaluationsStore.close(tx, id, summarizeEvaluation(await evaluationsStore.reports(tx, id), plan.goal))

  const close = async (tx: Executor, round: StoredRound): Promise<void> => {
    await keepReported(tx, round)
    await events.publish(tx, 'round.evaluated', factsOf(round))
  }

  /** Ends evaluations that no longer wait for a device. Called by a timer and after each report. */
  const tick = async (): Promise<void> => {
    const due = await roundsReport.evaluationsDue(database.sql, now())
    await forEach(due, end)
  }

  const end = (id: string): Promise<void> =>
    database.transaction(async (tx) => {
      const round = await roundsStore.lock(tx, id)
      if (round === null || round.evaluationUntil === null) return
      if (!(await roundsReport.evaluationsDue(tx, now())).includes(id)) return
      await close(tx, round)
    })

  /** The round and the device, which must have been asked. @throws conflict with the reason if no answer is expected */
  const requireEvaluator = async (caller: Caller, id: string): Promise<{ round: StoredRound; deviceId: string }> => {
    const round = await rounds.get(caller, id)
    const deviceId = caller.deviceId
    const state = deviceId === null ? null : await evaluationsStore.stateOf(database.sql, round.id, deviceId)
    if (deviceId === null || state === null) {
      throw conflict("This key's device is not asked to evaluate the model of the round.")
    }
    if (state === 'asked' && round.evaluationUntil !== null) return { round, deviceId }
    throw conflict(
      state === 'reported'
        ? 'This device has already reported its evaluation; the first one counts.'
        : state === 'failed'
          ? 'This device has already reported that it cannot evaluate the model.'
          : 'The evaluation is over.',
    )
  }

  const plan = async (caller: Caller, id: string) => {
    const { round } = await requireEvaluator(caller, id)
    const model = round.aggregatedModelId!
    const version = await handedOut(model, async () => (await models.originOf(model, 1))?.version ?? null)
    if (version === null) throw conflict('The model of the round was deleted.')
    return { round, version, until: round.evaluationUntil! }
  }

  return {
    tick,
    plan,

    /** Runs in the transaction that completes the job's last round. Null if no device has offered to evaluate. */
    async ask(tx: Executor, roundId: string, seconds: number): Promise<{ devices: number; until: Date } | null> {
      const until = new Date(now().getTime() + seconds * 1000)
      const devices = await evaluationsStore.ask(tx, roundId, now(), until)
      if (devices === 0) return null
      await events.publish(tx, 'evaluation.opened', { roundId })
      return { devices, until }
    },

    /**
     * Ends the evaluation of the locked round, if one is open, in the transaction that ends its job for another reason. Counts
     * what was reported.
     */
    async closeNow(tx: Executor, round: StoredRound): Promise<void> {
      if (round.evaluationUntil !== null) await keepReported(tx, round)
    },

    /** Records a device's evaluation, or why it could not evaluate. */
    async record(
      caller: Caller,
      id: string,
      outcome: { readonly report: MetricReport } | { readonly reason: string },
    ): Promise<void> {
      const { round, deviceId } = await requireEvaluator(caller, id)
      const isTaken = await database.transaction(async (tx) => {
        // Ending the evaluation counts the reports that exist when it locks the round.
        const held = await roundsStore.lock(tx, round.id)
        if (held === null || held.evaluationUntil === null) return false
        return evaluationsStore.record(tx, { roundId: round.id, deviceId }, outcome, now())
      })
      if (!isTaken) throw conflict('The evaluation is over.')
      await runDue(tick)
    },
  }
}

export type EvaluationSteps = ReturnType<typeof createEvaluationSteps>
