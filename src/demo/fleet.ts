import type { Device } from '../sdk/device.ts'
import { createDevice } from '../sdk/device-client.ts'
import { takePart } from '../sdk/take-part.ts'
import { trainLocally } from '../sdk/trainers/built-in.ts'
import type { Split } from '../sdk/trainers/dataset.ts'
import { type Evaluation, evaluate } from '../sdk/trainers/train.ts'
import { decodeModel } from '../sdk/trainers/weights-codec.ts'

/** Devices in this process that talk to the service over HTTP. Each has its own data, which never leaves it. */
export interface Fleet {
  /** The first device's key. With open enrollment it may also start rounds and read models. */
  readonly firstKey: string
  /** The mean over all held-out rows of all devices. */
  evaluate(modelFile: Uint8Array): Evaluation
  /** Stops the devices' heartbeats. Rejects with a device's error, if there was one. */
  stop(): Promise<void>
}

/** Registers a device for each split, and lets all of them wait for rounds. */
export const startFleet = async (baseUrl: string, splits: readonly Split[]): Promise<Fleet> => {
  const stopping = new AbortController()
  const keys: string[] = []
  const devices: Device[] = []
  for (const [index] of splits.entries()) {
    const deviceId = `demo-${String(index + 1).padStart(2, '0')}`
    const device = createDevice({ baseUrl, deviceId, platform: 'linux', capabilities: { demo: true } })
    keys.push((await device.register()).apiKey)
    devices.push(device)
  }
  const lives = devices.map((device, index) => live(device, splits[index]!, stopping.signal))
  const outcomes = Promise.allSettled(lives)

  return {
    firstKey: keys[0]!,
    evaluate: (modelFile) => evaluateEverywhere(modelFile, splits),
    async stop() {
      stopping.abort()
      for (const outcome of await outcomes) if (outcome.status === 'rejected') throw outcome.reason
    },
  }
}

/** Sends heartbeats that wait for rounds, and takes part in every round. */
const live = async (device: Device, data: Split, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    try {
      const { pendingRoundId } = await device.heartbeat(undefined, { waitSeconds: 25, signal })
      if (pendingRoundId === null) continue
      await takePart(
        device,
        pendingRoundId,
        (weights, plan) => trainLocally(weights, data, plan, { deviceId: device.deviceId, signal }),
        { signal },
      )
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }
}

const evaluateEverywhere = (modelFile: Uint8Array, splits: readonly Split[]): Evaluation => {
  const { tensors } = decodeModel(modelFile)
  let count = 0
  let loss = 0
  let accuracy = 0
  for (const { heldOut } of splits) {
    const one = evaluate(tensors, heldOut)
    count += one.count
    loss += one.loss * one.count
    accuracy += one.accuracy * one.count
  }
  return { count, loss: loss / count, accuracy: accuracy / count }
}
