// A training job of 50 rounds with 200 simulated devices: rounds per minute, and the share of the devices' own training.
import { takePart } from '../../src/sdk/take-part.ts'
import { trainLocally } from '../../src/sdk/trainers/built-in.ts'
import { syntheticDevices } from '../../src/sdk/trainers/synthetic.ts'
import { buildProgram } from './built-program.ts'
import { withCleanUps } from './clean-ups.ts'
import { printTable } from './figures.ts'
import { startProgram } from './service-under-test.ts'
import { operate } from './training/trainees.ts'

const DEVICES = 200
const ROUNDS = 50
const SHAPE = { features: 60, classes: 10 }

/** Devices in this process wait for rounds by long polling, as agents do; the service is a separate process. */
export const benchTrainingJob = (): Promise<void> =>
  withCleanUps(async (cleanUps) => {
    const service = await startProgram(cleanUps, { name: 'service', program: buildProgram().service })
    const operator = await operate(service.port, 'job')
    const data = syntheticDevices({ alpha: 1, beta: 1, devices: DEVICES, seed: 1, ...SHAPE, maxRows: 100 })
    const fleet = await operator.trainees(DEVICES)
    const model = await operator.beginner(SHAPE)
    const cpuBefore = service.cpuSeconds()
    const began = performance.now()
    const job = await operator.start({
      model,
      rounds: ROUNDS,
      min_devices: DEVICES,
      hyperparameters: { local_epochs: 1, learning_rate: 0.01, batch_size: 10 },
    })
    const over = new AbortController()
    let trainingSeconds = 0
    const devices = fleet.map(async ({ device, name: deviceId }, index) => {
      while (!over.signal.aborted) {
        const { pendingRoundId } = await device.heartbeat(undefined, { waitSeconds: 20, signal: over.signal })
        if (pendingRoundId === null) continue
        await takePart(device, pendingRoundId, async (weights, plan, signal) => {
          const update = await trainLocally(weights, data[index]!, plan, { deviceId, signal })
          trainingSeconds += update.report.trainingTimeSeconds ?? 0
          return update
        })
      }
    })
    const detail = await (async () => {
      for (;;) {
        const seen = await operator.detail(job)
        if (seen.ended_by !== null) return seen
        await new Promise((resolve) => setTimeout(resolve, 200))
      }
    })()
    const seconds = (performance.now() - began) / 1000
    over.abort(new Error('The job has ended.'))
    await Promise.allSettled(devices)
    if (detail.status !== 'completed') throw new Error(`The job ended otherwise: ${detail.reason}`)
    const [first, last] = [detail.history[0]!, detail.history.at(-1)!]
    printTable(
      ['rounds', 'devices', 'seconds', 'rounds per minute', 'devices training', 'service CPU', 'loss first, last'],
      [
        [
          String(ROUNDS),
          String(DEVICES),
          seconds.toFixed(1),
          ((60 * ROUNDS) / seconds).toFixed(1),
          `${trainingSeconds.toFixed(1)} s (${((100 * trainingSeconds) / seconds).toFixed(0)}%)`,
          `${(service.cpuSeconds() - cpuBefore).toFixed(1)} s`,
          `${first.loss?.toFixed(3)}, ${last.loss?.toFixed(3)}`,
        ],
      ],
    )
  })
