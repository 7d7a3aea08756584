import { badRequest } from '../../domain/errors.ts'
import { DEFAULT_STRATEGY, rulesOf } from '../../domain/strategy-rules.ts'
import type { EvaluationReport, TrainingReport } from '../device.ts'
import { type Dataset, rowCount, type Split } from './dataset.ts'
import { flatten, initialModel, networkOf } from './dense-network.ts'
import { seedFrom } from './random.ts'
import { type Controls, controlChange, correctionOf, readControls, writeControls } from './scaffold.ts'
import { settingsFrom, type TrainingSettings } from './settings.ts'
import type { SgdOptions } from './sgd.ts'
import { type Evaluation, evaluate, type Trained, train } from './train.ts'
import { decodeModel, encodeModel, type Model } from './weights-codec.ts'

export interface LocalRound {
  readonly roundId: string
  readonly hyperparameters: Readonly<Record<string, unknown>>
  /** Default: `fedavg`. Some strategies require more than training from devices: see `trainLocally`. */
  readonly strategy?: string
}

/** A device's files other than the global model. */
export interface LocalFiles {
  /** SCAFFOLD: the service's control variate; null while it is zero. */
  readonly control: Uint8Array | null
  /** What the device kept from its last round in the job: its control variate, or its personal model. */
  readonly memory: Uint8Array | null
}

export interface LocalUpdate {
  /** A .safetensors file. */
  readonly weights: Uint8Array<ArrayBuffer>
  /** Loss and accuracy of the new weights on the held-out rows, or on the rows trained on if none are held out. */
  readonly report: TrainingReport
  /** The received model's evaluation on the held-out rows; null without a model or rows. Not sent. */
  readonly globalModel?: Evaluation | null
  /** SCAFFOLD: sent with the update. */
  readonly control?: Uint8Array<ArrayBuffer>
  /** Kept for the job's next round once the update is accepted. Never sent. */
  readonly memory?: Uint8Array<ArrayBuffer>
  /** Ditto: the personal model's evaluation on the held-out rows, or on the rows trained on if none are held out. */
  readonly personal?: Evaluation
}

const NO_FILES: LocalFiles = { control: null, memory: null }

const beginning = (settings: TrainingSettings, data: Dataset): Model => {
  const { hidden, seed, classes } = settings
  if (classes === null) {
    throw badRequest(
      'The round distributes no model, so all devices must be given the same number of classes: start the round with ' +
        'the hyperparameter classes (a number or a list of names), or with a global model.',
    )
  }
  const count = typeof classes === 'number' ? classes : classes.length
  return { tensors: initialModel({ features: data.featureCount, hidden, classes: count, seed }), dtypes: new Map() }
}

/**
 * Takes a device's part in a round with the built-in trainer: evaluates the global model on the held-out rows, trains on the
 * others with the hyperparameters (see `settingsFrom`), and encodes the result. A round without a model starts from
 * `initialModel`. The order of the rows depends only on round, device and seed.
 *
 * With control variates (SCAFFOLD), they correct the training, and the update includes the change of the device's own.
 * With a personal model (Ditto), also trains it: v -= lr * (g(v) + lambda * (v - w)) for the same epochs, starting from the
 * stored one or the global one (Li et al. 2021, "Ditto", algorithm 1). Throws bad_request if model, hyperparameters and data
 * do not match, and the signal's reason when aborted.
 */
export const trainLocally = async (
  globalWeights: Uint8Array | null,
  data: Split,
  round: LocalRound,
  options: { readonly deviceId: string; readonly signal?: AbortSignal | undefined },
  files: LocalFiles = NO_FILES,
): Promise<LocalUpdate> => {
  const settings = settingsFrom(round.hyperparameters)
  const model = globalWeights === null ? beginning(settings, data.train) : decodeModel(globalWeights)
  const heldOut = rowCount(data.heldOut) > 0 ? data.heldOut : null
  const globalModel = globalWeights !== null && heldOut !== null ? evaluate(model.tensors, heldOut) : null
  const seed = (settings.seed ^ seedFrom(`${round.roundId} ${options.deviceId}`)) >>> 0
  const sgd = { ...settings, seed, signal: options.signal, maxSeconds: settings.maxSeconds ?? undefined }
  const { controlVariates, personalModel } = rulesOf(round.strategy ?? DEFAULT_STRATEGY) ?? {}
  const controls = controlVariates ? readControls(model.tensors, files) : null
  const correction = controls === null ? undefined : correctionOf(controls)
  const trained = await train(model.tensors, data.train, { ...sgd, correction })
  const { loss, accuracy } = heldOut === null ? trained : evaluate(trained.tensors, heldOut)
  return {
    ...(controls === null ? {} : changedControls(model, controls, trained, settings.learningRate)),
    ...(personalModel ? await trainPersonal(model, data, sgd, settings.personal, files.memory) : {}),
    weights: encodeModel(trained.tensors, model.dtypes),
    report: {
      numSamples: trained.numSamples,
      // A confident miss on a held-out row can overflow to Infinity, which JSON and the service do not support.
      localLoss: Number.isFinite(loss) ? loss : undefined,
      localAccuracy: accuracy,
      trainingTimeSeconds: trained.seconds,
      ...(globalModel && { evaluation: reportOf(globalModel) }),
    },
    globalModel,
  }
}

const changedControls = (model: Model, controls: Controls, trained: Trained, learningRate: number) => {
  const network = networkOf(model.tensors)
  const [from, to] = [flatten(network, model.tensors), flatten(network, trained.tensors)]
  return writeControls(model, controls, controlChange(controls, { from, to, steps: trained.steps, learningRate }))
}

const trainPersonal = async (
  model: Model,
  data: Split,
  sgd: SgdOptions,
  lambda: number,
  memory: Uint8Array | null,
): Promise<Required<Pick<LocalUpdate, 'memory' | 'personal'>>> => {
  const network = networkOf(model.tensors)
  const start = memory === null ? model.tensors : decodeModel(memory).tensors
  const anchor = flatten(network, model.tensors)
  const trained = await train(start, data.train, { ...sgd, proximal: lambda, anchor })
  return {
    memory: encodeModel(trained.tensors, model.dtypes),
    personal: rowCount(data.heldOut) > 0 ? evaluate(trained.tensors, data.heldOut) : ownEvaluation(trained),
  }
}

/** Converts an evaluation to the form that is sent. */
export const reportOf = ({ count, loss, accuracy }: Evaluation): EvaluationReport => ({
  numSamples: count,
  metrics: { loss, accuracy },
})

const ownEvaluation = ({ numSamples, loss, accuracy }: Trained): Evaluation => ({ count: numSamples, loss, accuracy })
