// 20 devices pull one artifact of 1 GiB at once: from the service, from nginx that sends the service's files
// (SERVICE_DOWNLOADS=x-accel), and from nginx serving the same file.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { openAsBlob } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Pull, Pulled } from './artifact-clients.ts'
import { buildProgram } from './built-program.ts'
import { type CleanUps, withCleanUps } from './clean-ups.ts'
import { median, pairwise, printTable } from './figures.ts'
import { startNginx } from './nginx.ts'
import { writeRandomFile } from './random-file.ts'
import { startProgram } from './service-under-test.ts'

const MIB = 1024 * 1024
const SIZE = 1024 * MIB
const DEVICES = 20
const ROUNDS = 3

const startClients = (cleanUps: CleanUps) => {
  const child = fork(fileURLToPath(new URL('artifact-clients.ts', import.meta.url)), { execArgv: ['--import', 'tsx'] })
  cleanUps.add(() => void child.kill())
  return async (pull: Omit<Pull, 'connections' | 'bytes'>): Promise<Pulled> => {
    child.send({ ...pull, connections: DEVICES, bytes: SIZE })
    const [response] = (await once(child, 'message')) as [Pulled | { failure: string }]
    if ('failure' in response) throw new Error(response.failure)
    return response
  }
}

/** Prints total MB/s, the ratio to nginx, CPU time per GB, and the service's memory above idle. */
export const benchArtifactDownload = (): Promise<void> =>
  withCleanUps(async (cleanUps) => {
    const folder = cleanUps.folder('artifact')
    const source = join(folder, 'artifact.bin')
    const sha256 = writeRandomFile(source, SIZE)
    const data = join(folder, 'data')
    const settings = { SERVICE_DATA_DIR: data, SERVICE_DOWNLOADS: 'x-accel', SERVICE_TRUST_PROXY: 'loopback' }
    const service = await startProgram(cleanUps, { name: 'service', program: buildProgram().service, settings })
    const address = `http://127.0.0.1:${service.port}/api/v1`
    const ask = async (path: string, key: string | null, body: object): Promise<Record<string, string>> => {
      const isForm = body instanceof FormData
      const headers = {
        ...(key && { authorization: `Bearer ${key}` }),
        ...(!isForm && { 'content-type': 'application/json' }),
      }
      const response = await fetch(`${address}${path}`, {
        method: 'POST',
        headers,
        body: isForm ? body : JSON.stringify(body),
      })
      const text = await response.text()
      if (!response.ok) throw new Error(`${path} was answered with ${response.status}: ${text}`)
      return JSON.parse(text)
    }
    const key = (await ask('/devices/register', null, { device_id: 'bench' })).api_key!
    const model = (await ask('/models', key, { name: 'artifact' })).id!
    const form = new FormData()
    form.set('file', await openAsBlob(source), 'artifact.bin')
    await ask('/models/artifact/versions/upload', key, form)

    const nginx = await startNginx(cleanUps, {
      file: join(data, 'blobs/sha256', sha256.slice(0, 2), sha256),
      servicePort: service.port,
      blobs: join(data, 'blobs'),
    })
    if (nginx === null) console.log('THERE IS NO NGINX to compare with: install it, or name its program in NGINX.')
    const pull = startClients(cleanUps)
    const ours = { port: service.port, path: `/api/v1/models/${model}/versions/1/download`, key }
    const seconds: { service: number[]; front: number[]; nginx: number[] } = { service: [], front: [], nginx: [] }
    const cpu = { service: 0, front: 0, nginx: 0 }
    let slowest = 0
    await sleep(2000)
    const idle = service.residentBytes()
    service.forgetPeak()
    for (let round = 0; round < ROUNDS; round++) {
      const before = service.cpuSeconds()
      const pulled = await pull(ours)
      cpu.service += service.cpuSeconds() - before
      seconds.service.push(pulled.seconds)
      slowest = Math.max(slowest, pulled.seconds / Math.min(...pulled.each))
      if (nginx === null) continue
      const all = () => nginx.cpuSeconds() + service.cpuSeconds()
      const front = all()
      seconds.front.push((await pull({ ...ours, port: nginx.frontPort })).seconds)
      cpu.front += all() - front
      const start = nginx.cpuSeconds()
      seconds.nginx.push((await pull({ port: nginx.port, path: '/artifact', key })).seconds)
      cpu.nginx += nginx.cpuSeconds() - start
    }
    const peak = service.peakBytes() - idle

    const gigabytes = (DEVICES * SIZE) / 1e9
    const row = (name: string, took: readonly number[], used: number, memory: string): string[] => [
      name,
      ((gigabytes * 1000) / median(took)).toFixed(0),
      seconds.nginx.length === 0 ? '' : median(pairwise(seconds.nginx, took)).toFixed(2),
      (used / (gigabytes * ROUNDS)).toFixed(2),
      memory,
    ]
    printTable(
      [`1 GiB to ${DEVICES} devices at once`, 'MB/s', 'ratio to nginx', 'its CPU s for each GB', 'peak MiB above idle'],
      [
        row('service', seconds.service, cpu.service, (peak / MIB).toFixed(0)),
        ...(nginx === null ? [] : [row('service behind nginx, x-accel', seconds.front, cpu.front, '')]),
        ...(nginx === null ? [] : [row('nginx, sendfile', seconds.nginx, cpu.nginx, '')]),
      ],
    )
    console.log(
      `idle: ${(idle / MIB).toFixed(0)} MiB resident; the last device had it ${slowest.toFixed(2)} times as late as the first.`,
    )
  })
