import { createDevice, type Device, localTrainer, takePart } from 'tributary/sdk'

const rows = { featureCount: 1, features: Float64Array.of(0.1, 0.9, 0.2, 0.8), labels: Uint32Array.of(0, 1, 0, 1) }

export const enroll = async (baseUrl: string, deviceId: string): Promise<{ device: Device; apiKey: string }> => {
  const device = createDevice({ baseUrl, deviceId })
  const { apiKey } = await device.register()
  return { device, apiKey }
}

/** Takes part in the next round; returns the number of rows that its update counts for. */
export const takeNextRound = async (device: Device): Promise<number> => {
  const { pendingRoundId } = await device.heartbeat({}, { waitSeconds: 20 })
  if (pendingRoundId === null) throw new Error('no round awaits this device')
  const trainer = localTrainer({ train: rows, heldOut: rows }, { deviceId: device.deviceId })
  const { report } = await takePart(device, pendingRoundId, trainer)
  return report.numSamples
}
