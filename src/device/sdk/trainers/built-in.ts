import { badRequest } from '../../../domain/errors.ts'
import type { TrainingReport } from '../device.ts'
import { type Dataset, rowCount, type Split } from './dataset.ts'
import { initialModel } from './dense-network.ts'
import { seedFrom } from './random.ts'
import { settingsFrom, type TrainingSettings } from './settings.ts'
import { type Evaluation, evaluate, train } from './train.ts'
import { decodeModel, encodeModel, type Model } from './weights-codec.ts'

export interface LocalRound {
  readonly roundId: string
  readonly hyperparameters: Readonly<Record<string, unknown>>
}

export interface LocalUpdate {
  /** A .safetensors file. */
  readonly weights: Uint8Array<ArrayBuffer>
  /** Loss and accuracy are those of the new weights on the held-out rows; on the trained ones where none are held out. */
  readonly report: TrainingReport
  /** How the model that was received does on the held-out rows; null without model or rows. */
  readonly globalModel: Evaluation | null
}

const beginning = (settings: TrainingSettings, data: Dataset): Model => {
  const { hidden, seed, classes } = settings
  if (classes === null) {
    throw badRequest(
      'The round distributes no model, so the number of classes must be named, the same for all devices: start it with ' +
        'the hyperparameter classes (a number or a list of names), or with a global model.',
    )
  }
  const count = typeof classes === 'number' ? classes : classes.length
  return { tensors: initialModel({ features: data.featureCount, hidden, classes: count, seed }), dtypes: new Map() }
}

/**
 * One device's part of a round with the built-in trainer: evaluates the global model on the held-out rows, trains on the
 * others as the hyperparameters say (see `settingsFrom`), and encodes the result. A round without a model begins with
 * `initialModel`. The order of the rows depends on round, device and seed only. Throws bad_request when model,
 * hyperparameters and data do not fit, and the signal's reason when aborted.
 */
export const trainLocally = async (
  globalWeights: Uint8Array | null,
  data: Split,
  round: LocalRound,
  options: { readonly deviceId: string; readonly signal?: AbortSignal | undefined },
): Promise<LocalUpdate> => {
  const settings = settingsFrom(round.hyperparameters)
  const model = globalWeights === null ? beginning(settings, data.train) : decodeModel(globalWeights)
  const heldOut = rowCount(data.heldOut) > 0 ? data.heldOut : null
  const globalModel = globalWeights !== null && heldOut !== null ? evaluate(model.tensors, heldOut) : null
  const seed = (settings.seed ^ seedFrom(`${round.roundId} ${options.deviceId}`)) >>> 0
  const trained = await train(model.tensors, data.train, { ...settings, seed, signal: options.signal })
  const { loss, accuracy } = heldOut === null ? trained : evaluate(trained.tensors, heldOut)
  return {
    weights: encodeModel(trained.tensors, model.dtypes),
    report: {
      numSamples: trained.numSamples,
      // A confident miss on a held-out row can overflow to Infinity, which JSON and the service do not know.
      localLoss: Number.isFinite(loss) ? loss : undefined,
      localAccuracy: accuracy,
      trainingTimeSeconds: trained.seconds,
    },
    globalModel,
  }
}
