import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { createClient, unwrap } from '../../src/client/client.ts'
import { emptyFolder, freshDataDir } from '../databases.ts'
import { formOf, startWorld } from '../world.ts'
import { onServer, type RunningService, runService, until } from './service-process.ts'

const update = (letter: string) => readFileSync(new URL(`../fixtures/weights/net_${letter}.pt`, import.meta.url))
const SAMPLES = { a: 10, b: 20, c: 70 } as const
type Letter = keyof typeof SAMPLES

type Service = Pick<RunningService, 'baseUrl'>

const register = async ({ baseUrl }: Service, deviceId: string): Promise<string> =>
  (await unwrap(createClient({ baseUrl }).POST('/api/v1/devices/register', { body: { device_id: deviceId } }))).api_key

const startRound = async ({ baseUrl }: Service, apiKey: string): Promise<string> => {
  const body = { target_devices: 3, min_devices: 3, hyperparameters: {} }
  return (await unwrap(createClient({ baseUrl, apiKey }).POST('/api/v1/training/rounds/start', { body }))).id
}

const submit = async ({ baseUrl }: Service, apiKey: string, round: string, letter: Letter): Promise<number> => {
  const response = await fetch(`${baseUrl}/api/v1/training/rounds/${round}/updates`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}` },
    body: formOf(update(letter), { num_samples: SAMPLES[letter] }),
  })
  await response.arrayBuffer()
  return response.status
}

const roundOf = (service: Service, apiKey: string, round: string) =>
  unwrap(
    createClient({ baseUrl: service.baseUrl, apiKey }).GET('/api/v1/training/rounds/{round_id}/status', {
      params: { path: { round_id: round } },
    }),
  )

/** Runs a round with three devices, calling `interrupt` before steps 0 to 3; returns the path of the result. */
const playRound = async (
  first: Service,
  interrupt: (step: number, round: string, keys: readonly string[]) => Promise<Service>,
): Promise<string> => {
  const letters: Letter[] = ['a', 'b', 'c']
  const keys: string[] = []
  for (const letter of letters) keys.push(await register(first, `device-${letter}`))
  const round = await startRound(first, keys[0]!)
  for (const [step, letter] of letters.entries()) {
    const service = await interrupt(step, round, keys)
    expect(await submit(service, keys[step]!, round, letter)).toBe(201)
  }
  const service = await interrupt(3, round, keys)
  const seen = await until(
    () => roundOf(service, keys[0]!, round),
    ({ status }) => status === 'completed' || status === 'failed',
  )
  expect(seen).toMatchObject({ status: 'completed', completed_devices: 3, failed_devices: 0 })
  return seen.aggregated_model_path ?? ''
}

/** Sends the first part of an update; resolves when the connection is cut. */
const submitHalf = async ({ baseUrl }: Service, apiKey: string, round: string): Promise<unknown> => {
  const half = new ReadableStream({
    start(controller) {
      const head = '--x\r\ncontent-disposition: form-data; name="file"; filename="a.pt"\r\n\r\n'
      controller.enqueue(new TextEncoder().encode(head))
      controller.enqueue(update('a').subarray(0, 1000))
    },
  })
  return fetch(`${baseUrl}/api/v1/training/rounds/${round}/updates`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'multipart/form-data; boundary=x' },
    body: half,
    duplex: 'half',
  } as RequestInit).catch(() => 'cut off')
}

describe('a service that is killed', () => {
  it('at any step of a round, or in the middle of an upload, completes the round with the same bytes', async () => {
    const world = await startWorld({ isRealTime: true })
    const undisturbed = await playRound(world, async () => world)
    expect(undisturbed).toMatch(/^sha256\//)

    const dataDir = await freshDataDir()
    let service = await runService(dataDir)
    const disturbed = await playRound(service, async (step, round, keys) => {
      if (step === 0) return service
      const broken = step === 1 ? submitHalf(service, keys[1]!, round) : null
      if (broken !== null) await new Promise((resolve) => setTimeout(resolve, 300))
      await service.kill()
      expect(await broken).toBe(step === 1 ? 'cut off' : null)
      service = await runService(dataDir)
      // Nothing of the upload that was cut off is kept.
      if (step < 3)
        expect(await roundOf(service, keys[0]!, round)).toMatchObject({ status: 'active', completed_devices: step })
      return service
    })
    expect(disturbed).toBe(undisturbed)
    expect(await service.abandon(), 'as if `svc up` had been killed').toBe(0)
  })
})

describe('a service that is asked to stop', () => {
  it('finishes what is in progress, drops nothing that it accepted, and exits with 0', async () => {
    const service = await runService(await emptyFolder(), await onServer())
    const beats = Array.from({ length: 20 }, (_, n) => register(service, `device-${n}`))
    await Promise.race(beats)
    const code = service.terminate()
    const keys = await Promise.allSettled(beats)
    expect(await code).toBe(0)
    expect(keys.filter((key) => key.status === 'fulfilled').length).toBeGreaterThan(0)
  })
})

describe('a start that cannot succeed', () => {
  it('says what is wrong, shows no password, and exits with 1', async () => {
    const settings = { SERVICE_DATABASE_URL: 'postgres://u:hunter2@127.0.0.1:1/x' }
    const failure = await runService(await emptyFolder(), settings).then(
      () => 'it started',
      (error: Error) => error.message,
    )
    expect(failure).toContain('ended with code 1')
    expect(failure).toContain('SERVICE_DATABASE_URL')
    expect(failure).not.toContain('hunter2')
  })
})
