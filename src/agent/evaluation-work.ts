import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ApiError } from '../client/client.ts'
import { plural } from '../domain/plural.ts'
import { makeFolder } from '../platform/files/make-folder.ts'
import { isTransient } from '../sdk/retry.ts'
import { fetchModel } from './fetch-model.ts'
import { failureReasonOf, requireRoundId } from './round-folder.ts'
import type { RoundContext } from './round-work.ts'

/** Evaluates a job's last model, and reports the result or the reason for its failure. @throws like `workOnRound` */
export const workOnEvaluation = async (
  roundId: string,
  { device, trainer, roundsFolder, signal, now, log }: RoundContext,
): Promise<void> => {
  const folder = join(roundsFolder, `evaluation-${requireRoundId(roundId)}`)
  try {
    await makeFolder(folder, 0o700)
    const plan = await device.evaluationPlan(roundId, { signal })
    const globalWeights = await fetchModel(folder, (sink) => device.downloadEvaluated(plan, sink, { signal }))
    if (trainer.evaluateFinal === undefined)
      throw new Error('This device cannot evaluate: it was started without a trainer that can.')
    const timeoutMs = Math.max(0, plan.timeoutAt - now())
    const found = await trainer.evaluateFinal({ plan, globalWeights, folder, timeoutMs, signal })
    const isTaken = await device.submitEvaluation(roundId, found, { signal, until: plan.timeoutAt })
    if (isTaken) log(`Round ${plan.roundNumber}: evaluated its model on ${plural(found.numSamples, 'sample')}.`)
  } catch (error) {
    if (!isTransient(error) && !(error instanceof ApiError)) {
      const failureReason = failureReasonOf(error)
      await device.submitEvaluation(roundId, { failureReason }, { until: now() + 5000 }).catch(() => false)
    }
    throw error
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
