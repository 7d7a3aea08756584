import type { EvaluationReport, TrainingReport } from '../sdk/device.ts'
import type { Evaluation } from '../sdk/trainers/train.ts'
import type { EvaluationPlan, Plan } from '../sdk/wire.ts'

/** One device's training in one round. */
export interface TrainingTask {
  readonly plan: Plan
  /** The global model's file; null if the round has none. */
  readonly globalWeights: string | null
  /** SCAFFOLD: the service's control variate; null while it is zero. */
  readonly control: string | null
  /** The file kept from this device's last round of the job; null if there is none. */
  readonly memory: string | null
  /** This round's folder, to which the results are written. */
  readonly folder: string
  /** The time limit for training, when the round ends. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

export interface TrainingOutcome {
  /** The file with the new weights. */
  readonly weights: string
  readonly report: TrainingReport
  /** The received model's evaluation on this device's held-out data; null if the trainer cannot evaluate it. */
  readonly globalModel: Evaluation | null
  /** SCAFFOLD: the file with the change of this device's control variate, sent with the weights. */
  readonly control?: string
  /** A file to keep for the job's next round. It is moved away once the update has been accepted. */
  readonly memory?: string
}

/** The file kept from the job's last round cannot be read. Training is repeated without it. */
export class DamagedMemory extends Error {
  override readonly name = 'DamagedMemory'
}

/** A model to evaluate after a job's last round. */
export interface EvaluationTask {
  readonly plan: EvaluationPlan
  readonly globalWeights: string
  readonly folder: string
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** Turns a global model and this device's data into an update. Its errors are reported to the service. */
export interface AgentTrainer {
  readonly train: (task: TrainingTask) => Promise<TrainingOutcome>
  /** Evaluates a job's last model on held-out data. If present, the service is told that this is possible. */
  readonly evaluateFinal?: (task: EvaluationTask) => Promise<EvaluationReport>
  /** Evaluates a model's file on this device's held-out data; null if the trainer cannot read it. Absent if it never can. */
  readonly evaluate?: (weights: string) => Promise<Evaluation | null>
}

/** For a device that only runs delivered models. If a round selects it, the round is told at once that it does not train. */
export const noTrainer: AgentTrainer = {
  train: async () => {
    throw new Error('This device does not train: it was started without data and without a trainer.')
  },
}
