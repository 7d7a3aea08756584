import type { Device } from '../../src/sdk/device.ts'
import { createDevice } from '../../src/sdk/device-client.ts'
import { memorySink } from '../../src/sdk/download.ts'
import { takePart } from '../../src/sdk/take-part.ts'
import { trainLocally } from '../../src/sdk/trainers/built-in.ts'
import { type SyntheticOptions, syntheticDevices } from '../../src/sdk/trainers/synthetic.ts'

// The code of a web page, bundled for the browser and called from the test. Only plain JSON is exchanged.

export const DATA: SyntheticOptions = {
  alpha: 1,
  beta: 1,
  devices: 3,
  seed: 7,
  features: 5,
  classes: 3,
  maxRows: 60,
}

let device: Device | null = null

const registered = (): Device => {
  if (device === null) throw new Error('register first')
  return device
}

/** Returns the device's internal id. */
export const register = async (baseUrl: string, deviceId: string): Promise<string> => {
  device = createDevice({ baseUrl, deviceId, platform: 'browser', capabilities: { agent: navigator.userAgent } })
  return (await device.register()).id
}

/** Waits until a round selects this device. */
export const awaitRound = async (): Promise<string | null> =>
  (await registered().heartbeat({ visible: !document.hidden }, { waitSeconds: 50 })).pendingRoundId

/** Trains on the rows of device number `rows`. */
export const work = async (roundId: string, rows: number) => {
  const { deviceId } = registered()
  const { weights, report, submission, globalModel } = await takePart(registered(), roundId, (global, plan, signal) =>
    trainLocally(global, syntheticDevices(DATA)[rows]!, plan, { deviceId, signal }),
  )
  return { weights: [...weights], report, submission, globalModel }
}

/** Downloads the round's model, starting with the first `have` bytes already present. */
export const resumeDownload = async (roundId: string, have: number): Promise<number[]> => {
  const plan = await registered().plan(roundId)
  const whole = await registered().model(plan)
  const sink = memorySink()
  await sink.append(whole!.slice(0, have))
  await registered().download(plan, sink)
  return [...sink.bytes()]
}

/** Returns the service's error for an unknown key, as seen by the page. */
export const refusal = async (baseUrl: string): Promise<unknown> => {
  const stranger = createDevice({ baseUrl, deviceId: 'stranger', apiKey: 'sk_live_nobody' })
  const error: unknown = await stranger.heartbeat().catch((thrown: unknown) => thrown)
  return error instanceof Error ? { ...error, message: error.message } : null
}
