import type { Caller } from '../../../domain/access.ts'
import { conflict } from '../../../domain/errors.ts'
import type { MetricReport, Metrics } from '../../../domain/metrics.ts'
import { requireMayInspect } from '../../../domain/private-round.ts'
import { dueEvent } from '../../../domain/round.ts'
import type { StagedBlob } from '../../../platform/blobs/blob-store.ts'
import type { Database } from '../../../platform/db/open.ts'
import type { FilesService } from '../../catalog/files/files.service.ts'
import type { ControlEventBus } from '../../events.ts'
import type { SecureSteps } from '../secure-rounds/secure-steps.service.ts'
import type { ParticipantsStore } from './participants.store.ts'
import type { UpdateAcceptance } from './update-acceptance.service.ts'
import type { UpdateAdmission } from './update-admission.service.ts'
import type { UpdatesReport } from './updates.report.ts'
import type { StoredUpdate } from './updates.store.ts'

export type { StoredUpdate } from './updates.store.ts'

import type { RoundReviews } from './round-reviews.service.ts'
import type { RoundsService, StoredRound } from './rounds.service.ts'
import type { RoundsStore } from './rounds.store.ts'

export interface UpdateReport {
  readonly numSamples: number
  readonly localLoss: number | null
  readonly localAccuracy: number | null
  readonly trainingTimeSeconds: number | null
  readonly metrics: Metrics | null
  readonly evaluation: MetricReport | null
}

/** How long an update waits for the next round of an asynchronous job. */
const BETWEEN_ROUNDS_MS = 20_000
const LOOK_AGAIN_MS = 250
/** What a masked update is cannot be told. */
const MASKED = { rawVector: false, warning: null } as const
const NEVER = new AbortController().signal

/** What devices bring back to a round: their updates, or the reason why there is none. */
export const createUpdatesService = (parts: {
  readonly database: Database
  readonly store: RoundsStore
  readonly participants: ParticipantsStore
  readonly updates: Pick<UpdatesReport, 'page'>
  readonly reviews: RoundReviews
  readonly admission: UpdateAdmission
  readonly acceptance: UpdateAcceptance
  readonly rounds: RoundsService
  readonly secure: Pick<SecureSteps, 'admitMasked'>
  readonly files: FilesService
  readonly events: Pick<ControlEventBus, 'publish'>
  readonly now: () => Date
}) => {
  const { database, store, participants, updates, reviews, admission, acceptance, rounds, secure, files, events, now } =
    parts
  const { requireOpen, requireFiles, checkTensors } = admission

  return {
    /** Refuses early, before a file is read: the round must exist, be active, and await this device. */
    async admit(caller: Caller, roundId: string): Promise<StoredRound> {
      const round = await rounds.get(caller, roundId)
      const { deviceId } = await requireOpen(round, caller.deviceId)
      if (round.plan.secure !== undefined) await secure.admitMasked(database.sql, round.id, deviceId, null)
      return round
    },

    /** Checks a staged file against the round's layout, keeps it and counts it; the last one closes the doors. */
    async submit(
      caller: Caller,
      admitted: StoredRound,
      sent: { readonly file: StagedBlob & { readonly fileName: string }; readonly control: StagedBlob | null },
      report: UpdateReport,
    ): Promise<{ update: StoredUpdate; warnings: readonly string[] }> {
      const { file: staged, control } = sent
      requireFiles(admitted, staged, control)
      const isMasked = admitted.plan.secure !== undefined
      if (isMasked) await secure.admitMasked(database.sql, admitted.id, caller.deviceId!, staged.size)
      const { rawVector, warning } = isMasked ? MASKED : await checkTensors(admitted, staged, control)
      const hidden = isHidden(admitted, report)
      await files.keep(staged)
      if (control !== null) await files.keep(control)
      const accept = () =>
        acceptance.accept({
          admitted,
          deviceId: caller.deviceId!,
          sha256: staged.sha256,
          size: staged.size,
          rawVector,
          controlSha256: control?.sha256 ?? null,
          ...report,
          ...(hidden === null ? {} : { metrics: null, evaluation: null }),
        })
      let update = await accept()
      // Between two rounds of an asynchronous job an update waits for the next, which is about to begin.
      const until = Date.now() + BETWEEN_ROUNDS_MS
      while (update === null && admitted.plan.asynchronous && Date.now() < until && !rounds.changes.isClosed()) {
        const seen = rounds.changes.version()
        await requireOpen(await rounds.get(caller, admitted.id), caller.deviceId)
        await rounds.changes.changedSince(seen, LOOK_AGAIN_MS, NEVER)
        update = await accept()
      }
      if (update === null) {
        await rounds.tick()
        await requireOpen(await rounds.get(caller, admitted.id), caller.deviceId)
        throw conflict(
          'The round changed while the update arrived. Check its status before trying again.',
          'round_over',
        )
      }
      return { update, warnings: [warning, hidden].filter((one) => one !== null) }
    },

    /**
     * What was delivered to the round, with how it looked and what it counted for, once the round is completed. What a device
     * reported of its data in a private round stays between it and the service.
     */
    async list(caller: Caller, id: string, page: { limit: number; offset: number }) {
      const round = await rounds.get(caller, id)
      requireMayInspect(caller, round)
      const { receipt, screening } = await store.records(database.sql, round.id)
      const screened = new Map(screening?.map((one) => [one.update_id, one]))
      const weights = new Map(receipt?.updates.map((one) => [one.update_id, one.weight]))
      const found = await updates.page(database.sql, id, page)
      return {
        total: found.total,
        updates: found.updates.map(({ update, deviceName }) => ({
          update:
            round.privacy === null
              ? update
              : { ...update, localLoss: null, localAccuracy: null, metrics: null, evaluation: null },
          deviceName,
          screened: screened.get(update.id) ?? null,
          weight: weights.get(update.id) ?? null,
        })),
      }
    },

    /** A participant gives up, with a reason; the round stops waiting for it, and its place is free again. */
    async fail(caller: Caller, roundId: string, reason: string): Promise<StoredRound> {
      const admitted = await rounds.get(caller, roundId)
      const { deviceId } = await requireOpen(admitted, caller.deviceId)
      const isDue = await database.transaction(async (tx) => {
        const own = await participants.find(tx, roundId, deviceId)
        const round = await store.lock(tx, own?.roundId ?? roundId)
        const part = await participants.find(tx, roundId, deviceId)
        if (part === null || part.roundId !== round?.id) return false
        if (part.state !== 'selected' && part.state !== 'absent') return false
        if (round.status !== 'active' && !round.plan.asynchronous) return false
        await participants.report(tx, { roundId: round.id, deviceId, state: 'failed', reason }, now())
        const changed = {
          ...round,
          takingPart: round.takingPart - (part.state === 'selected' ? 1 : 0),
          failedDevices: round.failedDevices + 1,
        }
        await store.update(tx, round.id, { taking_part: changed.takingPart, failed_devices: changed.failedDevices })
        await events.publish(tx, 'round.places_freed', { id: round.id })
        if (round.status !== 'active') return false
        if (dueEvent(changed, now()) !== null) return true
        await reviews.review(tx, changed)
        return false
      })
      if (isDue) await rounds.tick()
      return rounds.get(caller, roundId)
    },
  }
}

/** Why metrics of single devices are not kept of this round; null where they are, or there are none. */
const isHidden = ({ privacy, plan }: StoredRound, { metrics, evaluation }: UpdateReport): string | null => {
  if (metrics === null && evaluation === null) return null
  const which = [...(metrics === null ? [] : ['metrics']), ...(evaluation === null ? [] : ['evaluation'])].join(' and ')
  if (privacy !== null) return `${which} not kept: the round is private, and its noise does not cover them`
  if (plan.secure !== undefined)
    return `${which} not kept: of a secure round only the sum of loss and accuracy is learnt`
  return null
}

export type UpdatesService = ReturnType<typeof createUpdatesService>
