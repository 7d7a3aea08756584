// Uploads and downloads one file of 1 GiB, compared with a shell that hashes and copies it.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { buildProgram } from './built-program.ts'
import { withCleanUps } from './clean-ups.ts'
import { median, pairwise, printTable } from './figures.ts'
import { writeRandomFile } from './random-file.ts'
import { type ServiceUnderTest, startProgram } from './service-under-test.ts'

const MIB = 1024 * 1024
const SIZE = 1024 * MIB
const ROUNDS = 5
const CHUNK = { highWaterMark: MIB }

/** Prints MB/s, ratios to the shell, and peak memory above the service's idle memory. */
export const benchTransfers = (): Promise<void> =>
  withCleanUps(async (cleanUps) => {
    const folder = cleanUps.folder('transfers')
    const source = join(folder, 'source')
    const copy = join(folder, 'copy')
    const sha256 = writeRandomFile(source, SIZE)
    const service = await startProgram(cleanUps, { name: 'embedded', program: buildProgram().service })
    const key = await registeredKey(service)
    const model = (await json(service, 'POST', '/api/v1/models', key, {})).id
    const versions = `/api/v1/models/${model}/versions`

    const shell: number[] = []
    const upload: number[] = []
    const download: number[] = []
    const peaks = { upload: 0, download: 0 }
    await sleep(2000)
    const idle = service.residentBytes()
    for (let round = 0; round < ROUNDS; round++) {
      shell.push(await secondsOf(async () => hashAndCopy(source, copy)))
      service.forgetPeak()
      upload.push(await secondsOf(() => uploadFile(service, `${versions}/upload`, key, source)))
      peaks.upload = Math.max(peaks.upload, service.peakBytes() - idle)
      service.forgetPeak()
      download.push(await secondsOf(() => downloadFile(service, `${versions}/latest/download`, key, copy, sha256)))
      peaks.download = Math.max(peaks.download, service.peakBytes() - idle)
    }

    const row = (name: string, seconds: readonly number[], peak: number | null): string[] => [
      name,
      (SIZE / 1e6 / median(seconds)).toFixed(0),
      median(pairwise(shell, seconds)).toFixed(2),
      peak === null ? '' : (peak / MIB).toFixed(0),
    ]
    printTable(
      ['1 GiB', 'MB/s', 'ratio to the shell', 'peak MiB above idle'],
      [
        row('shell: sha256sum & cp, sync', shell, null),
        row('upload (service hashes, writes, syncs)', upload, peaks.upload),
        row('download (client hashes, writes, syncs)', download, peaks.download),
      ],
    )
    console.log(`idle: ${(idle / MIB).toFixed(0)} MiB resident`)
  })

const hashAndCopy = (source: string, copy: string): void => {
  const command = 'sha256sum "$0" > /dev/null & cp "$0" "$1" && sync "$1" && wait'
  if (spawnSync('/bin/sh', ['-c', command, source, copy]).status !== 0) throw new Error('The shell could not copy.')
}

const secondsOf = async (work: () => Promise<unknown>): Promise<number> => {
  const started = performance.now()
  await work()
  return (performance.now() - started) / 1000
}

const send = (
  service: ServiceUnderTest,
  call: { method: string; path: string; headers: Record<string, string> },
  body: Readable,
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port: service.port, ...call }, resolve)
    sent.once('error', reject)
    body.pipe(sent)
  })

const textOf = async (response: IncomingMessage): Promise<string> => {
  const text = Buffer.concat(await response.toArray()).toString()
  if ((response.statusCode ?? 500) >= 300) throw new Error(`The service answered ${response.statusCode}: ${text}`)
  return text
}

const json = async (service: ServiceUnderTest, method: string, path: string, key: string | null, body: object) => {
  const headers = { 'content-type': 'application/json', ...(key !== null && { authorization: `Bearer ${key}` }) }
  const response = await send(service, { method, path, headers }, Readable.from([JSON.stringify(body)]))
  return JSON.parse(await textOf(response)) as Record<string, string>
}

const registeredKey = async (service: ServiceUnderTest): Promise<string> =>
  (await json(service, 'POST', '/api/v1/devices/register', null, { device_id: 'bench' })).api_key!

const uploadFile = async (service: ServiceUnderTest, path: string, key: string, source: string): Promise<void> => {
  const boundary = 'tributary-bench-boundary'
  const before =
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="weights.bin"\r\n` +
    'Content-Type: application/octet-stream\r\n\r\n'
  const after = `\r\n--${boundary}--\r\n`
  const form = async function* () {
    yield Buffer.from(before)
    yield* createReadStream(source, CHUNK)
    yield Buffer.from(after)
  }
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': `multipart/form-data; boundary=${boundary}`,
    'content-length': String(before.length + SIZE + after.length),
  }
  await textOf(await send(service, { method: 'POST', path, headers }, Readable.from(form())))
}

const downloadFile = async (
  service: ServiceUnderTest,
  path: string,
  key: string,
  target: string,
  sha256: string,
): Promise<void> => {
  const headers = { authorization: `Bearer ${key}` }
  const response = await send(service, { method: 'GET', path, headers }, Readable.from([]))
  if (response.statusCode !== 200) throw new Error(await textOf(response))
  const hash = createHash('sha256')
  const hashed = async function* (chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      hash.update(chunk)
      yield chunk
    }
  }
  await pipeline(response, hashed, createWriteStream(target, { flush: true, ...CHUNK }))
  if (hash.digest('hex') !== sha256) throw new Error('The download differs from the upload.')
}
