import type { Device } from '../../src/sdk/device.ts'
import { createDevice } from '../../src/sdk/device-client.ts'
import { memorySink } from '../../src/sdk/download.ts'
import { takePart } from '../../src/sdk/take-part.ts'
import { trainLocally } from '../../src/sdk/trainers/built-in.ts'
import { type SyntheticOptions, syntheticDevices } from '../../src/sdk/trainers/synthetic.ts'

// A web page's own code: it is bundled for the browser and called from the test. What crosses over is plain JSON.

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

/** The device's internal id. */
export const register = async (baseUrl: string, deviceId: string): Promise<string> => {
  device = createDevice({ baseUrl, deviceId, platform: 'browser', capabilities: { agent: navigator.userAgent } })
  return (await device.register()).id
}

/** Waits at the service until a round wants this device. */
export const awaitRound = async (): Promise<string | null> =>
  (await registered().heartbeat({ visible: !document.hidden }, { waitSeconds: 50 })).pendingRoundId

/** Trains on the rows of the device number `rows`. */
export const work = async (roundId: string, rows: number) => {
  const { deviceId } = registered()
  const { weights, report, submission, globalModel } = await takePart(registered(), roundId, (global, plan, signal) =>
    trainLocally(global, syntheticDevices(DATA)[rows]!, plan, { deviceId, signal }),
  )
  return { weights: [...weights], report, submission, globalModel }
}

/** The round's model, of which the first `have` bytes are there already. */
export const resumeDownload = async (roundId: string, have: number): Promise<number[]> => {
  const plan = await registered().plan(roundId)
  const whole = await registered().model(plan)
  const sink = memorySink()
  await sink.append(whole!.slice(0, have))
  await registered().download(plan, sink)
  return [...sink.bytes()]
}

/** How the service refuses a stranger, as the page sees it. */
export const refusal = async (baseUrl: string): Promise<unknown> => {
  const stranger = createDevice({ baseUrl, deviceId: 'stranger', apiKey: 'sk_live_nobody' })
  const error: unknown = await stranger.heartbeat().catch((thrown: unknown) => thrown)
  return error instanceof Error ? { ...error, message: error.message } : null
}
