import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { emptyFolder, freshDataDir } from '../../../../test/databases.ts'
import { onServer, runService, until } from '../../../../test/e2e/service-process.ts'
import { startWorld } from '../../../../test/world.ts'
import { readConfig } from '../../../config.ts'
import { openBackupTarget, prepareTarget, sharesDiskWith } from './backup-target.ts'
import { latestBackup, listBackups, pruneBackups, readManifest, writeManifest } from './manifest.ts'

it.runIf(process.platform === 'linux')(
  'a target that contains backups is recognized without leaving a file open',
  async () => {
    const folder = join(await emptyFolder(), 'backups')
    const target = openBackupTarget(folder)
    await prepareTarget(target)
    const openFiles = () => readdirSync('/proc/self/fd').length
    const before = openFiles()
    for (let n = 0; n < 50; n++) await prepareTarget(target)
    await expect.poll(() => openFiles() - before).toBeLessThan(25)
  },
)

it.runIf(process.platform === 'linux')(
  'an unusable SERVICE_BACKUP_URL is reported when the service starts',
  async () => {
    const file = join(await emptyFolder(), 'file')
    await writeFile(file, '')
    const service = await runService(await emptyFolder(), { ...(await onServer()), SERVICE_BACKUP_URL: file })
    await expect.poll(service.output).toContain(`${file} is not a folder. Choose an empty folder`)
    expect(service.output()).toContain('scheduled backups will fail: SERVICE_BACKUP_URL cannot be used')
  },
)

it('the data folder, and the folders in it that the service uses, are refused as a target', async () => {
  const world = await startWorld()
  const { key } = await world.register('d')
  for (const target of [
    world.dataDir,
    join(world.dataDir, 'database'),
    join(world.dataDir, '.backup-x', 'y'),
    `${world.dataDir}/../${basename(world.dataDir)}/blobs/sha256/sub`,
  ]) {
    const { status, body } = await world.request('POST', '/api/v1/backups', { key, body: { target } })
    expect([status, body]).toMatchObject([400, { message: expect.stringContaining('keeps its own files in') }])
  }
})

it('scheduled backups to such a folder are listed as failed, with the reason', async () => {
  const path = await emptyFolder()
  const storage = { ...readConfig({}).storage, path }
  const world = await startWorld({ config: { storage, backupUrl: join(path, 'sha256') } })
  const { key } = await world.register('d')
  await world.advance(1)
  const { body } = await world.request('GET', '/api/v1/backups', { key })
  expect(body).toMatchObject({
    backups: [{ status: 'failed', reason: expect.stringContaining('keeps its own files in') }],
  })
})

it('a target elsewhere in the data folder is accepted, no backup contains another, and killed ones leave nothing for good', async () => {
  const world = await startWorld()
  const { key } = await world.register('d')
  const target = join(world.dataDir, 'backups')
  const unfinished = join(target, 'unfinished')
  await mkdir(unfinished, { recursive: true })
  for (const name of ['killed', 'still-growing']) await writeFile(join(unfinished, name), '')
  const earlier = new Date(Date.now() - 25 * 60 * 60 * 1000)
  await utimes(join(unfinished, 'killed'), earlier, earlier)
  for (let n = 1; n <= 2; n++) {
    expect((await world.request('POST', '/api/v1/backups', { key, body: { target } })).status).toBe(202)
    await expect.poll(() => readdir(join(target, 'backups')).catch(() => []), { timeout: 60_000 }).toHaveLength(n)
    await until(
      () => world.request('GET', '/api/v1/backups', { key }),
      ({ body }) => !JSON.stringify(body).includes('running'),
    )
    await world.advance(1)
  }
  await expect.poll(() => readdir(unfinished)).toEqual(['still-growing'])
  const opened = openBackupTarget(target)
  const { keys, files } = await readManifest(opened, [...(await listBackups(opened))].sort().at(-1)!)
  expect([keys.map(({ path }) => path).filter((path) => path.includes('backups')), files]).toEqual([[], []])
})

it('backups in the data folder are warned of when the service starts, and what a killed one left there is deleted', async () => {
  const dataDir = await freshDataDir()
  const left = join(dataDir, '.backup-7d0b9c1e-5f6a-4b2c-8d3e-1a2b3c4d5e6f')
  await mkdir(left)
  await writeFile(join(left, 'database.dump'), '')
  await mkdir(join(dataDir, '.backup-2026'))
  const service = await runService(dataDir, { SERVICE_BACKUP_URL: join(dataDir, 'backups') })
  await expect.poll(service.output).toContain(`backups in the service's folder ${dataDir} are lost together with it`)
  expect((await readdir(dataDir)).filter((name) => name.startsWith('.backup-'))).toEqual(['.backup-2026'])
})

it('backups in the folder of stored files are lost together with it, those next to it are not', async () => {
  const [dataDir, path] = [await emptyFolder(), await emptyFolder()]
  const folders = { dataDir, storage: { ...readConfig({}).storage, path } }
  const targetIn = async (folder: string) => {
    await mkdir(join(folder, 'backups'))
    return openBackupTarget(join(folder, 'backups'))
  }
  expect(await sharesDiskWith(await targetIn(path), folders)).toBe(path)
  expect(await sharesDiskWith(await targetIn(await emptyFolder()), folders)).toBeNull()
})

const YEARS = 40 * 365 * 24 * 3600

it('a backup made while the clock was ahead hides and outlives no later one', async () => {
  const backupUrl = join(await emptyFolder(), 'backups')
  const world = await startWorld({ config: { backupUrl, backupHours: 24, backupKeep: 2 } })
  const years = async () => (await listBackups(openBackupTarget(backupUrl))).map((name) => name.slice(0, 4))
  await world.advance(1)
  await world.advance(YEARS)
  expect(await years()).toEqual(['2026', '2065'])
  await expect(latestBackup(openBackupTarget(backupUrl))).rejects.toThrow('is dated in the future')
  // Due at once, and the wrong date is the first to go.
  await world.advance(60 - YEARS)
  expect(await years()).toEqual(['2026', '2026'])
  expect((await world.request('GET', '/metrics')).body).toContain('\ntributary_backup_age_seconds 0\n')
})

it('the backup just made is kept, although others have later dates', async () => {
  const target = openBackupTarget(join(await emptyFolder(), 'backups'))
  const made = { format: 1, version: '', keys: [], files: [], unreadable: [] } as const
  const database = { kind: 'none', postgres: '18', rows: null, folders: [], files: [] } as const
  for (const name of ['1970-a', '2026-a', '2066-a', '2066-b']) {
    await writeManifest(target, { ...made, name, created_at: name, database })
  }
  await pruneBackups(target, 2, '2026-a')
  expect(await listBackups(target)).toEqual(['1970-a', '2026-a'])
  await pruneBackups(target, 1, '1970-a')
  expect(await listBackups(target)).toEqual(['1970-a'])
})

it('an object store that is away or has no such bucket is named as the target', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'id')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret')
  onTestFinished(() => void vi.unstubAllEnvs())
  const empty = createServer((_request, response) => void response.writeHead(404).end()).listen(0, '127.0.0.1')
  onTestFinished(() => void empty.close())
  await once(empty, 'listening')
  const targetAt = (port: number) => `s3://bucket/x?endpoint=http://127.0.0.1:${port}`
  const faultOf = (url: string) => prepareTarget(openBackupTarget(url)).catch((error: Error) => error.message)
  const [away, other] = [targetAt(1), targetAt((empty.address() as AddressInfo).port)]
  expect(await faultOf(away)).toBe(`The backup target ${away} does not respond. Try again in a moment.`)
  expect(await faultOf(other)).toBe(`The backup target ${other} cannot be used: there is no bucket 'bucket'.`)
})

it('a damaged manifest of an old backup does not fail new ones, and rotates out like any other', async () => {
  const backupUrl = join(await emptyFolder(), 'backups')
  const world = await startWorld({ config: { backupUrl, backupHours: 24, backupKeep: 2 } })
  const { key } = await world.register('d')
  const names = async () => (await readdir(join(backupUrl, 'backups'))).sort()
  await world.advance(1)
  const [first] = await names()
  const path = join(backupUrl, 'backups', first!)
  await writeFile(path, (await readFile(path, 'utf8')).replace('{', '['))
  for (let day = 0; day < 2; day++) await world.advance(24 * 3600)
  const { body } = await world.request('GET', '/api/v1/backups', { key })
  expect((body as { backups: { status: string }[] }).backups.map(({ status }) => status)).toEqual(
    Array(3).fill('completed'),
  )
  expect((await names()).map((name) => name.slice(0, 10))).toEqual(['2026-01-02', '2026-01-03'])
})
