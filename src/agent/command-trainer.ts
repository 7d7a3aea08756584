import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { badRequest, ServiceError } from '../domain/errors.ts'
import { isObject } from '../domain/is-object.ts'
import { readMetrics } from '../domain/metrics.ts'
import { exists } from '../platform/files/missing-file.ts'
import type { EvaluationReport, TrainingReport } from '../sdk/device.ts'
import type { AgentTrainer, EvaluationTask, TrainingTask } from './agent-trainer.ts'
import { suppressRepeats } from './repeated-lines.ts'
import { type CommandRun, runCommand } from './run-command.ts'

export interface CommandTrainerOptions {
  /** The user's command line, run in the shell. Nothing from the service becomes part of it. */
  readonly command: string
  /** The working directory; by default the agent's own. */
  readonly cwd?: string
  /** Called with every line of its output. */
  readonly onLine?: (line: string) => void
}

const optional = (metrics: Readonly<Record<string, unknown>>, name: string, max: number): number | undefined => {
  const value = metrics[name]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number' && Number.isFinite(value) && !(max === 1 && (value < 0 || value > 1))) return value
  const expected = max === 1 ? 'a number from 0 to 1' : 'a finite number'
  throw badRequest(`The trainer's metrics say ${name} is ${JSON.stringify(value)}; it must be ${expected}, or absent.`)
}

const readJson = async (path: string): Promise<Readonly<Record<string, unknown>>> => {
  const text = await readFile(path, 'utf8').catch(() => null)
  if (text === null) throw badRequest('The trainer wrote no metrics to the file named by SERVICE_OUTPUT_METRICS.')
  let metrics: unknown
  try {
    metrics = JSON.parse(text)
  } catch (error) {
    throw badRequest(`The trainer's metrics are not JSON (NaN is not): ${(error as Error).message}`)
  }
  if (!isObject(metrics)) {
    throw badRequest(`The trainer's metrics must be an object such as {"num_samples": 120}, got ${text.slice(0, 80)}.`)
  }
  return metrics
}

/**
 * Reads `{ "num_samples": 120, "loss": 0.4, "accuracy": 0.9, "metrics": {"f1": 0.8}, "evaluation": {"num_samples": 40,
 * "metrics": {"accuracy": 0.8}} }`. Only the first field is required.
 */
const readReport = async (path: string): Promise<Omit<TrainingReport, 'trainingTimeSeconds'>> => {
  const fields = await readJson(path)
  return {
    numSamples: samplesIn('num_samples', fields.num_samples),
    localLoss: optional(fields, 'loss', Number.POSITIVE_INFINITY),
    localAccuracy: optional(fields, 'accuracy', 1),
    ...(fields.metrics !== undefined && { metrics: named('metrics', fields.metrics) }),
    ...(fields.evaluation !== undefined && { evaluation: evaluationIn(fields.evaluation) }),
  }
}

const samplesIn = (name: string, samples: unknown): number => {
  if (typeof samples === 'number' && Number.isSafeInteger(samples) && samples >= 1) return samples
  throw badRequest(
    `The trainer's metrics say ${name} is ${JSON.stringify(samples)}; it must be a whole number of at least 1.`,
  )
}

const named = (field: string, value: unknown) => readMetrics(`The trainer's ${field}`, value).metrics

const evaluationIn = (value: unknown): EvaluationReport => {
  const { num_samples, metrics } = isObject(value) ? value : {}
  return {
    numSamples: samplesIn('evaluation.num_samples', num_samples),
    metrics: named('evaluation.metrics', metrics),
  }
}

/** The command failed. For the service, `message` includes the last lines of its output. */
export class TrainerFailed extends ServiceError {
  /** The message without those lines if they have already been shown. */
  readonly summary: string

  constructor(what: string, lastLines: readonly string[], wereShown: boolean) {
    super('bad_request', lastLines.length === 0 ? what : `${what} Its output:\n${lastLines.join('\n')}`)
    this.summary = wereShown ? what : this.message
  }
}

/** Returns why the run failed; null if it succeeded. */
const faultOf = ({ stopped, signal, exitCode }: CommandRun, seconds: number): string | null => {
  if (stopped === 'timeout') return `The trainer was stopped after ${seconds} s, because the round is about to end.`
  return exitCode === 0 ? null : `The trainer ended with ${signal ?? `exit code ${exitCode}`}.`
}

const requireWeights = async (path: string, folder: string): Promise<void> => {
  const size = await stat(path).then(
    (entry) => entry.size,
    () => null,
  )
  if (size === 0) throw badRequest('The trainer wrote an empty file to the path named by SERVICE_OUTPUT_WEIGHTS.')
  if (size !== null) return
  const beside = (await readdir(folder)).filter((name) => name.startsWith('update'))
  const hint = beside.length > 0 ? ` It wrote ${beside.join(', ')} instead of ${basename(path)}.` : ''
  throw badRequest(`The trainer wrote no weights to the file named by SERVICE_OUTPUT_WEIGHTS.${hint}`)
}

const RUN = 'run-'

/**
 * Creates a folder for the files of one run, and deletes those of interrupted runs: when an agent is killed and restarted, its
 * last run may have some seconds left to write to them.
 */
const newRunFolder = async (folder: string): Promise<string> => {
  for (const name of await readdir(folder)) {
    // What such a run writes in the meantime is deleted with the round's folder.
    if (name.startsWith(RUN)) await rm(join(folder, name), { recursive: true, force: true }).catch(() => undefined)
  }
  return mkdtemp(join(folder, RUN))
}

/**
 * Trains by running a command: a program in any language that reads its task from files and writes its result to files. The
 * environment contains their paths:
 *
 * - SERVICE_ROUND_ID: the round's id
 * - SERVICE_TASK: train; or evaluate, if the trainer's updates contain an evaluation: the global model is then the job's last
 *   one, and only the evaluation is read
 * - SERVICE_PLAN: the round's plan in JSON (strategy, hyperparameters, timeout_at)
 * - SERVICE_GLOBAL_WEIGHTS: the global model in the format of its upload; unset if the round has none: the command then
 *   creates the initial weights, the same on every device
 * - SERVICE_OUTPUT_WEIGHTS: where to write the new weights, with the same tensors as the global model
 * - SERVICE_CONTROL: SCAFFOLD's control variate c, in the layout of the model; unset while it is zero
 * - SERVICE_OUTPUT_CONTROL: where to write the change of this device's own, c_i+ - c_i, in the layout of the model
 * - SERVICE_MEMORY: the file that an earlier run kept for this job (its c_i, a personal model); unset if there is none
 * - SERVICE_OUTPUT_MEMORY: where to write it for the next round; kept once the update has been accepted
 * - SERVICE_OUTPUT_METRICS: where to write {"num_samples": 120, "loss": 0.4, "accuracy": 0.9}, with "metrics": {"f1": 0.8}
 *   for others, and "evaluation": {"num_samples": 40, "metrics": {...}} of the global model on held-out data
 *
 * @throws bad_request with its last lines of output if it fails, exceeds the round's time, or writes no result
 */
export const commandTrainer = ({ command, cwd, onLine }: CommandTrainerOptions): AgentTrainer => {
  // A trainer that fails in every round prints the same traceback each time.
  const output = suppressRepeats(onLine ?? (() => undefined))

  /** Runs the command with its task's files. Resolves with the time it took in seconds. */
  const run = async (
    { plan, timeoutMs, signal, globalWeights }: EvaluationTask | TrainingTask,
    folder: string,
    env: Readonly<Record<string, string | undefined>>,
  ) => {
    const planPath = join(folder, 'plan.json')
    const metricsPath = join(folder, 'metrics.json')
    await writeFile(planPath, `${JSON.stringify(plan.raw, null, 2)}\n`)
    const began = performance.now()
    const ended = await runCommand(command, {
      env: {
        ...env,
        SERVICE_ROUND_ID: plan.roundId,
        SERVICE_PLAN: planPath,
        SERVICE_GLOBAL_WEIGHTS: globalWeights ?? undefined,
        SERVICE_OUTPUT_METRICS: metricsPath,
      },
      cwd,
      timeoutMs,
      signal,
      onLine: output.line,
    })
    signal.throwIfAborted()
    const seconds = Math.round((performance.now() - began) / 1000)
    const fault = faultOf(ended, seconds)
    output.end({ isToBeRemembered: fault !== null })
    if (fault !== null) throw new TrainerFailed(fault, ended.lastLines, onLine !== undefined)
    return { seconds, metricsPath }
  }

  const train = async (task: TrainingTask) => {
    const { globalWeights, control, memory } = task
    const folder = await newRunFolder(task.folder)
    // Some frameworks depend on the file extension, so the update has that of the global model.
    const ending = globalWeights === null ? '.weights' : basename(globalWeights).replace(/^[^.]*/, '')
    const weights = join(folder, `update${ending}`)
    const controlChange = join(folder, `control-change${ending}`)
    const newMemory = join(folder, 'memory')
    const { seconds, metricsPath } = await run(task, folder, {
      SERVICE_TASK: 'train',
      SERVICE_CONTROL: control ?? undefined,
      SERVICE_MEMORY: memory ?? undefined,
      SERVICE_OUTPUT_WEIGHTS: weights,
      SERVICE_OUTPUT_CONTROL: controlChange,
      SERVICE_OUTPUT_MEMORY: newMemory,
    })
    await requireWeights(weights, folder)
    return {
      weights,
      report: { ...(await readReport(metricsPath)), trainingTimeSeconds: seconds },
      globalModel: null,
      ...((await exists(controlChange)) && { control: controlChange }),
      ...((await exists(newMemory)) && { memory: newMemory }),
    }
  }

  /** Discards weights that a command trains anyway: only its evaluation is used. */
  const evaluateFinal = async (task: EvaluationTask): Promise<EvaluationReport> => {
    const folder = await newRunFolder(task.folder)
    const unused = (name: string) => join(folder, name)
    const { metricsPath } = await run(task, folder, {
      SERVICE_TASK: 'evaluate',
      SERVICE_OUTPUT_WEIGHTS: unused('update'),
      SERVICE_OUTPUT_CONTROL: unused('control-change'),
      SERVICE_OUTPUT_MEMORY: unused('memory'),
    })
    const { evaluation } = (await readJson(metricsPath)) as { evaluation?: unknown }
    return evaluationIn(evaluation)
  }

  return { train, evaluateFinal }
}
