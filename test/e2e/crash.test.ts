import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { createClient, unwrap } from '../../src/client/client.ts'
import { freshDataDir } from '../databases.ts'
import { formOf } from '../world.ts'
import { type RunningService, runService, until } from './service-process.ts'

const update = (letter: string) => readFileSync(new URL(`../fixtures/weights/net_${letter}.pt`, import.meta.url))
const SAMPLES = { a: 10, b: 20, c: 70 } as const
type Letter = keyof typeof SAMPLES

const register = async ({ baseUrl }: RunningService, deviceId: string): Promise<string> =>
  (await unwrap(createClient({ baseUrl }).POST('/api/v1/devices/register', { body: { device_id: deviceId } }))).api_key

const startRound = async ({ baseUrl }: RunningService, apiKey: string): Promise<string> => {
  const body = { target_devices: 3, min_devices: 3, hyperparameters: {} }
  return (await unwrap(createClient({ baseUrl, apiKey }).POST('/api/v1/training/rounds/start', { body }))).id
}

const submit = async ({ baseUrl }: RunningService, apiKey: string, round: string, letter: Letter): Promise<number> => {
  const response = await fetch(`${baseUrl}/api/v1/training/rounds/${round}/updates`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}` },
    body: formOf(update(letter), { num_samples: SAMPLES[letter] }),
  })
  await response.arrayBuffer()
  return response.status
}

const roundOf = (service: RunningService, apiKey: string, round: string) =>
  unwrap(
    createClient({ baseUrl: service.baseUrl, apiKey }).GET('/api/v1/training/rounds/{round_id}/status', {
      params: { path: { round_id: round } },
    }),
  )

/** Runs a round with three devices, calling `interrupt` before steps 0 to 3; returns the path of the result. */
const playRound = async (
  interrupt: (step: number, service: RunningService) => Promise<RunningService>,
): Promise<string> => {
  const dataDir = await freshDataDir()
  let service = await runService(dataDir)
  const letters: Letter[] = ['a', 'b', 'c']
  const keys: string[] = []
  for (const letter of letters) keys.push(await register(service, `device-${letter}`))
  const round = await startRound(service, keys[0]!)
  for (const [step, letter] of letters.entries()) {
    service = await interrupt(step, service)
    const status = await submit(service, keys[step]!, round, letter)
    expect([201, 409]).toContain(status)
  }
  service = await interrupt(3, service)
  const seen = await until(
    () => roundOf(service, keys[0]!, round),
    ({ status }) => status === 'completed' || status === 'failed',
  )
  expect(seen).toMatchObject({ status: 'completed', completed_devices: 3, failed_devices: 0 })
  expect(await service.terminate()).toBe(0)
  return seen.aggregated_model_path ?? ''
}

describe('a service that is killed', () => {
  it('at any step of a round completes it with the same bytes', async () => {
    const restart = async (dataDir: string, service: RunningService): Promise<RunningService> => {
      await service.kill()
      return runService(dataDir)
    }
    const playKilledBefore = async (steps: readonly number[]): Promise<string> => {
      let folder: string | null = null
      return playRound(async (step, service) => {
        folder ??= /Data: (.+), database/.exec(service.output())?.[1] ?? ''
        return steps.includes(step) ? restart(folder, service) : service
      })
    }
    const [undisturbed, disturbed] = await Promise.all([[], [1, 2, 3]].map(playKilledBefore))
    expect(undisturbed).toMatch(/^sha256\//)
    expect(disturbed).toBe(undisturbed)
  })

  it('in the middle of an upload keeps nothing of it, and accepts it again', async () => {
    const dataDir = await freshDataDir()
    let service = await runService(dataDir)
    const key = await register(service, 'device-a')
    const round = await startRound(service, key)
    const half = new ReadableStream({
      start(controller) {
        const head = '--x\r\ncontent-disposition: form-data; name="file"; filename="a.pt"\r\n\r\n'
        controller.enqueue(new TextEncoder().encode(head))
        controller.enqueue(update('a').subarray(0, 1000))
      },
    })
    const broken = fetch(`${service.baseUrl}/api/v1/training/rounds/${round}/updates`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'multipart/form-data; boundary=x' },
      body: half,
      duplex: 'half',
    } as RequestInit).catch(() => 'cut off')
    await new Promise((resolve) => setTimeout(resolve, 300))
    await service.kill()
    expect(await broken).toBe('cut off')
    service = await runService(dataDir)
    expect(await roundOf(service, key, round)).toMatchObject({ status: 'active', completed_devices: 0 })
    expect(await submit(service, key, round, 'a')).toBe(201)
  })
})

describe('a service that is asked to stop', () => {
  it('finishes what is in progress, drops nothing that it accepted, and exits with 0', async () => {
    const service = await runService(await freshDataDir())
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
    const failure = await runService(await freshDataDir(), settings).then(
      () => 'it started',
      (error: Error) => error.message,
    )
    expect(failure).toContain('ended with code 1')
    expect(failure).toContain('SERVICE_DATABASE_URL')
    expect(failure).not.toContain('hunter2')
  })
})
