// Moves an installation of 10,000 devices and 10 GB of models to PostgreSQL and S3 (Swift) with `svc migrate`, and compares.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { openAsBlob, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type CleanUps, withCleanUps } from './clean-ups.ts'
import { printTable } from './figures.ts'
import { DEVICES_PATH, registerFleet } from './fleet.ts'
import { startLoadGenerator } from './load.ts'
import { startCluster } from './postgres-cluster.ts'
import { writeRandomFile } from './random-file.ts'
import { type ServiceUnderTest, startProgram } from './service-under-test.ts'
import { startSwiftStore } from './swift-store.ts'

const DIST = fileURLToPath(new URL('../../dist/', import.meta.url))
const DEVICES = 10_000
const FILES = Number(process.env.BENCH_MOVE_FILES ?? 100)
const FILE_BYTES = 6 * 16 * 1024 * 1024

/** Uploads each file as a version of one model; returns their hashes. */
const upload = async (service: ServiceUnderTest, key: string, cleanUps: CleanUps): Promise<string[]> => {
  const at = `http://127.0.0.1:${service.port}/api/v1/models`
  const authorization = `Bearer ${key}`
  const headers = { authorization, 'content-type': 'application/json' }
  const made = await fetch(at, { method: 'POST', headers, body: JSON.stringify({ name: 'moved' }) })
  if (!made.ok) throw new Error(await made.text())
  const path = join(cleanUps.folder('file'), 'weights.bin')
  const hashes: string[] = []
  for (let n = 0; n < FILES; n++) {
    hashes.push(writeRandomFile(path, FILE_BYTES))
    const body = new FormData()
    body.set('version', `${n + 1}`)
    body.set('file', await openAsBlob(path), 'weights.bin')
    const sent = await fetch(`${at}/moved/versions/upload`, { method: 'POST', headers: { authorization }, body })
    if (!sent.ok) throw new Error(await sent.text())
  }
  return hashes
}

const differing = async (service: ServiceUnderTest, key: string, hashes: readonly string[]): Promise<number> => {
  let count = 0
  for (const [n, expected] of hashes.entries()) {
    const url = `http://127.0.0.1:${service.port}/api/v1/models/moved/versions/${n + 1}/download`
    const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } })
    const hash = createHash('sha256')
    for await (const chunk of response.body!) hash.update(chunk)
    if (!response.ok || hash.digest('hex') !== expected) count++
  }
  return count
}

const migrate = async (argv: readonly string[], env: Readonly<Record<string, string>>): Promise<string> => {
  const child = spawn(process.execPath, [join(DIST, 'cli/main.js'), 'migrate', ...argv], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (bytes) => (output += bytes))
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`svc migrate ended with ${code}.`)
  return output
}

const timed = async <T>(work: () => Promise<T>): Promise<[result: T, seconds: number]> => {
  const began = performance.now()
  return [await work(), (performance.now() - began) / 1000]
}

/** Requires `npm run build`, PostgreSQL, Swift, and disk space for three times the files' size. */
export const benchMove = (): Promise<void> =>
  withCleanUps(async (cleanUps) => {
    const cluster = await startCluster(cleanUps)
    if (cluster === null) return
    const folder = join(cleanUps.folder('data'), 'data')
    const program = join(DIST, 'main.js')
    let key = ''
    let hashes: string[] = []
    let uploading = 0
    await withCleanUps(async (first) => {
      const service = await startProgram(first, { name: 'old', program, settings: { SERVICE_DATA_DIR: folder } })
      const fleet = await registerFleet(startLoadGenerator(first), service, DEVICES)
      key = fleet[0]!.key
      ;[hashes, uploading] = await timed(() => upload(service, key, first))
    })
    const { settings: store } = await startSwiftStore(cleanUps)
    const storage = store.SERVICE_STORAGE_URL
    const databaseUrl = await cluster.newDatabase()
    const [output, moving] = await timed(() =>
      migrate(['--to', databaseUrl, '--storage', storage, '--data-dir', folder], store),
    )
    console.log(output.trim())
    rmSync(join(folder, 'blobs'), { recursive: true })
    const settings = {
      SERVICE_DATA_DIR: folder,
      SERVICE_DATABASE_URL: databaseUrl,
      ...store,
    }
    const service = await startProgram(cleanUps, { name: 'new', program, settings })
    const [wrong, reading] = await timed(() => differing(service, key, hashes))
    const listed = await fetch(`http://127.0.0.1:${service.port}${DEVICES_PATH}&limit=1`, {
      headers: { authorization: `Bearer ${key}` },
    })
    const { total } = (await listed.json()) as { total: number }
    const megabytes = (FILES * FILE_BYTES) / 1e6
    const rate = (seconds: number) => [seconds.toFixed(0), (megabytes / seconds).toFixed(0)]
    printTable(
      [`${FILES} files, ${(megabytes / 1000).toFixed(1)} GB`, 'seconds', 'MB/s'],
      [
        ['uploaded to the old installation', ...rate(uploading)],
        ['svc migrate, rows and files', ...rate(moving)],
        ['downloaded from the new one and hashed', ...rate(reading)],
      ],
    )
    console.log(`${total} devices of ${DEVICES}; ${wrong} files of ${FILES} differ`)
  })
