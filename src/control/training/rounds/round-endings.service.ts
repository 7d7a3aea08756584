import { compareIds } from '../../../aggregation/receipt.ts'
import { NOT_DELIVERED, NOT_NEEDED, NOT_RUNNING } from '../../../domain/failure-reasons.ts'
import { type MetricReport, summarizeEvaluation, summarizeMetrics, weightedMean } from '../../../domain/metrics.ts'
import { plural } from '../../../domain/plural.ts'
import { dueAt, nextStatus } from '../../../domain/round.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { formatOf } from '../../../tensors/detect.ts'
import type { FilesService } from '../../catalog/files/files.service.ts'
import type { ModelsService } from '../../catalog/models/models.service.ts'
import type { RoundResults } from '../../catalog/models/round-results.service.ts'
import type { Context } from '../../context.ts'
import type { RoundFacts } from '../../events.ts'
import { evaluationsStore } from './evaluations.store.ts'
import { participantsStore } from './participants.store.ts'
import type { RoundAggregate } from './round-aggregation.service.ts'
import { roundsStore, type ScreenedUpdate, type StoredRound } from './rounds.store.ts'
import type { DeliveredUpdate } from './updates.report.ts'
import type { StoredUpdate } from './updates.store.ts'
import type { VisibleRounds } from './visible-rounds.service.ts'

/** Another process ends a due round within a second. */
const ENDED_WITHIN_MS = 5000

type Delivered = readonly DeliveredUpdate[]

/** The outcome of aggregating a round's updates. */
interface Aggregated {
  readonly delivered: Delivered
  readonly aggregate: RoundAggregate
  readonly screened: readonly ScreenedUpdate[] | null
}

interface Parts {
  readonly models: Pick<ModelsService, 'originOf'>
  readonly roundResults: Pick<RoundResults, 'addAggregate'>
  readonly files: Pick<FilesService, 'keep'>
  readonly visibleRounds: Pick<VisibleRounds, 'cataloged'>
}

const createCompletion = (
  { database, events, now }: Context,
  { models, roundResults, files, visibleRounds }: Parts,
) => {
  /** Updates evaluate the model that they began from, which in an asynchronous job may belong to an earlier round. */
  const keepEvaluations = async (tx: Executor, round: StoredRound, delivered: Delivered): Promise<void> => {
    const evaluating = delivered.filter(({ update }) => update.evaluation !== null)
    const ids = [...new Set(evaluating.map(({ update }) => update.baseRoundId ?? round.id))]
    for (const base of await roundsStore.findAll(tx, ids)) {
      const evaluation = summarizeEvaluation(await evaluationsStore.broughtTo(tx, base.id), base.plan.goal)
      if (evaluation !== null) await evaluationsStore.keep(tx, base, evaluation)
    }
  }

  /**
   * Adds the aggregated model to the catalog and completes the round, in one transaction. Returns false, without changing the
   * round, if `owner` has lost its lease.
   */
  return async (owner: string, round: StoredRound, aggregated: Aggregated): Promise<boolean> => {
    const { delivered, aggregate, screened } = aggregated
    const origin =
      round.globalModelId === null ? null : await models.originOf(round.globalModelId, round.globalModelVersion ?? 1)
    await files.keep(aggregate.output)
    for (const file of [aggregate.state, aggregate.control]) {
      if (file !== null) await (round.jobId === null ? file.discard() : files.keep(file))
    }
    const { accuracy, loss } = reportedBy(round, delivered, aggregate)
    const isPublic = round.privacy === null && aggregate.totals === null
    const metrics = isPublic ? summarizeMetrics([...delivered].sort(byDevice).map(reportOf), round.plan.goal) : {}
    return database.transaction(async (tx) => {
      const held = await roundsStore.lockHeld(tx, round.id, owner)
      if (held === null) return false
      const figures = { accuracy, loss, metrics, completedDevices: delivered.length }
      const [cataloged] = await visibleRounds.cataloged(tx, [{ ...held, ...figures }])
      const model = await roundResults.addAggregate(tx, {
        roundId: round.id,
        roundNumber: round.roundNumber,
        origin,
        format: formatIn(aggregate.result.format),
        orgId: round.orgId,
        accuracy: cataloged!.accuracy,
        loss: cataloged!.loss,
        description: `Aggregate of round ${round.roundNumber}: ${plural(delivered.length, 'update')}.`,
        file: {
          sha256: aggregate.output.sha256,
          size: aggregate.output.size,
          fileName: `round-${round.roundNumber}.${extensionOf(aggregate.result.format, round)}`,
        },
      })
      await roundsStore.update(tx, round.id, {
        status: nextStatus(held.status, 'complete'),
        aggregated_model_id: model.id,
        aggregated_sha256: aggregate.output.sha256,
        receipt: JSON.stringify(aggregate.receipt),
        completed_at: now(),
        ended_at: now(),
        lease_owner: null,
        lease_until: null,
        accuracy,
        loss,
        ...(Object.keys(metrics).length === 0 ? {} : { metrics: JSON.stringify(metrics) }),
        ...(screened === null ? {} : { screening: JSON.stringify(screened) }),
      })
      await keepEvaluations(tx, held, delivered)
      await events.publish(tx, 'round.completed', {
        ...factsOf(held),
        modelId: model.id,
        loss: cataloged!.loss,
        stateSha256: aggregate.state?.sha256 ?? null,
        controlSha256: aggregate.control?.sha256 ?? null,
        nextClipNorm: aggregate.result.privacy?.nextClipNorm ?? null,
      })
      return true
    })
  }
}

/** Ends rounds. Other modules react to the published events, in the same transaction. */
export const createRoundEndings = (context: Context, parts: Parts) => {
  const { events, now } = context
  let startedAt = now().getTime()

  /** True if no process was running when the round's time ran out: its devices could not submit (docs/decisions/0201). */
  const wasStopped = (round: StoredRound): boolean => {
    // The clock may have been ahead at the start.
    startedAt = Math.min(startedAt, now().getTime())
    return startedAt - dueAt(round).getTime() > ENDED_WITHIN_MS
  }

  // Devices of an asynchronous job continue from round to round; when the job ends, their part in its latest round ends too.
  events.inTransaction('job.changed', async (tx, job) => {
    if (job.ended === null) return
    const latest = await roundsStore.latestOfJob(tx, job.id)
    if (!latest?.plan.asynchronous) return
    await participantsStore.failTheRest(tx, latest.id, { reason: job.ended, missed: false }, now())
  })

  return {
    wasStopped,

    /**
     * Makes the locked round stop accepting updates. Devices that have not delivered have failed; in an asynchronous job they
     * deliver to a later round. Nothing is wrong with devices that over-selection cuts off, or that could not submit.
     */
    async collect(tx: Executor, round: StoredRound): Promise<void> {
      const isFull = round.wantedUpdates !== null && round.completedDevices >= round.wantedUpdates
      const isDown = wasStopped(round)
      const reason = isFull ? NOT_NEEDED : isDown ? NOT_RUNNING : NOT_DELIVERED
      const why = { reason, missed: round.privacy === null && !isFull && !isDown }
      const failed = round.plan.asynchronous
        ? round.failedDevices
        : await participantsStore.failTheRest(tx, round.id, why, now())
      await roundsStore.update(tx, round.id, { status: nextStatus(round.status, 'collect'), failed_devices: failed })
      await events.publish(tx, 'round.collected', factsOf(round))
    },

    complete: createCompletion(context, parts),

    /**
     * Fails the locked round. Devices that still train get `reported` as their reason, except in an asynchronous job: they
     * continue with its next round until the job itself ends.
     */
    async fail(
      tx: Executor,
      round: StoredRound,
      why: {
        readonly event: 'time_out' | 'fail'
        readonly reason: string
        readonly reported: string
        readonly cancelled?: true
      },
    ): Promise<void> {
      const missed = why.event === 'time_out' && round.privacy === null && !wasStopped(round)
      const failed = round.plan.asynchronous
        ? round.failedDevices
        : await participantsStore.failTheRest(tx, round.id, { reason: why.reported, missed }, now())
      await roundsStore.update(tx, round.id, {
        status: nextStatus(round.status, why.event),
        failed_devices: failed,
        failure_reason: why.reason,
        ended_at: now(),
        lease_owner: null,
        lease_until: null,
      })
      const { reason, cancelled = false } = why
      await events.publish(tx, 'round.failed', { ...factsOf(round), reason, cancelled })
    },
  }
}

/** The format of a result without a model to take it from. */
const formatIn = (format: RoundAggregate['result']['format']) =>
  (format === null ? undefined : formatOf(format).versions[0]) ?? 'pytorch'

/** A result of declared raw vectors keeps a file extension that declares it. */
const extensionOf = (format: RoundAggregate['result']['format'], { plan }: StoredRound): string => {
  if (format === 'raw') return plan.rawVector ? 'f32' : 'bin'
  return format === null ? 'bin' : formatOf(format).extensions[0]!
}

/** Sample-weighted means of what the devices reported. They contain no noise, so private rounds publish none. */
const reportedBy = (round: StoredRound, delivered: Delivered, { totals }: RoundAggregate) => {
  if (round.privacy !== null) return { accuracy: null, loss: null }
  if (totals !== null) return { accuracy: totals.accuracy, loss: totals.loss }
  return {
    accuracy: meanOf(delivered, (update) => update.localAccuracy),
    loss: meanOf(delivered, (update) => update.localLoss),
  }
}

/** A device's metrics for the model that it trained, including loss and accuracy. */
const reportOf = ({ update }: DeliveredUpdate): MetricReport => ({
  numSamples: update.numSamples,
  metrics: {
    ...update.metrics,
    ...(update.localLoss === null ? {} : { loss: update.localLoss }),
    ...(update.localAccuracy === null ? {} : { accuracy: update.localAccuracy }),
  },
})

/** Sorts by user-chosen id, then by internal id, so that the same updates always have the same order. */
const byDevice = (a: Delivered[number], b: Delivered[number]): number =>
  compareIds(a.deviceName, b.deviceName) || compareIds(a.update.deviceId, b.update.deviceId)

/** Mean over the updates that reported the figure, weighted by samples; null if none did. */
const meanOf = (delivered: Delivered, figure: (update: StoredUpdate) => number | null): number | null =>
  weightedMean(
    [...delivered].sort(byDevice).flatMap(({ update }) => {
      const value = figure(update)
      return value === null ? [] : [{ value, numSamples: update.numSamples }]
    }),
  )

export const factsOf = (round: StoredRound): RoundFacts => ({
  id: round.id,
  orgId: round.orgId,
  jobId: round.jobId,
  federationId: round.federationId,
  roundNumber: round.roundNumber,
  isPrivate: round.privacy !== null,
  isSecure: round.plan.secure !== undefined,
})

export type RoundEndings = ReturnType<typeof createRoundEndings>
