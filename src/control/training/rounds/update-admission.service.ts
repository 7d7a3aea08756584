import type { Inspection } from '../../../aggregation/job.ts'
import type { AggregationWorkers } from '../../../aggregation/worker-pool.ts'
import { badRequest, conflict, ServiceError } from '../../../domain/errors.ts'
import { STRATEGY_RULES } from '../../../domain/strategy-rules.ts'
import type { StagedBlob } from '../../../platform/blobs/blob-store.ts'
import { createBatcher } from '../../../platform/db/batch.ts'
import type { Database } from '../../../platform/db/open.ts'
import type { Layout } from '../../../tensors/layout.ts'
import { namesRawVector } from '../../../tensors/raw.ts'
import type { ModelContents } from './model-content.service.ts'
import type { Participant, ParticipantsStore, Seat } from './participants.store.ts'
import { notParticipant } from './participation.service.ts'
import type { RoundReach } from './round-reach.service.ts'
import type { StoredRound } from './rounds.service.ts'
import { singleFlight } from './single-flight.ts'
import { refusedAs } from './update-counts.service.ts'
import type { UpdatesStore } from './updates.store.ts'

/** Which updates a round takes: from whom, when, and with what tensors. */
export const createUpdateAdmission = (parts: {
  readonly database: Database
  readonly participants: ParticipantsStore
  readonly updates: UpdatesStore
  readonly includes: RoundReach['includes']
  readonly workers: Pick<AggregationWorkers, 'inspect'>
  readonly contents: Pick<ModelContents, 'layoutOf'>
}) => {
  const { database, participants, updates, includes, workers, contents } = parts
  // All of a round's devices come at once.
  const partIn = createBatcher<Seat, Participant | null>({
    maxBatch: 1000,
    run: (requested) => participants.findAll(database.sql, requested),
  })
  const layouts = singleFlight<{ readonly layout: Layout | null }>(16)

  /** The tensors an update must have: those of the distributed model, where we can read it; null takes any bytes. */
  const expectedLayout = async ({ globalSha256: sha256, plan }: StoredRound): Promise<Layout | null> => {
    if (sha256 === null) return null
    const rawVector = plan.rawVector === true
    const found = await layouts(`${sha256} ${rawVector}`, async () => ({
      layout: await contents.layoutOf(sha256, rawVector),
    }))
    return found?.layout ?? null
  }

  /** The part that awaits an update of the device to this round; else a conflict says why there is none. */
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
    // An asynchronous job takes what began in an earlier round, as long as it has not let go of the device.
    const isAwaitedLater = round.plan.asynchronous === true && part?.state === 'selected'
    if (round.status !== 'active' && !isAwaitedLater) {
      const why = round.failureReason === null ? '' : ` ${round.failureReason}`
      throw conflict(`The round is ${round.status}; updates are accepted only while it is active.${why}`, 'round_over')
    }
    if (part === null) throw refusedAs('not_participant', notParticipant(round, await includes(round, deviceId)))
    if (part.state === 'failed') {
      throw conflict(
        `This device has already failed in this round: ${part.failureReason ?? 'no reason given'}.`,
        'failed_before',
      )
    }
    return { ...part, deviceId }
  }

  const alreadyDelivered = async (roundId: string, deviceId: string): Promise<ServiceError> => {
    const kept = await updates.find(database.sql, roundId, deviceId)
    return conflict(
      `This device has already submitted an update for this round: ${kept?.id ?? ''}, which counts.`,
      'duplicate',
    )
  }

  const inspectControl = async ({ plan }: StoredRound, control: StagedBlob, expected: Layout | null): Promise<void> => {
    const rawVectors = plan.rawVector ? 'declared' : 'none'
    await workers.inspect(control.path, { expected, rawVectors }).catch((error: unknown) => {
      throw isRefusal(error) ? refusedAs('tensors', badRequest(`control: ${error.message}`)) : error
    })
  }

  return {
    requireOpen,

    /** Throws bad_request where a file is missing that the round's strategy asks for, or one is there that it does not. */
    requireFiles(round: StoredRound, staged: StagedBlob, control: StagedBlob | null): void {
      if (staged.size === 0) throw badRequest('file is empty: an update needs weights.')
      requireControl(round, control)
    },

    /**
     * What the update turned out to be. Throws bad_request where the files have other tensors than the round's model, naming
     * the first difference.
     */
    async checkTensors(
      round: StoredRound,
      staged: StagedBlob & { readonly fileName: string },
      control: StagedBlob | null,
    ): Promise<Pick<Inspection, 'rawVector' | 'warning'>> {
      const { trees = false } = STRATEGY_RULES[round.plan.strategy]
      const expected = trees ? null : await expectedLayout(round)
      const isDeclared = round.plan.rawVector === true || (expected === null && namesRawVector(staged.fileName))
      const rawVectors = isDeclared ? 'declared' : 'plausible'
      const found = await workers.inspect(staged.path, { expected, rawVectors, trees }).catch((error: unknown) => {
        throw isRefusal(error) ? refusedAs('tensors', error) : error
      })
      if (control !== null) await inspectControl(round, control, expected)
      return found
    },
  }
}

const isRefusal = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && error.code === 'bad_request'

/** With control variates, updates bring the change of the device's own; others have no such file. */
const requireControl = (round: StoredRound, control: StagedBlob | null): void => {
  const isRequired = STRATEGY_RULES[round.plan.strategy].controlVariates === true
  if (isRequired && (control === null || control.size === 0)) {
    throw badRequest(
      `control is required: a round with strategy ${round.plan.strategy} needs the change of the device's control variate as a file.`,
    )
  }
  if (!isRequired && control !== null) {
    throw badRequest(
      `control must be left out: strategy ${round.plan.strategy}, which this round has, keeps no control variates.`,
    )
  }
}

export type UpdateAdmission = ReturnType<typeof createUpdateAdmission>
