import type { Caller } from '../../../domain/access.ts'
import { badRequest, conflict, type ServiceError } from '../../../domain/errors.ts'
import { TOO_OLD } from '../../../domain/failure-reasons.ts'
import { withheldOf } from '../../../domain/private-round.ts'
import { dueEvent } from '../../../domain/round.ts'
import { STRATEGY_RULES } from '../../../domain/strategy-rules.ts'
import type { StagedBlob } from '../../../platform/blobs/blob-store.ts'
import { createBatcher } from '../../../platform/db/batch.ts'
import type { FilesService } from '../../catalog/files/files.service.ts'
import type { Context } from '../../context.ts'
import { runDue } from '../../periodic-tasks.ts'
import type { SecureSteps } from '../secure-rounds/secure-steps.service.ts'
import type { DueRounds } from './due-rounds.service.ts'
import { createTensorChecks, type ModelLayouts } from './model-layouts.service.ts'
import type { ParticipantScopes } from './participant-scope.service.ts'
import { type Participant, type ParticipantKey, participantsStore } from './participants.store.ts'
import { explainSelection } from './participation.service.ts'
import type { RoundsService } from './rounds.service.ts'
import { roundsStore, type StoredRound } from './rounds.store.ts'
import type { UpdateAcceptance, UpdateReport } from './update-acceptance.service.ts'
import { type StoredUpdate, updatesStore } from './updates.store.ts'

export type { StoredUpdate } from './updates.store.ts'

/** How long an update waits for the next round of an asynchronous job. */
const BETWEEN_ROUNDS_MS = 20_000
const LOOK_AGAIN_MS = 250
/** The format of a masked update is unknown. */
const MASKED = { rawVector: false, warning: null } as const
const NEVER = new AbortController().signal

interface Parts {
  readonly acceptance: UpdateAcceptance
  readonly layouts: Pick<ModelLayouts, 'layoutOf' | 'inspectTrees'>
  readonly rounds: Pick<RoundsService, 'get'>
  readonly due: Pick<DueRounds, 'tick' | 'review'>
  readonly scopes: Pick<ParticipantScopes, 'includes'>
  readonly secure: Pick<SecureSteps, 'admitMasked'>
  readonly files: Pick<FilesService, 'keep'>
}

/** Checks whether a round awaits a device's update. */
const createAdmission = ({ database }: Context, { scopes }: Parts) => {
  // All of a round's devices arrive at once.
  const partIn = createBatcher<ParticipantKey, Participant | null>({
    maxBatch: 1000,
    run: (requested) => participantsStore.findAll(database.sql, requested),
  })

  /** The device's part in this round if it may still submit an update. @throws conflict with the reason */
  const requireOpen = async (
    round: StoredRound,
    deviceId: string | null,
  ): Promise<Participant & { deviceId: string }> => {
    if (deviceId === null) {
      throw conflict(
        'This key belongs to no device, so it is not a participant of the round. Use the key of a device.',
        'no_device',
      )
    }
    const part = await partIn({ roundId: round.id, deviceId })
    if (part?.state === 'delivered') throw await alreadyDelivered(round.id, deviceId)
    // An asynchronous job accepts training that began in an earlier round, until it fails the device as too old.
    const isAsynchronous = round.plan.asynchronous === true
    if (round.status !== 'active' && !(isAsynchronous && part?.state === 'selected')) {
      if (part?.failureReason === TOO_OLD) throw tooOld(round)
      const reason = round.failureReason ?? (isAsynchronous ? part?.failureReason : null) ?? null
      const why = reason === null ? '' : ` ${reason}`
      throw conflict(`The round is ${round.status}; updates are accepted only while it is active.${why}`, 'round_over')
    }
    if (part === null) throw notParticipant(round, await scopes.includes(round, deviceId))
    if (part.state === 'failed') {
      throw conflict(
        `This device has already failed in this round: ${part.failureReason ?? 'no reason given'}.`,
        'failed_before',
      )
    }
    return { ...part, deviceId }
  }

  const alreadyDelivered = async (roundId: string, deviceId: string): Promise<ServiceError> => {
    const kept = await updatesStore.find(database.sql, roundId, deviceId)
    return conflict(
      `This device has already submitted an update for this round (${kept?.id ?? ''}); the first one counts.`,
      'duplicate',
    )
  }

  return requireOpen
}

/** Why an asynchronous job, whose rounds accept updates of earlier ones, no longer accepts this device's. */
const tooOld = ({ status, plan }: StoredRound): ServiceError =>
  conflict(
    `The round is ${status}, and the update is too old for the rounds after it: an update counts up to ` +
      `${plan.options?.max_staleness} rounds later (strategy_options.max_staleness), and no later than the timeout. Send a ` +
      'heartbeat, and train again from the model of the current round.',
    'round_over',
  )

/** Why a device is not a participant of the round. */
const notParticipant = (round: StoredRound, isIncluded: boolean): ServiceError =>
  conflict(
    `This device is not a participant of the round. ${explainSelection(round, null, isIncluded)}`,
    'not_participant',
  )

/** Fails a participant, with its reason; the round stops waiting for it, and its place becomes free. */
const createFailures =
  ({ database, events, now }: Context, { rounds, due }: Parts, requireOpen: ReturnType<typeof createAdmission>) =>
  async (caller: Caller, roundId: string, reason: string): Promise<StoredRound> => {
    const admitted = await rounds.get(caller, roundId)
    const { deviceId } = await requireOpen(admitted, caller.deviceId)
    const isDue = await database.transaction(async (tx) => {
      const own = await participantsStore.find(tx, roundId, deviceId)
      const round = await roundsStore.lock(tx, own?.roundId ?? roundId)
      const part = await participantsStore.find(tx, roundId, deviceId)
      if (part === null || part.roundId !== round?.id) return false
      if (part.state !== 'selected' && part.state !== 'absent') return false
      if (round.status !== 'active' && !round.plan.asynchronous) return false
      await participantsStore.report(tx, { roundId: round.id, deviceId, state: 'failed', reason }, now())
      const changed = {
        ...round,
        takingPart: round.takingPart - (part.state === 'selected' ? 1 : 0),
        failedDevices: round.failedDevices + 1,
      }
      await roundsStore.update(tx, round.id, { taking_part: changed.takingPart, failed_devices: changed.failedDevices })
      await events.publish(tx, 'round.places_freed', { id: round.id })
      if (round.status !== 'active') return false
      if (dueEvent(changed, now()) !== null) return true
      await due.review(tx, changed)
      return false
    })
    if (isDue) await runDue(due.tick)
    return rounds.get(caller, roundId)
  }

/** The updates that devices submit to rounds. */
export const createUpdatesService = (context: Context, parts: Parts) => {
  const { database, changes } = context
  const { acceptance, rounds, due, secure, files } = parts
  const requireOpen = createAdmission(context, parts)
  const checkTensors = createTensorChecks(context, parts)

  return {
    /** Checks early, before a file is read: the round must exist, be active, and await this device. */
    async admit(caller: Caller, roundId: string): Promise<StoredRound> {
      const round = await rounds.get(caller, roundId)
      const { deviceId } = await requireOpen(round, caller.deviceId)
      if (round.plan.secure !== undefined) await secure.admitMasked(database.sql, round.id, deviceId, null)
      return round
    },

    /** Checks a staged file against the round's layout, stores it, and counts it; the last update closes the round. */
    async submit(
      caller: Caller,
      admitted: StoredRound,
      sent: { readonly file: StagedBlob & { readonly fileName: string }; readonly control: StagedBlob | null },
      report: UpdateReport,
    ): Promise<{ update: StoredUpdate; warnings: readonly string[] }> {
      const { file: staged, control } = sent
      if (staged.size === 0) throw badRequest('file is empty: an update needs weights.')
      requireControl(admitted, control)
      const isMasked = admitted.plan.secure !== undefined
      if (isMasked) await secure.admitMasked(database.sql, admitted.id, caller.deviceId!, staged.size)
      const { rawVector, warning } = isMasked ? MASKED : await checkTensors(admitted, staged, control)
      const hidden = withheldOf(admitted, report)
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
          ...hidden.figures,
        })
      let update = await accept()
      // Between two rounds of an asynchronous job, an update waits for the next one, which is about to begin.
      const until = performance.now() + BETWEEN_ROUNDS_MS
      while (update === null && admitted.plan.asynchronous && performance.now() < until && !changes.isClosed()) {
        const seen = changes.version()
        await requireOpen(await rounds.get(caller, admitted.id), caller.deviceId)
        await changes.changedSince(seen, LOOK_AGAIN_MS, NEVER)
        update = await accept()
      }
      if (update === null) {
        await runDue(due.tick)
        await requireOpen(await rounds.get(caller, admitted.id), caller.deviceId)
        throw conflict(
          'The round changed while the update arrived. Check its status before trying again.',
          'round_over',
        )
      }
      return { update, warnings: [warning, hidden.warning].filter((one) => one !== null) }
    },

    fail: createFailures(context, parts, requireOpen),
  }
}

/** Strategies with control variates require the change of the device's own variate; others must not get such a file. */
const requireControl = (round: StoredRound, control: StagedBlob | null): void => {
  const isRequired = STRATEGY_RULES[round.plan.strategy].controlVariates === true
  if (isRequired && (control === null || control.size === 0)) {
    throw badRequest(
      `control is required: a round with strategy ${round.plan.strategy} needs the change of the device's control variate as a file.`,
    )
  }
  if (!isRequired && control !== null) {
    throw badRequest(
      `control must be left out: this round's strategy, ${round.plan.strategy}, keeps no control variates.`,
    )
  }
}

export type UpdatesService = ReturnType<typeof createUpdatesService>
