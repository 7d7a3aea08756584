// Attackers in the fleet: 6 of 20 devices send ten times their change with the opposite sign.
import { takePart } from '../../src/sdk/take-part.ts'
import { trainLocally } from '../../src/sdk/trainers/built-in.ts'
import { type Dataset, splitDataset } from '../../src/sdk/trainers/dataset.ts'
import { seededRandom } from '../../src/sdk/trainers/random.ts'
import { evaluate } from '../../src/sdk/trainers/train.ts'
import { decodeModel, encodeModel } from '../../src/sdk/trainers/weights-codec.ts'
import { buildProgram } from './built-program.ts'
import { withCleanUps } from './clean-ups.ts'
import { startProgram } from './service-under-test.ts'
import { operate, playRounds } from './training/trainees.ts'

const DEVICES = 20
const ATTACKERS = 6
const STRENGTH = 10
const ROUNDS = 15
const ROWS = 100
const SHAPE = { features: 20, classes: 10 }

const CANDIDATES = [
  { strategy: 'fedavg', options: {} },
  { strategy: 'fedmedian', options: {} },
  { strategy: 'fedtrimmedavg', options: { trim: 0.3 } },
  { strategy: 'krum', options: { byzantine: ATTACKERS } },
  { strategy: 'multikrum', options: { byzantine: ATTACKERS } },
] as const

/** Returns rows around ten overlapping centers, the same for every device. */
const rowsOf = (seed: number, count: number): Dataset => {
  const corners = seededRandom(1)
  const centres = Float64Array.from({ length: SHAPE.classes * SHAPE.features }, () => corners.normal(0, 0.6))
  const random = seededRandom(1000 + seed)
  const labels = Uint32Array.from({ length: count }, () => Math.floor(random.uniform() * SHAPE.classes))
  const features = Float64Array.from({ length: count * SHAPE.features }, (_, at) => {
    const label = labels[Math.floor(at / SHAPE.features)]!
    return random.normal(centres[label * SHAPE.features + (at % SHAPE.features)]!, 1)
  })
  return { featureCount: SHAPE.features, features, labels }
}

const attack = (global: Uint8Array, update: Uint8Array): Uint8Array<ArrayBuffer> => {
  const from = decodeModel(global)
  const to = decodeModel(update)
  const tensors = to.tensors.map((tensor, index) => ({
    ...tensor,
    data: tensor.data.map((value, at) => {
      const start = from.tensors[index]!.data[at]!
      return start - STRENGTH * (value - start)
    }),
  }))
  return encodeModel(tensors, to.dtypes)
}

/** Prints the accuracy on unseen rows, with and without the attack, as a Markdown table. */
export const benchByzantine = (): Promise<void> =>
  withCleanUps(async (cleanUps) => {
    const { port } = await startProgram(cleanUps, { name: 'service', program: buildProgram().service })
    const unseen = rowsOf(999, 2000)
    console.log('| strategy | attacked | not attacked |\n|---|---|---|')
    for (const { strategy, options } of CANDIDATES) {
      const accuracies: number[] = []
      for (const isAttacked of [true, false]) {
        const operator = await operate(port, `${strategy}-${isAttacked}`)
        const fleet = await operator.trainees(DEVICES)
        const model = await operator.beginner(SHAPE)
        const job = await operator.start({
          model,
          strategy,
          strategy_options: options,
          rounds: ROUNDS,
          min_devices: DEVICES,
          hyperparameters: { local_epochs: 2, learning_rate: 0.05, batch_size: 10 },
        })
        const done = await playRounds(operator, job, fleet, async (index, roundId) => {
          const { device, name: deviceId } = fleet[index]!
          await takePart(device, roundId, async (weights, plan, signal) => {
            const rows = splitDataset(rowsOf(index, ROWS), 0.1, index)
            const update = await trainLocally(weights, rows, plan, { deviceId, signal })
            if (!isAttacked || index >= ATTACKERS) return update
            return { ...update, weights: attack(weights!, update.weights) }
          })
        })
        if (done.status !== 'completed') throw new Error(`${strategy}: ${done.reason}`)
        accuracies.push(evaluate((await operator.result(done)).tensors, unseen).accuracy)
      }
      console.log(`| ${strategy} | ${accuracies.map((accuracy) => accuracy.toFixed(3)).join(' | ')} |`)
    }
  })
