import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ApiError } from '../client/client.ts'
import { plural } from '../domain/plural.ts'
import { makeFolder } from '../platform/files/make-folder.ts'
import { openFileSink } from '../platform/transfer/file-sink.ts'
import { isTransient } from '../sdk/retry.ts'
import { failureReasonOf, PARTIAL, requireRoundId } from './round-folder.ts'
import type { RoundContext } from './round-work.ts'
import { extensionByContent } from './weight-file-extension.ts'

/** Evaluates a job's last model, and reports the result or the reason for its failure. @throws like `workOnRound` */
export const workOnEvaluation = async (
  roundId: string,
  { device, trainer, roundsFolder, signal, now, log }: RoundContext,
): Promise<void> => {
  const folder = join(roundsFolder, `evaluation-${requireRoundId(roundId)}`)
  try {
    await makeFolder(folder, 0o700)
    const plan = await device.evaluationPlan(roundId, { signal })
    const partial = join(folder, PARTIAL)
    const sink = await openFileSink(partial)
    try {
      await device.downloadEvaluated(plan, sink, { signal })
    } finally {
      await sink.close()
    }
    const globalWeights = join(folder, `global${extensionByContent(partial)}`)
    await rename(partial, globalWeights)
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
