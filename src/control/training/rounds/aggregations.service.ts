import { randomUUID } from 'node:crypto'
import { compareIds, type Receipt } from '../../../aggregation/receipt.ts'
import type { Caller } from '../../../domain/access.ts'
import { conflict, ServiceError } from '../../../domain/errors.ts'
import { requireMayInspect } from '../../../domain/private-round.ts'
import { nextStatus } from '../../../domain/round.ts'
import type { Database } from '../../../platform/db/open.ts'
import { formatOf } from '../../../tensors/formats.ts'
import type { FilesService } from '../../catalog/files/files.service.ts'
import type { ModelsService } from '../../catalog/models/models.service.ts'
import type { ControlEventBus } from '../../events.ts'
import type { Combinations, Combined } from './combinations.service.ts'
import type { LeasesStore } from './leases.store.ts'
import type { RoundEndings } from './round-endings.service.ts'
import type { RoundsService, StoredRound } from './rounds.service.ts'
import type { RoundsStore, ScreenedUpdate } from './rounds.store.ts'
import type { DeliveredUpdate, UpdatesReport } from './updates.report.ts'
import type { StoredUpdate, UpdatesStore } from './updates.store.ts'

/** A process that is silent for so long has lost the round it was adding up. */
const LEASE_MS = 15_000
const RENEW_MS = 4000
/** A round whose aggregation was begun so often and never ended has something that kills us: give up with a reason. */
const MAX_ATTEMPTS = 5
const RETIRED_AT_ONCE = 100

type Delivered = readonly DeliveredUpdate[]

/** Turns the updates of a round that has closed its doors into a new model: once, whichever process does it. */
export const createAggregationsService = (parts: {
  readonly database: Database
  readonly store: RoundsStore
  readonly leases: LeasesStore
  readonly updates: Pick<UpdatesStore, 'release'>
  readonly updatesReport: Pick<UpdatesReport, 'of'>
  readonly combinations: Combinations
  readonly endings: RoundEndings
  readonly rounds: RoundsService
  readonly models: ModelsService
  readonly files: FilesService
  readonly log: { error(fields: object, message: string): void; info(fields: object, message: string): void }
  readonly events: ControlEventBus
  readonly now: () => Date
}) => {
  const {
    database,
    store,
    leases,
    updates,
    updatesReport,
    combinations,
    endings,
    rounds,
    models,
    files,
    log,
    events,
    now,
  } = parts
  const owner = randomUUID()

  const complete = async (
    round: StoredRound,
    delivered: Delivered,
    combined: Combined,
    screening: readonly ScreenedUpdate[] | null,
  ): Promise<boolean> => {
    const origin =
      round.globalModelId === null ? null : await models.originOf(round.globalModelId, round.globalModelVersion ?? 1)
    await files.keep(combined.output)
    for (const file of [combined.state, combined.control]) {
      if (file !== null) await (round.jobId === null ? file.discard() : files.keep(file))
    }
    const { accuracy, loss } = reportedBy(round, delivered, combined)
    return database.transaction(async (tx) => {
      const held = await leases.lockHeld(tx, round.id, owner)
      if (held === null) return false
      const model = await models.addAggregate(tx, {
        roundId: round.id,
        orgId: round.orgId,
        framework: origin?.model.framework ?? 'pytorch',
        frameworkVersion: origin?.model.frameworkVersion ?? '',
        format: origin?.version.format ?? formatIn(combined.result.format),
        accuracy,
        loss,
        description: `Aggregate of round ${round.roundNumber}: ${delivered.length} updates.`,
        file: {
          sha256: combined.output.sha256,
          size: combined.output.size,
          fileName: `round-${round.roundNumber}.${extensionOf(combined.result.format, round)}`,
        },
      })
      await store.update(tx, round.id, {
        status: nextStatus(held.status, 'complete'),
        aggregated_model_id: model.id,
        aggregated_sha256: combined.output.sha256,
        receipt: JSON.stringify(combined.receipt),
        completed_at: now(),
        ended_at: now(),
        lease_owner: null,
        lease_until: null,
        accuracy,
        loss,
        ...(screening === null ? {} : { screening: JSON.stringify(screening) }),
      })
      await endings.completed(tx, held, {
        modelId: model.id,
        loss,
        stateSha256: combined.state?.sha256 ?? null,
        controlSha256: combined.control?.sha256 ?? null,
        nextClipNorm: combined.result.privacy?.nextClipNorm ?? null,
      })
      return true
    })
  }

  const fail = (round: StoredRound, reason: string): Promise<void> =>
    database.transaction(async (tx) => {
      const held = await leases.lockHeld(tx, round.id, owner)
      if (held === null) return
      await endings.fail(tx, held, { event: 'fail', reason, told: reason })
    })

  const aggregate = async (round: StoredRound): Promise<void> => {
    if (round.attempts > MAX_ATTEMPTS) {
      await fail(round, `The aggregation was started ${MAX_ATTEMPTS} times and never came to an end.`)
      return
    }
    const renewal = setInterval(() => void renew(round.id), RENEW_MS)
    try {
      const delivered = await updatesReport.of(database.sql, round.id)
      const screening = await screen(round, delivered)
      const combined = await combinations.combine(round, delivered)
      const completed = await complete(round, delivered, combined, screening)
      log.info({ round_id: round.id, updates: delivered.length, completed }, 'round aggregated')
    } catch (error) {
      if (error instanceof ServiceError && error.code !== 'internal_error') {
        log.info({ round_id: round.id, reason: error.message }, 'round failed')
        await fail(round, error.message)
      } else {
        log.error({ round_id: round.id, err: error }, 'aggregation broke off; it will be tried again')
        await leases.release(database.sql, round.id, owner)
        throw error
      }
    } finally {
      clearInterval(renewal)
    }
  }

  /** Never in the way of the round: what cannot be screened fails, if at all, when it is added up. */
  const screen = (round: StoredRound, delivered: Delivered): Promise<ScreenedUpdate[] | null> =>
    combinations.screen(round, delivered).catch((error: unknown) => {
      if (error instanceof ServiceError) return null
      throw error
    })

  const renew = (id: string): Promise<unknown> =>
    leases
      .renew(database.sql, id, owner, new Date(now().getTime() + LEASE_MS))
      .catch((error: unknown) => log.error({ round_id: id, err: error }, 'lease could not be renewed'))

  return {
    /** Aggregates every round that waits for it and that no other process holds; returns how many there were. */
    async run(): Promise<number> {
      for (let done = 0; ; done++) {
        const at = now()
        const round = await leases.claim(database.sql, owner, at, new Date(at.getTime() + LEASE_MS))
        if (round === null) return done
        await aggregate(round)
        rounds.changes.notify('endings')
        void events.announce('round.ended', {})
      }
    },

    /** At the start of a process that alone can open its database: what the last one held is free again. */
    forgetDeadHolders: (): Promise<void> => leases.clearAll(database.sql),

    async receipt(caller: Caller, id: string): Promise<{ round: StoredRound; receipt: Receipt }> {
      const round = await rounds.get(caller, id)
      requireMayInspect(caller, round)
      const { receipt } = await store.records(database.sql, round.id)
      if (receipt === null) {
        throw conflict(`The round is ${round.status}; a receipt exists once it is completed.`)
      }
      return { round, receipt }
    },

    /** Adds the kept updates up once more and compares the bytes with the receipt. */
    async replay(caller: Caller, id: string): Promise<{ expected: string; replayed: string; matches: boolean }> {
      const { round, receipt } = await this.receipt(caller, id)
      if (round.updatesDeletedAt !== null) {
        throw conflict('The updates of this round were deleted after their retention period; it cannot be replayed.')
      }
      const { output, state, control } = await combinations.combine(
        round,
        await updatesReport.of(database.sql, round.id),
      )
      for (const file of [output, state, control]) await file?.discard()
      const matches =
        output.sha256 === receipt.output_sha256 &&
        (state?.sha256 ?? null) === (receipt.next_state_sha256 ?? null) &&
        (control?.sha256 ?? null) === (receipt.next_control_sha256 ?? null)
      return { expected: receipt.output_sha256, replayed: output.sha256, matches }
    },

    /** Lets go of the updates of rounds that ended before `before`; their files are then collected as garbage. */
    async retire(before: Date): Promise<number> {
      for (let released = 0; ; ) {
        const expired = await leases.expired(database.sql, before, RETIRED_AT_ONCE)
        for (const id of expired) {
          await database.transaction(async (tx) => {
            await updates.release(tx, id)
            await store.update(tx, id, {
              updates_deleted_at: now(),
              noise_seed: null,
              state_sha256: null,
              control_sha256: null,
            })
          })
        }
        released += expired.length
        if (expired.length < RETIRED_AT_ONCE) return released
      }
    },
  }
}

/** The format of a result that has no model to take it from. */
const formatIn = (format: Combined['result']['format']) =>
  (format === null || format === 'raw' ? undefined : formatOf(format).versions[0]) ?? 'pytorch'

/** A bare vector that was declared stays declared by its name. */
const extensionOf = (format: Combined['result']['format'], { plan }: StoredRound): string => {
  if (format === 'raw') return plan.rawVector ? 'f32' : 'bin'
  return format === null ? 'bin' : formatOf(format).extensions[0]!
}

/** Sample-weighted means of what the devices reported. No noise hides them, so that a private round tells none. */
const reportedBy = (round: StoredRound, delivered: Delivered, { totals }: Combined) => {
  if (round.privacy !== null) return { accuracy: null, loss: null }
  if (totals !== null) return { accuracy: totals.accuracy, loss: totals.loss }
  return {
    accuracy: weightedMean(delivered, (update) => update.localAccuracy),
    loss: weightedMean(delivered, (update) => update.localLoss),
  }
}

/** By user-chosen id, and where organizations have the same, by internal id: one order for one set of updates. */
const byDevice = (a: Delivered[number], b: Delivered[number]): number =>
  compareIds(a.deviceName, b.deviceName) || compareIds(a.update.deviceId, b.update.deviceId)

/** Mean over those that reported the figure, weighted by their samples; null when nobody did. */
const weightedMean = (delivered: Delivered, figure: (update: StoredUpdate) => number | null): number | null => {
  let sum = 0
  let samples = 0
  for (const { update } of [...delivered].sort(byDevice)) {
    const value = figure(update)
    if (value === null) continue
    sum += value * update.numSamples
    samples += update.numSamples
  }
  return samples === 0 ? null : sum / samples
}

export type AggregationsService = ReturnType<typeof createAggregationsService>
