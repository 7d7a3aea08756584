import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as yieldToEvents } from 'node:timers/promises'
import { errorMessage } from '../domain/error-message.ts'
import { badRequest } from '../domain/errors.ts'
import { reportOf, trainLocally } from '../sdk/trainers/built-in.ts'
import { type Dataset, pickRows, rowCount, type Split, splitDataset } from '../sdk/trainers/dataset.ts'
import type { NamedTensor } from '../sdk/trainers/dense-network.ts'
import { seedFrom } from '../sdk/trainers/random.ts'
import { settingsFrom } from '../sdk/trainers/settings.ts'
import { type Evaluation, evaluate } from '../sdk/trainers/train.ts'
import { decodeModel } from '../sdk/trainers/weights-codec.ts'
import { type AgentTrainer, DamagedMemory } from './agent-trainer.ts'
import { type CsvTable, toDataset } from './csv.ts'

export interface BuiltInTrainerOptions {
  readonly table: CsvTable
  readonly deviceId: string
  /** Class names in the order of their indices. If absent, the round's hyperparameter `classes` is used. */
  readonly classes?: readonly string[]
  /** The share of rows that is used only for evaluation. Default 0.1. */
  readonly heldOut?: number
}

/** Fully connected layers are small, so larger files are something else and are not read. */
const MAX_EVALUATED = 64 * 1024 * 1024

/** @throws DamagedMemory, for example because a power failure left the file empty */
const readMemory = async (path: string): Promise<Uint8Array> => {
  const bytes = await readFile(path)
  try {
    decodeModel(bytes)
    return bytes
  } catch (error) {
    throw new DamagedMemory(errorMessage(error), { cause: error })
  }
}

/** Multiplications per slice, which take some hundredths of a second. */
const SLICE = 20_000_000

/** Like `evaluate`, but lets heartbeats and other work run in between. @throws bad_request if model and rows do not match */
export const evaluateInSlices = async (model: readonly NamedTensor[], data: Dataset): Promise<Evaluation> => {
  const parameters = model.reduce((sum, tensor) => sum + tensor.data.length, 0)
  const count = rowCount(data)
  const step = Math.max(1, Math.floor(SLICE / Math.max(1, parameters)))
  let loss = 0
  let correct = 0
  for (let from = 0; from < count; from += step) {
    const rows = Uint32Array.from({ length: Math.min(step, count - from) }, (_, row) => from + row)
    const part = evaluate(model, pickRows(data, rows))
    loss += part.loss * part.count
    correct += part.accuracy * part.count
    await yieldToEvents()
  }
  return { count, loss: loss / count, accuracy: correct / count }
}

/** Trains the built-in models on a CSV file. A device holds out the same rows in every round. */
export const builtInTrainer = ({ table, deviceId, classes, heldOut = 0.1 }: BuiltInTrainerOptions): AgentTrainer => {
  const split = (names: readonly string[] | null): Split =>
    splitDataset(toDataset(table, names), heldOut, seedFrom(deviceId))

  // Class names come with rounds. Without --classes, those of the last round are used.
  let lastClasses: readonly string[] | null = classes ?? null

  return {
    evaluate: async (weights) => {
      if ((await stat(weights)).size > MAX_EVALUATED) return null
      const { heldOut } = split(lastClasses)
      return rowCount(heldOut) === 0 ? null : evaluateInSlices(decodeModel(await readFile(weights)).tensors, heldOut)
    },

    evaluateFinal: async ({ globalWeights }) => {
      const { heldOut } = split(lastClasses)
      if (rowCount(heldOut) === 0) throw badRequest('No rows are held out on this device.')
      return reportOf(await evaluateInSlices(decodeModel(await readFile(globalWeights)).tensors, heldOut))
    },

    train: async ({ plan, globalWeights, control, memory, folder, signal }) => {
      const given = settingsFrom(plan.hyperparameters).classes
      lastClasses = classes ?? (given !== null && typeof given !== 'number' ? given : null)
      const data = split(lastClasses)
      const { roundId, strategy } = plan
      const hyperparameters = classes ? { ...plan.hyperparameters, classes } : plan.hyperparameters
      const weights = globalWeights === null ? null : await readFile(globalWeights)
      const files = {
        control: control === null ? null : await readFile(control),
        memory: memory === null ? null : await readMemory(memory),
      }
      const update = await trainLocally(
        weights,
        data,
        { roundId, hyperparameters, strategy },
        { deviceId, signal },
        files,
      )
      const write = async (name: string, bytes: Uint8Array): Promise<string> => {
        const path = join(folder, name)
        await writeFile(path, bytes)
        return path
      }
      return {
        weights: await write('update.safetensors', update.weights),
        report: update.report,
        globalModel: update.globalModel ?? null,
        ...(update.control && { control: await write('control-change.safetensors', update.control) }),
        ...(update.memory && { memory: await write('memory.safetensors', update.memory) }),
      }
    },
  }
}
