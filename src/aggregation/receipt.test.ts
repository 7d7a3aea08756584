import { expect, it } from 'vitest'
import { buildReceipt } from './receipt.ts'

const update = (deviceId: string, numSamples: number) => ({
  deviceId,
  updateId: `update of ${deviceId}`,
  sha256: deviceId.repeat(3),
  numSamples,
})

it('lists strategy, kernel, inputs in the order of device IDs, and output', () => {
  const receipt = buildReceipt({
    strategy: 'fedavg',
    globalModelSha256: 'aa',
    updates: [update('b', 3), update('Z', 0), update('a', 1)],
    weights: [
      { id: 'Z', weight: 0 },
      { id: 'a', weight: 0.25 },
      { id: 'b', weight: 0.75 },
    ],
    outputSha256: 'bb',
  })
  expect(receipt).toEqual({
    strategy: 'fedavg',
    kernel: { name: 'wasm-f64', version: '1' },
    order: 'device_id',
    global_model_sha256: 'aa',
    updates: [
      { device_id: 'Z', update_id: 'update of Z', sha256: 'ZZZ', num_samples: 0, weight: 0 },
      { device_id: 'a', update_id: 'update of a', sha256: 'aaa', num_samples: 1, weight: 0.25 },
      { device_id: 'b', update_id: 'update of b', sha256: 'bbb', num_samples: 3, weight: 0.75 },
    ],
    output_sha256: 'bb',
  })
})

it('refuses an update for which the aggregation returned no weight', () => {
  const parts = {
    strategy: 'fedavg',
    globalModelSha256: null,
    updates: [update('a', 1)],
    weights: [],
    outputSha256: '',
  }
  expect(() => buildReceipt(parts)).toThrow("The aggregation returned no weight for device 'a'.")
})
