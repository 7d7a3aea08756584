// One round with 20, 1,000 and 10,000 updates of 1 MB: the time to aggregate, memory, and how fast the round is shown.
import { setTimeout as sleep } from 'node:timers/promises'
import { buildProgram } from './built-program.ts'
import { withCleanUps } from './clean-ups.ts'
import { median, printTable } from './figures.ts'
import { type FleetDevice, heartbeatOf, ORGANIZATION, registerFleet } from './fleet.ts'
import { startLoadGenerator } from './load.ts'
import { type ServiceUnderTest, startProgram } from './service-under-test.ts'

const SIZES = [20, 1000, 10_000]
const BYTES = 1_000_000
const UPLOADS_AT_ONCE = 8
const LOOKS = 9

const asker = (service: ServiceUnderTest) => async (key: string, method: string, path: string, body?: object) => {
  const isForm = body instanceof FormData
  const response = await fetch(`http://127.0.0.1:${service.port}/api/v1/training/rounds${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body && !isForm && { 'content-type': 'application/json' }) },
    ...(body && { body: isForm ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}: ${text}`)
  return JSON.parse(text) as Record<string, unknown>
}

/** Weights of its own for each device: no two files have the same bytes. */
const updateOf = (index: number): FormData => {
  const form = new FormData()
  form.append('file', new Blob([new Float32Array(BYTES / 4).fill(index + 1)]), 'update.bin')
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

const measured = async (size: number): Promise<string[]> => {
  let row: string[] = []
  await withCleanUps(async (cleanUps) => {
    const load = startLoadGenerator(cleanUps)
    const settings = { SERVICE_CONVERSIONS: 'off' }
    const service = await startProgram(cleanUps, { name: `${size}`, program: buildProgram().service, settings })
    const fleet = await registerFleet(load, service, size)
    const ask = asker(service)
    const key = fleet[0]!.key
    const start = { org_id: ORGANIZATION, target_devices: size, min_devices: size, timeout_seconds: 3600 }
    const { id } = await ask(key, 'POST', '/start', start)
    await load.run({ port: service.port, connections: 64, calls: fleet.map(heartbeatOf) })
    const began = performance.now()
    await inTurns(fleet, (device, index) => ask(device.key, 'POST', `/${id}/updates`, updateOf(index)))
    const uploaded = performance.now()
    const before = service.residentBytes()
    service.forgetPeak()
    let status: unknown
    while (status !== 'completed') {
      status = (await ask(key, 'GET', `/${id}/status`)).status
      if (status === 'failed') throw new Error(`The round of ${size} failed.`)
      await sleep(20)
    }
    const seconds = (performance.now() - uploaded) / 1000
    const peak = service.peakBytes()
    const looks: number[] = []
    for (let look = 0; look < LOOKS; look++) {
      const from = performance.now()
      const paths = ['status', 'updates?limit=100', 'participants?limit=100']
      await Promise.all(paths.map((path) => ask(key, 'GET', `/${id}/${path}`)))
      looks.push(performance.now() - from)
    }
    row = [
      `${size}`,
      ((uploaded - began) / 1000).toFixed(1),
      seconds.toFixed(2),
      ((1000 * seconds) / size).toFixed(2),
      (before / 1e6).toFixed(0),
      (peak / 1e6).toFixed(0),
      median(looks).toFixed(0),
    ]
  })
  return row
}

export const benchManyUpdates = async (): Promise<void> => {
  const rows: string[][] = []
  for (const size of SIZES) rows.push(await measured(size))
  printTable(
    ['updates of 1 MB', 'upload s', 'aggregate s', 'ms each', 'MB before', 'MB at most', "the round's page ms"],
    rows,
  )
}
