import { setTimeout as sleep } from 'node:timers/promises'
import { ORGANIZATION } from './fleet.ts'
import type { ServiceUnderTest } from './service-under-test.ts'

const ROUNDS = '/api/v1/training/rounds'

/**
 * Starts a round and returns the duration of that request in ms. Then the starter submits an update, so that the round ends
 * (the service has no grace period) and the next one can start. Resolves when it has ended.
 */
export const startRound = async (service: ServiceUnderTest, key: string, targetDevices: number): Promise<number> => {
  const ask = async (method: string, path: string, body?: object | FormData): Promise<Record<string, unknown>> => {
    const response = await fetch(`http://127.0.0.1:${service.port}${ROUNDS}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body !== undefined && !(body instanceof FormData) && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: body instanceof FormData ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}: ${text}`)
    return JSON.parse(text) as Record<string, unknown>
  }

  const started = performance.now()
  const round = await ask('POST', '/start', {
    org_id: ORGANIZATION,
    target_devices: targetDevices,
    min_devices: 1,
  })
  const ms = performance.now() - started

  const form = new FormData()
  form.append('file', new Blob([new Float32Array([1, 2, 3, 4])]), 'update.bin')
  form.append('num_samples', '10')
  await ask('POST', `/${round.id}/updates`, form)
  for (;;) {
    const { status } = await ask('GET', `/${round.id}/status`)
    if (status === 'completed') return ms
    if (status === 'failed') throw new Error(`Round ${round.id} failed.`)
    await sleep(10)
  }
}
