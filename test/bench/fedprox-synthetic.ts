// FedProx's Synthetic(1,1) experiment (Li et al. 2020, section 5.2) over HTTP: 90% of the devices are stragglers.
import { takePart } from '../../src/sdk/take-part.ts'
import { trainLocally } from '../../src/sdk/trainers/built-in.ts'
import { rowCount, type Split } from '../../src/sdk/trainers/dataset.ts'
import { seededRandom, seedFrom } from '../../src/sdk/trainers/random.ts'
import { syntheticDevices } from '../../src/sdk/trainers/synthetic.ts'
import { evaluate } from '../../src/sdk/trainers/train.ts'
import type { Model } from '../../src/sdk/trainers/weights-codec.ts'
import { buildProgram } from './built-program.ts'
import { withCleanUps } from './clean-ups.ts'
import { startProgram } from './service-under-test.ts'
import { operate, playRounds } from './training/trainees.ts'

const SEEDS = [1, 2, 3, 4, 5]
const DEVICES = 30
const PER_ROUND = 10
const STRAGGLERS = 9
const ROUNDS = 60
const EPOCHS = 20
const SHAPE = { features: 60, classes: 10 }
/** The recipe's lognormal distribution has a very long tail; those devices would take most of the time. */
const MAX_ROWS = 500

const CANDIDATES = [
  { name: 'FedAvg, which drops them', strategy: 'fedavg', options: {} },
  { name: 'FedProx, mu = 0', strategy: 'fedprox', options: { mu: 0 } },
  { name: 'FedProx, mu = 1', strategy: 'fedprox', options: { mu: 1 } },
] as const

/** Computes the loss on training rows and the accuracy on held-out rows, over all devices. */
const judge = ({ tensors }: Model, fleet: readonly Split[]) => {
  const sum = { loss: 0, rows: 0, right: 0, heldOut: 0 }
  for (const { train, heldOut } of fleet) {
    sum.loss += evaluate(tensors, train).loss * rowCount(train)
    sum.rows += rowCount(train)
    sum.right += evaluate(tensors, heldOut).accuracy * rowCount(heldOut)
    sum.heldOut += rowCount(heldOut)
  }
  return { loss: sum.loss / sum.rows, accuracy: sum.right / sum.heldOut }
}

/** Prints loss and accuracy of FedAvg and FedProx, per seed and averaged, as a Markdown table. */
export const benchFedproxSynthetic = (): Promise<void> =>
  withCleanUps(async (cleanUps) => {
    const { port } = await startProgram(cleanUps, { name: 'service', program: buildProgram().service })
    const lines: string[] = []
    for (const { name, strategy, options } of CANDIDATES) {
      const figures: { loss: number; accuracy: number }[] = []
      for (const seed of SEEDS) {
        const data = syntheticDevices({ alpha: 1, beta: 1, devices: DEVICES, seed, ...SHAPE, maxRows: MAX_ROWS })
        const operator = await operate(port, `${strategy}-${Object.values(options).join()}-${seed}`)
        const fleet = await operator.trainees(DEVICES)
        const model = await operator.beginner(SHAPE)
        const job = await operator.start({
          model,
          strategy,
          strategy_options: options,
          rounds: ROUNDS,
          min_devices: 1,
          target_devices: PER_ROUND,
          hyperparameters: { local_epochs: EPOCHS, learning_rate: 0.01, batch_size: 10 },
        })
        let round = 0
        const done = await playRounds(operator, job, fleet, async (index, roundId, chosen) => {
          if (index === chosen[0]) round++
          // The same for all contestants: the number of stragglers, and how much of their work they complete.
          const random = seededRandom(seedFrom(`${seed} ${round} ${chosen.indexOf(index)}`))
          const isStraggler = chosen.indexOf(index) < STRAGGLERS
          const epochs = isStraggler ? 1 + Math.floor(random.uniform() * EPOCHS) : EPOCHS
          const { device, name: deviceId } = fleet[index]!
          if (isStraggler && strategy === 'fedavg') {
            await device.reportFailure(roundId, 'too slow for this round')
            return
          }
          await takePart(device, roundId, (weights, plan, signal) => {
            const hyperparameters = { ...plan.hyperparameters, local_epochs: epochs }
            return trainLocally(weights, data[index]!, { ...plan, hyperparameters }, { deviceId, signal })
          })
        })
        if (done.status !== 'completed') throw new Error(`${name}, seed ${seed}: ${done.reason}`)
        figures.push(judge(await operator.result(done), data))
      }
      const mean = (of: (one: (typeof figures)[number]) => number) =>
        figures.reduce((sum, one) => sum + of(one), 0) / figures.length
      const cells = [...figures, { loss: mean((one) => one.loss), accuracy: mean((one) => one.accuracy) }]
      lines.push(`| ${name} | ${cells.map((c) => `${c.loss.toFixed(3)} / ${c.accuracy.toFixed(3)}`).join(' | ')} |`)
      console.log(lines.at(-1))
    }
    console.log(`\nLoss / accuracy after ${ROUNDS} rounds, ${STRAGGLERS} of ${PER_ROUND} devices stragglers:\n`)
    console.log(`| strategy | ${SEEDS.map((seed) => `seed ${seed}`).join(' | ')} | mean |`)
    console.log(`|---|${'---|'.repeat(SEEDS.length + 1)}`)
    console.log(lines.join('\n'))
  })
