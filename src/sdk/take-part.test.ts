import { expect, test, vi } from 'vitest'
import { startWorld } from '../../test/world.ts'
import { unwrap } from '../client/client.ts'
import type { CallOptions, Device } from './device.ts'
import { createDevice } from './device-client.ts'
import { takeEvaluation, takePart } from './take-part.ts'
import { trainLocally } from './trainers/built-in.ts'
import { syntheticDevices } from './trainers/synthetic.ts'

const data = syntheticDevices({ alpha: 1, beta: 1, devices: 3, seed: 1, features: 5, classes: 3, maxRows: 60 })

test('devices learn of a round from heartbeats, train, and improve the global model', async () => {
  const world = await startWorld()
  const devices = await Promise.all(
    data.map(async (rows, index) => {
      const now = () => world.now().getTime()
      const device = createDevice({ baseUrl: world.baseUrl, deviceId: `phone-${index}`, platform: 'browser', now })
      const { apiKey } = await device.register()
      return { rows, device, apiKey }
    }),
  )
  const key = devices[0]!.apiKey
  const losses: number[] = []
  for (let number = 1; number <= 3; number++) {
    const hyperparameters = { classes: 3, local_epochs: 5, learning_rate: 0.05 }
    const body = { target_devices: 3, min_devices: 3, hyperparameters }
    const { id } = await unwrap(world.client(key).POST('/api/v1/training/rounds/start', { body }))
    const parts = await Promise.all(
      devices.map(async ({ rows, device }) => {
        const { pendingRoundId } = await device.heartbeat()
        const { deviceId } = device
        return takePart(device, pendingRoundId!, (weights, plan, signal) =>
          trainLocally(weights, rows, plan, { deviceId, signal }),
        )
      }),
    )
    expect(parts.map(({ plan, submission }) => [plan.roundId, submission])).toEqual(
      Array(3).fill([id, { updateId: expect.any(String), alreadyKept: false }]),
    )
    const judged = parts.flatMap(({ globalModel }) => (globalModel ? [globalModel.loss] : []))
    if (judged.length > 0) losses.push(judged.reduce((sum, loss) => sum + loss, 0))
    await vi.waitFor(async () => {
      await world.service.runDueTasks()
      const { body: round } = await world.request('GET', '/api/v1/training/rounds/current', { key })
      expect(round).toMatchObject({ id, status: 'completed' })
    }, 60_000)
  }
  // Evaluated in rounds 2 and 3, which distributed a model.
  expect(losses).toHaveLength(2)
  expect(losses[1]).toBeLessThan(losses[0]!)
})

test("a trainer's error is reported to the service, and thrown", async () => {
  const world = await startWorld()
  const device = createDevice({ baseUrl: world.baseUrl, deviceId: 'phone', now: () => world.now().getTime() })
  const { apiKey } = await device.register()
  const body = { target_devices: 1, min_devices: 1 }
  const { id } = await unwrap(world.client(apiKey).POST('/api/v1/training/rounds/start', { body }))
  const trainer = async (): Promise<never> => {
    throw new Error('no battery')
  }
  await expect(takePart(device, id, trainer)).rejects.toThrow('no battery')
  const { body: part } = await world.request('GET', `/api/v1/training/rounds/${id}/selection`, { key: apiKey })
  expect(part).toMatchObject({ state: 'failed', reason: 'no battery' })
  expect(await device.reportFailure(id, 'again')).toBe(false)
  await expect(takePart(device, id, trainer)).rejects.toThrow('no battery')
})

test.each([
  [undefined, 'this one returned undefined'],
  [{ numSamples: 3 }, 'weights is missing'],
  [{ weights: [1, 2], report: { numSamples: 3 } }, 'weights is not a Uint8Array with the bytes of a weight file'],
  [{ weights: new Uint8Array(4), numSamples: 3 }, 'report is missing'],
  [{ weights: new Uint8Array(4), report: { num_samples: 3 } }, 'report.numSamples is missing'],
  [
    { weights: new Uint8Array(4), report: { numSamples: 0 } },
    'report.numSamples is 0, not a whole number of at least 1',
  ],
])(
  'a trainer with an invalid result gets an error that says what is missing, as does the service: %j',
  async (returned, fault) => {
    const world = await startWorld()
    const device = createDevice({ baseUrl: world.baseUrl, deviceId: 'phone', now: () => world.now().getTime() })
    const { apiKey } = await device.register()
    const body = { target_devices: 1, min_devices: 1 }
    const { id } = await unwrap(world.client(apiKey).POST('/api/v1/training/rounds/start', { body }))
    const reason = `A trainer returns { weights, report: { numSamples, localLoss?, localAccuracy? } }; ${fault}.`
    await expect(takePart(device, id, async () => returned as never)).rejects.toThrow(reason)
    const { body: part } = await world.request('GET', `/api/v1/training/rounds/${id}/selection`, { key: apiKey })
    expect(part).toMatchObject({ state: 'failed', reason })
  },
)

test('an aborted part waits only briefly for its report', async () => {
  const over = new Error('took 5 s')
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => AbortSignal.abort(over))
  const reports: unknown[] = []
  /** Rejects with the reason of an aborted signal, like a call to a service that does not respond. */
  const unanswered = (options: CallOptions = {}): Promise<never> =>
    options.signal?.aborted ? Promise.reject(options.signal.reason) : new Promise(() => undefined)
  const report = (_round: string, reason: unknown, options?: CallOptions) => {
    reports.push(reason)
    return unanswered(options)
  }
  const plan = (_round: string, options?: CallOptions) => unanswered(options)
  const device = {
    plan,
    evaluationPlan: plan,
    reportFailure: report,
    submitEvaluation: report,
  } as unknown as Device
  const signal = AbortSignal.abort(new Error('the page was closed'))
  const never = async () => expect.unreachable()
  await expect(takePart(device, 'r', never, { signal })).rejects.toThrow('the page was closed')
  await expect(takeEvaluation(device, 'r', never, { signal })).rejects.toThrow('the page was closed')
  expect(reports).toEqual(['the page was closed', { failureReason: 'the page was closed' }])
  expect(timeout.mock.calls).toEqual([[5000], [5000]])
  timeout.mockRestore()
})
