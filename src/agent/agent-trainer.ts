import type { EvaluationReport, TrainingReport } from '../sdk/device.ts'
import type { Evaluation } from '../sdk/trainers/train.ts'
import type { EvaluationPlan, Plan } from '../sdk/wire.ts'

/** One device's part in one round. */
export interface TrainingTask {
  readonly plan: Plan
  /** The global model's file; null when the round distributes none. */
  readonly globalWeights: string | null
  /** SCAFFOLD: the service's control variate; null while it is zero. */
  readonly control: string | null
  /** What was kept of this device's last part in the job; null when nothing was. */
  readonly memory: string | null
  /** A folder of this round's own; what is trained is written here. */
  readonly folder: string
  /** How long training may take: the round ends then. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

export interface TrainingOutcome {
  /** The file with the new weights. */
  readonly weights: string
  readonly report: TrainingReport
  /** How the model that was received does on this device's held-out data, where the trainer can tell. */
  readonly globalModel: Evaluation | null
  /** SCAFFOLD: the file with the change of this device's control variate, sent with the weights. */
  readonly control?: string
  /** A file to be kept for the next round of the job, once the update has been taken; it is moved away. */
  readonly memory?: string
}

/** A model to evaluate, after a job's last round. */
export interface EvaluationTask {
  readonly plan: EvaluationPlan
  readonly globalWeights: string
  readonly folder: string
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** Something that turns a global model and this device's data into an update. Its errors are told to the service. */
export interface AgentTrainer {
  readonly train: (task: TrainingTask) => Promise<TrainingOutcome>
  /** How the last model of a job does on held-out data; offered to the service where there is such a thing. */
  readonly evaluateFinal?: (task: EvaluationTask) => Promise<EvaluationReport>
  /** How a model's file does on this device's held-out data; null where the trainer cannot tell. Absent where it never can. */
  readonly evaluate?: (weights: string) => Promise<Evaluation | null>
}

/** Of a device that only runs what is delivered. A round that draws it learns at once that it must do without. */
export const noTrainer: AgentTrainer = {
  train: async () => {
    throw new Error('This device does not train: it was started without data and without a trainer.')
  },
}
