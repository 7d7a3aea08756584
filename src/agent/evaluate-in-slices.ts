import { setImmediate as breathe } from 'node:timers/promises'
import { type Dataset, pickRows, rowCount } from '../sdk/trainers/dataset.ts'
import type { NamedTensor } from '../sdk/trainers/dense-network.ts'
import { type Evaluation, evaluate } from '../sdk/trainers/train.ts'

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
    await breathe()
  }
  return { count, loss: loss / count, accuracy: correct / count }
}
