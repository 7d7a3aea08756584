import { setTimeout as sleep } from 'node:timers/promises'
import { type FleetDevice, ORGANIZATION } from './fleet.ts'
import type { ServiceUnderTest } from './service-under-test.ts'

const UPLOADS_AT_ONCE = 8
const LOOKS = 9

export interface UpdateRound {
  readonly uploadSeconds: number
  /** From the response to the last update until the round is completed. */
  readonly aggregateSeconds: number
  readonly bytesBefore: number
  readonly peakBytes: number
  /** Durations of the requests that the round's page sends. */
  readonly looksMs: readonly number[]
}

const requester = (service: ServiceUnderTest) => async (key: string, method: string, path: string, body?: object) => {
  const isForm = body instanceof FormData
  const send = () =>
    fetch(`http://127.0.0.1:${service.port}/api/v1/training/rounds${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body && !isForm && { 'content-type': 'application/json' }) },
      ...(body && { body: isForm ? body : JSON.stringify(body) }),
    })
  let response = await send()
  // Retries as devices do: a store may be too slow for eight uploads at once.
  while (response.status === 503) {
    await sleep(1000 * Number(response.headers.get('retry-after') ?? 1))
    response = await send()
  }
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}: ${text}`)
  return JSON.parse(text) as Record<string, unknown>
}

/** Unique weights for each device: float32 zeros after its number, so that no two files are equal. */
const updateOf = (index: number, zeros: Uint8Array<ArrayBuffer>): FormData => {
  const form = new FormData()
  form.append('file', new Blob([new Float32Array([index + 1]), zeros]), 'update.bin')
  form.append('num_samples', '10')
  return form
}

const inTurns = async (
  devices: readonly FleetDevice[],
  work: (device: FleetDevice, index: number) => Promise<unknown>,
) => {
  let next = 0
  const worker = async (): Promise<void> => {
    for (let at = next++; at < devices.length; at = next++) await work(devices[at]!, at)
  }
  await Promise.all(Array.from({ length: UPLOADS_AT_ONCE }, worker))
}

/**
 * Runs a round to which every device submits an update of this size, until it ends. Calls `uploaded` after each update, and
 * `beforeLast` when one is missing.
 */
export const runUpdateRound = async (
  service: ServiceUnderTest,
  fleet: readonly FleetDevice[],
  bytes: number,
  { uploaded, beforeLast }: { readonly uploaded?: () => void; readonly beforeLast?: () => void } = {},
): Promise<UpdateRound> => {
  const ask = requester(service)
  const key = fleet[0]!.key
  const size = fleet.length
  const start = { org_id: ORGANIZATION, target_devices: size, min_devices: size, timeout_seconds: 3600 }
  const { id } = await ask(key, 'POST', '/start', start)
  const zeros = new Uint8Array(bytes - 4)
  const began = performance.now()
  const submit = async (device: FleetDevice, index: number): Promise<void> => {
    await ask(device.key, 'POST', `/${id}/updates`, updateOf(index, zeros))
    uploaded?.()
  }
  await inTurns(fleet.slice(0, -1), submit)
  beforeLast?.()
  await submit(fleet.at(-1)!, size - 1)
  const submitted = performance.now()
  const bytesBefore = service.residentBytes()
  service.forgetPeak()
  let status: unknown
  while (status !== 'completed') {
    status = (await ask(key, 'GET', `/${id}/status`)).status
    if (status === 'failed') throw new Error(`The round of ${size} failed.`)
    // Polls at intervals of at least a fiftieth of the elapsed time, so that polling costs little.
    await sleep(Math.max(20, (performance.now() - submitted) / 50))
  }
  const aggregateSeconds = (performance.now() - submitted) / 1000
  const peakBytes = service.peakBytes()
  const looksMs: number[] = []
  for (let look = 0; look < LOOKS; look++) {
    const from = performance.now()
    const paths = ['status', 'updates?limit=100', 'participants?limit=100']
    await Promise.all(paths.map((path) => ask(key, 'GET', `/${id}/${path}`)))
    looksMs.push(performance.now() - from)
  }
  return { uploadSeconds: (submitted - began) / 1000, aggregateSeconds, bytesBefore, peakBytes, looksMs }
}
