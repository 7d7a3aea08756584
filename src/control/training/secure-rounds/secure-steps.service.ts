import type { UnmaskingJob } from '../../../aggregation/aggregation-messages.ts'
import { badRequest, conflict } from '../../../domain/errors.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { coordinateCount } from '../../../secure-aggregation/coordinates.ts'
import { type SumTotals, TRAILER } from '../../../secure-aggregation/fixed-point.ts'
import { requireNames } from '../../../secure-aggregation/messages.ts'
import { checkMaskedSize, type OpenStatus, openRound, requireTurn } from '../../../secure-aggregation/server-round.ts'
import { type SecureSettings, secureSettings } from '../../../secure-aggregation/settings.ts'
import type { Layout } from '../../../tensors/layout.ts'
import type { Context } from '../../context.ts'
import { secureRoundsStore } from './secure-rounds.store.ts'

/** The requested settings of a secure round. */
export interface SecureSettingsRequest {
  readonly threshold?: number | undefined
  readonly range?: number | undefined
  readonly maxWeight?: number | undefined
}

/** @throws bad_request if noise is requested too */
export const requireNoNoise = (privacy: object | null | undefined): void => {
  if (!privacy) return
  throw badRequest(
    'secure_aggregation cannot be combined with privacy: the service cannot clip masked updates. Use one of them.',
  )
}

/** The checked settings of a secure round that is about to begin. */
export interface SecurePlan {
  readonly settings: SecureSettings
  /** Length of a masked update. */
  readonly words: number
}

/**
 * The fraction of the round's time after which a step must be over. Keys and shares depend on heartbeats; training comes before
 * the masked update; the last two steps need only a moment each.
 */
const SHARE_OF_TIME: Readonly<Record<OpenStatus, number>> = {
  advertising: 0.25,
  sharing: 0.4,
  masking: 0.85,
  unmasking: 0.95,
}

interface Timed {
  readonly startedAt: Date
  readonly timeoutAt: Date
}

export const deadlineOf = (status: OpenStatus, { startedAt, timeoutAt }: Timed): Date =>
  new Date(startedAt.getTime() + SHARE_OF_TIME[status] * (timeoutAt.getTime() - startedAt.getTime()))

interface MaskedFile {
  /** The device's internal id. */
  readonly deviceId: string
  readonly path: string
}

type SumFiles = Pick<UnmaskingJob, 'globalPath' | 'rawVector' | 'output' | 'outputPath'>

/** Secure aggregation as rounds use it: checks the settings, opens the secure round, admits masked updates, and sums them. */
export const createSecureSteps = (
  { database, workers, now }: Context,
  {
    layoutOf,
  }: {
    /** The tensors of a stored file; null if they cannot be read. */
    readonly layoutOf: (sha256: string, rawVector: boolean) => Promise<Layout | null>
  },
) => {
  return {
    /**
     * Returns settings for a round of this model and these sizes. @throws bad_request naming the field if the sum would not
     * stay secret, or if there is no model whose tensors can be summed
     */
    async prepare(
      requested: SecureSettingsRequest,
      round: {
        readonly modelSha256: string | null
        readonly rawVector: boolean
        readonly selected: number
        readonly minDevices: number
      },
    ): Promise<SecurePlan> {
      const settings = settingsFor(requested, round)
      const layout = round.modelSha256 === null ? null : await layoutOf(round.modelSha256, round.rawVector)
      if (layout?.some(({ merged }) => merged)) {
        throw badRequest(
          'secure_aggregation cannot merge the statistics of a scaler or a naive Bayes classifier, which this model has. Leave secure_aggregation out, or use another model.',
        )
      }
      const coordinates = layout === null ? 0 : coordinateCount(layout)
      if (coordinates === 0) {
        throw badRequest(
          'secure_aggregation works on the changes of a model whose tensors the service can read: name one with ' +
            'global_model_id, in a format whose tensors are averaged, such as .safetensors, .pt, .onnx, or .h5, or raw float32 (raw_vector).',
        )
      }
      return { settings, words: coordinates + TRAILER }
    },

    /** Begins a secure round in the transaction that begins the round itself. */
    async open(tx: Executor, round: Timed & { readonly id: string }, { settings, words }: SecurePlan): Promise<void> {
      const opened = openRound(round.id, settings)
      await secureRoundsStore.insert(tx, { ...opened, words, deadlineAt: deadlineOf('advertising', round) })
    },

    /** Rejects early what `acceptMasked` would reject, and files of the wrong length. */
    async admitMasked(db: Executor, roundId: string, deviceId: string, bytes: number | null): Promise<void> {
      const round = await secureRoundsStore.find(db, roundId)
      requireTurn(round!, 'masking', deviceId, await secureRoundsStore.answered(db, roundId, 'masked'))
      if (bytes !== null) checkMaskedSize(bytes, round!.words)
    },

    /** Counts a masked update, in the transaction that has locked the round and stores the update. */
    async acceptMasked(tx: Executor, roundId: string, deviceId: string): Promise<void> {
      const round = await secureRoundsStore.lock(tx, roundId)
      requireTurn(round!, 'masking', deviceId, await secureRoundsStore.answered(tx, roundId, 'masked'))
      await secureRoundsStore.insertMessage(tx, { roundId, deviceId, step: 'masked', message: {} }, now())
    },

    /**
     * Turns the masked updates into one update, their mean, which is all that the service ever learns, and writes it to
     * `outputPath`. @throws conflict if a share turns out to be wrong
     */
    async unmask(roundId: string, delivered: readonly MaskedFile[], files: SumFiles): Promise<SumTotals> {
      const stored = await secureRoundsStore.find(database.sql, roundId)
      if (stored?.status !== 'done') throw conflict('The sum of this round has not been unmasked.')
      const { words, deadlineAt: _, ...round } = stored
      const devices = delivered.map(({ deviceId }) => deviceId)
      requireNames(round.delivered, devices, 'The list of masked updates')
      const received = {
        keys: await secureRoundsStore.messages(database.sql, roundId, 'keys'),
        shares: await secureRoundsStore.seedCommitments(database.sql, roundId),
        responses: await secureRoundsStore.messages(database.sql, roundId, 'unmask'),
      }
      const isErased = (device: string) => ![received.keys, received.shares].every((of) => Object.hasOwn(of, device))
      if (round.dealt.some(isErased)) {
        throw conflict(
          'A device of this secure round was erased, and its keys with it: the masks of the others cannot be removed again.',
        )
      }
      return workers.unmask({ round, received, words, paths: delivered.map(({ path }) => path), ...files })
    },
  }
}

const settingsFor = (
  requested: SecureSettingsRequest,
  { selected, minDevices }: { readonly selected: number; readonly minDevices: number },
): SecureSettings => {
  if (requested.threshold !== undefined && requested.threshold < minDevices) {
    throw badRequest(
      `secure_aggregation.threshold is ${requested.threshold}, but min_devices is ${minDevices}: a round that reveals a sum ` +
        'of fewer updates could not be completed. Raise the threshold or lower min_devices.',
    )
  }
  const settings = secureSettings({ devices: selected, ...requested })
  return { ...settings, threshold: Math.max(settings.threshold, minDevices) }
}

export type SecureSteps = ReturnType<typeof createSecureSteps>
