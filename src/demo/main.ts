import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { rowCount } from '../sdk/trainers/dataset.ts'
import { initialModel } from '../sdk/trainers/dense-network.ts'
import { syntheticDevices } from '../sdk/trainers/synthetic.ts'
import type { Evaluation } from '../sdk/trainers/train.ts'
import { encodeModel } from '../sdk/trainers/weights-codec.ts'
import { startFleet } from './fleet.ts'
import { createOperator } from './operator.ts'
import { startService } from './service-process.ts'

const USAGE = `npm run demo -- [options]

Trains a model on devices that keep their data: a real service, real HTTP, FedProx's Synthetic(1,1) data.

  --devices N   registered devices (30)
  --rounds N    training rounds (12)
  --keep        leave the service and its devices running afterward, until Ctrl-C`

const SHAPE = { features: 60, classes: 10 }
const PLAN = { local_epochs: 10, batch_size: 10, learning_rate: 0.02, proximal_mu: 1 }
/** Chosen among a few seeds, because it determines how well one model can fit all devices. */
const SEED = 2
/** This recipe's sizes have a long tail: the largest device would have most of the rows, and of the waiting. */
const MAX_ROWS = 1000

interface Options {
  readonly devices: number
  readonly rounds: number
  readonly keep: boolean
}

const wrongUsage = (message: string): never => {
  console.error(`${message}\n\n${USAGE}`)
  process.exit(2)
}

const wholeNumber = (name: string, text: string, max: number): number => {
  const value = Number(text)
  if (Number.isInteger(value) && value >= 1 && value <= max) return value
  return wrongUsage(`--${name} must be a whole number from 1 to ${max}, got '${text}'.`)
}

const given = () =>
  parseArgs({
    options: {
      devices: { type: 'string', default: '30' },
      rounds: { type: 'string', default: '12' },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  }).values

const readOptions = (): Options => {
  let values: ReturnType<typeof given>
  try {
    values = given()
  } catch (error) {
    return wrongUsage((error as Error).message)
  }
  if (values.help) {
    console.log(USAGE)
    process.exit(0)
  }
  return {
    devices: wholeNumber('devices', values.devices, 1000),
    rounds: wholeNumber('rounds', values.rounds, 1000),
    keep: values.keep,
  }
}

const percent = (share: number): string => `${(share * 100).toFixed(1).padStart(5)}%`

const line = (round: string, devices: string, { loss, accuracy }: Evaluation, seconds: string): string =>
  [
    round.padStart(5),
    devices.padStart(12),
    loss.toFixed(4).padStart(8),
    percent(accuracy).padStart(9),
    seconds.padStart(8),
  ].join('  ')

/** Rewrites the current line on a terminal; otherwise prints nothing. */
const showLive = (text: string): void => {
  if (process.stdout.isTTY) process.stdout.write(`\r\x1b[2K${text}`)
}

const run = async ({ devices, rounds, keep }: Options): Promise<void> => {
  const dataDir = await mkdtemp(join(tmpdir(), 'tributary-demo-')).catch((error: Error) => {
    throw new Error(`${tmpdir()} cannot be used: ${error.message}. Set TMPDIR to a folder that this user may write to.`)
  })
  const service = await startService(dataDir)
  console.log(`The service runs at ${service.baseUrl}; its data is in ${dataDir}`)
  console.log(`The dashboard: ${service.baseUrl}`)
  const splits = syntheticDevices({ alpha: 1, beta: 1, devices, seed: SEED, maxRows: MAX_ROWS, ...SHAPE })
  const fleet = await startFleet(service.baseUrl, splits)
  const operator = createOperator(service.baseUrl, fleet.firstKey)
  const rows = splits.reduce((sum, split) => sum + rowCount(split.train), 0)
  const heldOut = splits.reduce((sum, split) => sum + rowCount(split.heldOut), 0)
  console.log(`${devices} devices are registered; they train on ${rows} rows and hold ${heldOut} out\n`)
  console.log('round  participants      loss   accuracy   seconds')

  const beginning = encodeModel(initialModel({ ...SHAPE, hidden: [], seed: SEED }), new Map())
  const first = fleet.evaluate(beginning)
  let latest = first
  console.log(line('0', '-', first, '-'))

  const jobId = await operator.startJob(await operator.addModel('synthetic', beginning), devices, rounds, PLAN)
  let number = 0
  let started = performance.now()
  const { latest_model_id: modelId } = await operator.ended(
    jobId,
    async (round) => {
      if (round.aggregated_model_id === null) return showLive('')
      const seconds = ((performance.now() - started) / 1000).toFixed(1)
      latest = fleet.evaluate(await operator.download(round.aggregated_model_id))
      showLive('')
      console.log(line(String(++number), `${round.completed_devices}/${devices}`, latest, seconds))
      started = performance.now()
    },
    (round) =>
      showLive(`round ${number + 1}: ${round.completed_devices} of ${devices} updates received (${round.status})`),
  )
  showLive('')
  if (!keep) await fleet.stop()

  const path = `/api/v1/models/${modelId}/versions/1/download`
  console.log(
    `\nAccuracy on the devices' held-out rows: ${percent(first.accuracy)} at round 0, ${percent(latest.accuracy)} now.`,
  )
  console.log(`The final model is ${modelId} in the catalog. Fetch it with:`)
  if (keep) {
    console.log(`  curl -H 'Authorization: Bearer ${fleet.firstKey}' -o model.safetensors ${service.baseUrl}${path}`)
    console.log(`\nThe service and its devices keep running until Ctrl-C. The dashboard: ${service.baseUrl}`)
    await new Promise((resolve) => process.once('SIGINT', resolve).once('SIGTERM', resolve))
    await fleet.stop()
  } else {
    console.log(`  SERVICE_DATA_DIR=${dataDir} npm start`)
    console.log(`  curl -H 'Authorization: Bearer ${fleet.firstKey}' -o model.safetensors http://127.0.0.1:8000${path}`)
  }
  await service.stop()
}

run(readOptions()).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
})
