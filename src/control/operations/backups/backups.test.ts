import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdir, open, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { expect, it, onTestFinished, vi } from 'vitest'
import { emptyFolder, freshDataDir, freshPostgresUrl, hasPostgres } from '../../../../test/databases.ts'
import { builtFile } from '../../../../test/e2e/built-program.ts'
import { runBuilt } from '../../../../test/e2e/built-svc.ts'
import { noSwift, startSwift } from '../../../../test/swift.ts'
import { formOf, startWorld, type World } from '../../../../test/world.ts'
import { runInProcess } from '../../../cli/in-process.fixture.ts'
import { readConfig } from '../../../config.ts'
import { createControlPlane } from '../../app.ts'
import { backup, listInTarget } from '../../programs/backup.ts'
import { restore } from '../../programs/restore.ts'
import { runProgramHere } from '../../programs/run-program.fixture.ts'
import { openBackupTarget } from './backup-target.ts'
import { filePath, latestBackup, readManifest } from './manifest.ts'

interface BackupBody {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly reason: string | null
  readonly [field: string]: unknown
}

/** Requests a backup, and waits for its end. */
const backUp = async (world: World, key: string, body: object): Promise<BackupBody> => {
  const started = await world.request('POST', '/api/v1/backups', { key, body })
  expect([started.status, started.body]).toMatchObject([202, { status: 'running' }])
  return ended(world, key, (started.body as BackupBody).id)
}

const ended = async (world: World, key: string, id: string): Promise<BackupBody> => {
  for (;;) {
    const { body } = await world.request('GET', `/api/v1/backups/${id}`, { key })
    if ((body as BackupBody).status !== 'running') return body as BackupBody
    await sleep(20)
  }
}

/** Uploads a version of the model `net`; returns the hash of its file. */
const uploadFile = async (world: World, key: string, content = 0): Promise<string> => {
  await world.request('POST', '/api/v1/models', { key, body: { name: 'net' } })
  const body = formOf(new Uint8Array(1024).fill(content))
  const uploaded = await world.request('POST', '/api/v1/models/net/versions/upload', { key, body })
  expect(uploaded.status).toBe(201)
  return (uploaded.body as { model_hash: string }).model_hash.replace('sha256:', '')
}

const restoreTo = (dataDir: string, target: string, backup?: string, databaseUrl: string | null = null) =>
  runProgramHere(restore, dataDir, { target, ...(backup !== undefined && { backup }) }, { databaseUrl })

/** Opens the service on a restored folder; returns a function that calls its API. */
const openRestored = async (dataDir: string, databaseUrl: string | null = null) => {
  const config = {
    ...readConfig({ SERVICE_LOG_LEVEL: 'error', SERVICE_ENROLLMENT: 'token', SERVICE_RATE_LIMIT_PER_MINUTE: '100000' }),
    dataDir,
    databaseUrl,
    port: 0,
  }
  const service = await createControlPlane(config)
  onTestFinished(() => service.close())
  return (path: string, key: string) =>
    service.app.inject({ url: `/api/v1${path}`, headers: { authorization: `Bearer ${key}` } })
}

/** The pause between two writes of one writer during the backup: more writes would prove nothing more. */
const PAUSE_MS = 150

/** Makes a backup after devices register and versions are uploaded, or (`isBusy`) meanwhile; then restores and opens it. */
const backUpAndOpen = async (
  target: string,
  { isBusy, database }: { readonly isBusy: boolean; readonly database: 'embedded' | 'postgres' },
): Promise<void> => {
  const world = await startWorld({ durable: true, database, config: { enrollment: 'token' } })
  const key = world.service.firstAdminKey!
  const { body: model } = await world.request('POST', '/api/v1/models', { key, body: { name: 'net' } })
  const { id } = model as { id: string }
  let working = true
  const acknowledged: string[] = []
  const uploaded: string[] = []
  const isUnderWay = () => acknowledged.length >= 20 && uploaded.length >= 3
  const pause = () => sleep(isUnderWay() ? PAUSE_MS : 1)
  const register = async (from: number): Promise<void> => {
    for (let n = from; working; n += 4) {
      const name = `d${n}`
      const body = { device_id: name }
      if ((await world.request('POST', '/api/v1/devices/register', { key, body })).status === 201)
        acknowledged.push(name)
      await pause()
    }
  }
  const upload = async (): Promise<void> => {
    for (let n = 1; working; n++) {
      const form = formOf(new Uint8Array(new Float32Array(64).fill(n).buffer), { version: `1.0.${n}` })
      const { status, body } = await world.request('POST', `/api/v1/models/${id}/versions/upload`, { key, body: form })
      if (status === 201) uploaded.push((body as { model_hash: string }).model_hash)
      await pause()
    }
  }
  const load = [register(0), register(1), register(2), register(3), upload()]
  while (!isUnderWay()) await sleep(10)
  working = isBusy
  if (!isBusy) await Promise.all(load)
  const [devicesBefore, uploadsBefore] = [[...acknowledged], [...uploaded]]
  const first = await backUp(world, key, { target, verify: isBusy })
  const kind = database === 'embedded' ? 'embedded' : 'dump'
  expect(first).toMatchObject({ status: 'completed', reason: null, database: kind, unreadable_files: 0 })
  if (!isBusy) {
    const second = await backUp(world, key, { target })
    expect(second.copied_files).toBeLessThan(first.copied_files as number)
  }
  working = false
  await Promise.all(load)

  const dataDir = join(await emptyFolder(), 'data')
  const databaseUrl = database === 'embedded' ? null : await freshPostgresUrl('template1')
  await restoreTo(dataDir, target, first.name, databaseUrl)
  expect((await stat(join(dataDir, 'secrets.key'))).mode & 0o777).toBe(0o600)
  const get = await openRestored(dataDir, databaseUrl)
  if (database === 'embedded') {
    const reason = 'The service ended while the backup was made, or was restored from it.'
    expect((await get('/backups', key)).json().backups).toMatchObject([{ name: first.name, status: 'failed', reason }])
  }
  for (const name of devicesBefore) expect((await get(`/devices/${name}`, key)).statusCode).toBe(200)
  const versions = (await get(`/models/${id}`, key)).json().versions as { model_hash: string; version: number }[]
  expect(versions.map(({ model_hash }) => model_hash)).toEqual(expect.arrayContaining(uploadsBefore))
  for (const { version } of versions) {
    expect((await get(`/models/${id}/versions/${version}/download`, key)).statusCode).toBe(200)
  }
}

it('a backup under load has every write that was acknowledged before it, and can be restored and opened', async () => {
  await backUpAndOpen(join(await emptyFolder(), 'backups'), { isBusy: true, database: 'embedded' })
})

const hasDump = hasPostgres() && spawnSync('pg_dump', ['--version']).status === 0

// An embedded database would be a thousand small objects.
it.skipIf(!hasDump || noSwift() !== null)(
  'a backup of a PostgreSQL server in an object store has every write too, and opens',
  async () => {
    const { endpoint } = await startSwift()
    const target = `s3://weights/backups?endpoint=${endpoint}&region=us-east-1`
    await backUpAndOpen(target, { isBusy: false, database: 'postgres' })
  },
)

it('only keys without an organization make and see backups', async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const admin = world.service.firstAdminKey!
  const fields = { name: 'bound', scopes: ['admin'], org_id: 'default' }
  const { body } = await world.request('POST', '/api/v1/keys', { key: admin, body: fields })
  const { api_key: key } = body as { api_key: string }
  for (const [method, path] of [
    ['POST', ''],
    ['GET', ''],
    ['GET', '/7d0b9c1e-5f6a-4b2c-8d3e-1a2b3c4d5e6f'],
  ] as const) {
    const response = await world.request(method, `/api/v1/backups${path}`, {
      key,
      ...(method === 'POST' && { body: {} }),
    })
    expect([response.status, response.body]).toMatchObject([403, { error: 'forbidden' }])
  }
  const relative = await world.request('POST', '/api/v1/backups', { key: admin, body: { target: 'here' } })
  // Node's mkdir never returns from there.
  await world.advance(1)
  expect(await backUp(world, admin, { target: '/proc/nope' })).toMatchObject({
    status: 'failed',
    reason: expect.stringContaining('/proc/nope cannot be created'),
  })
  expect(relative.body).toMatchObject({
    error: 'bad_request',
    message: expect.stringMatching(
      /^target: it must look like s3:.*, or be the absolute path of a folder, got 'here'\.$/,
    ),
  })
  const withKey = { target: 's3://bucket?endpoint=http://user:secret@localhost:9000' }
  expect((await world.request('POST', '/api/v1/backups', { key: admin, body: withKey })).body).toMatchObject({
    message:
      'target: the endpoint must not contain a user name or password: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
  })
  const nowhere = await world.request('POST', '/api/v1/backups', { key: admin, body: {} })
  expect(nowhere.body).toMatchObject({ message: 'target: give a folder, or set SERVICE_BACKUP_URL.' })
})

it('makes scheduled backups, keeps the configured number, and reports the age of the last', async () => {
  const backupUrl = join(await emptyFolder(), 'backups')
  const world = await startWorld({ config: { backupUrl, backupHours: 24, backupKeep: 2 } })
  const { key } = await world.register('d')
  await uploadFile(world, key)
  const names = async () => (await readdir(join(backupUrl, 'backups'))).sort()
  for (let day = 0; day < 3; day++) {
    await world.advance(day === 0 ? 1 : 24 * 3600)
    // Makes the files old enough to be deleted if only the first backup needs them.
    for (const name of await readdir(join(backupUrl, 'files'), { recursive: true })) {
      await utimes(join(backupUrl, 'files', name), 0, 0)
    }
  }
  await world.advance(23 * 3600)
  expect((await names()).map((name) => name.slice(0, 10))).toEqual(['2026-01-02', '2026-01-03'])
  const { body } = await world.request('GET', '/metrics')
  expect(body).toContain(`\ntributary_backup_age_seconds ${23 * 3600}\n`)
  expect(body).toContain('\ntributary_backup_failures 0\n')
  const listed = await world.request('GET', '/api/v1/backups', { key })
  const { backups } = listed.body as { backups: BackupBody[] }
  expect(backups.map(({ status, scheduled }) => [status, scheduled])).toEqual(Array(3).fill(['completed', true]))
  for (const file of await names()) {
    const name = file.replace('.json', '')
    const restored = await restoreTo(join(await emptyFolder(), 'data'), backupUrl, name)
    expect(restored.data).toMatchObject({ restored_files: backups.find((made) => made.name === name)!.files })
  }
  // Many that failed do not stay, nor do they replace the latest complete one.
  const { sql: db } = world.database!
  await sql`insert into backups (id, name, target, scheduled, status, created_at, ended_at)
    select gen_random_uuid(), 'n', '/t', true, 'failed', now(), now() from generate_series(1, 1000)`.execute(db)
  const file = join(await emptyFolder(), 'file')
  await writeFile(file, '')
  expect(await backUp(world, key, { target: file })).toMatchObject({ status: 'failed' })
  const { rows } = await sql`select status, count(*)::int as count from backups group by 1 order by 1`.execute(db)
  expect(rows).toEqual([
    { status: 'completed', count: 1 },
    { status: 'failed', count: 1000 },
  ])
})

/** Runs a program of the service, and kills it as soon as `condition` is met. */
const killed = async (argv: readonly string[], dataDir: string, condition: () => Promise<boolean>): Promise<void> => {
  const child = spawn(process.execPath, ['--liftoff-only', await builtFile('main.js'), ...argv], {
    env: { PATH: process.env.PATH, SERVICE_DATA_DIR: dataDir, SERVICE_LOG_LEVEL: 'error' },
    stdio: 'ignore',
  })
  const exited = once(child, 'exit')
  while (child.exitCode === null && !(await condition())) await sleep(1)
  child.kill('SIGKILL')
  await exited
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

it('kill -9 leaves no complete backup, and no restored folder that can start; both succeed when run again', async () => {
  const dataDir = await freshDataDir()
  const target = join(await emptyFolder(), 'backups')
  await killed(['backup', '--target', target], dataDir, () => exists(join(target, 'files')))
  const none = `There is no complete backup in ${target}.`
  expect((await runProgramHere(listInTarget, dataDir, { target })).words).toBe(none)
  await expect(restoreTo(await emptyFolder(), target)).rejects.toThrow(none)
  expect((await runProgramHere(backup, dataDir, { target })).words).toMatch(/ is complete: /)
  expect((await readdir(dataDir)).filter((name) => name.startsWith('.backup-'))).toEqual([])

  const restored = join(await emptyFolder(), 'data')
  await killed(['restore', '--target', target], restored, () => exists(join(restored, 'database.new')))
  const config = { ...readConfig({ SERVICE_LOG_LEVEL: 'error' }), dataDir: restored, port: 0 }
  await expect(createControlPlane(config)).rejects.toThrow(
    `A restore to ${restored} did not finish. Run svc restore again.`,
  )
  expect(await runBuilt(['restore', target, '--data-dir', restored])).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(new RegExp(`Start the service with: svc up --data-dir ${restored}\n$`)),
  })
  await expect(restoreTo(restored, target)).rejects.toThrow(
    `The data folder ${restored} is not empty (blobs, database).`,
  )
  const get = await openRestored(restored)
  expect((await get('/health', '')).statusCode).toBe(200)
})

it('one changed byte of a backup is found by its verification, and prevents its restore', async () => {
  const world = await startWorld()
  const { key } = await world.register('d')
  const target = join(await emptyFolder(), 'backups')
  const sha256 = await uploadFile(world, key)
  expect(await backUp(world, key, { target, verify: true })).toMatchObject({ status: 'completed' })
  const path = `files/${sha256.slice(0, 2)}/${sha256}`
  const file = await open(join(target, path), 'r+')
  await file.write(Buffer.from([1]), 0, 1, 500)
  await file.close()
  const fault = `The backup is damaged: ${path} in ${target} has changed.`
  await world.advance(1)
  expect(await backUp(world, key, { target, verify: true })).toMatchObject({
    status: 'failed',
    reason: fault,
  })
  await expect(restoreTo(join(await emptyFolder(), 'data'), target)).rejects.toThrow(
    `The backup is damaged: ${path} is missing in ${target}.`,
  )
  // The next backup copies the file that the verification removed.
  await world.advance(1)
  const { status, files } = await backUp(world, key, { target, verify: true })
  expect(status).toBe('completed')
  expect((await restoreTo(join(await emptyFolder(), 'data'), target)).data).toMatchObject({ restored_files: files })
})

it('a file that is still arriving does not count as missing from the backup; the file of a version does', async () => {
  const world = await startWorld()
  const { key } = await world.register('d')
  const target = join(await emptyFolder(), 'backups')
  // The state between an upload's record and its bytes, which lasts for an hour if the upload is killed there.
  const arriving = 'ab'.repeat(32)
  await sql`insert into blobs (sha256, size, touched_at, checked_at) values (${arriving}, 4, now(), now())`.execute(
    world.database!.sql,
  )
  expect(await backUp(world, key, { target, verify: true })).toMatchObject({ status: 'completed', unreadable_files: 0 })
  const sha256 = await uploadFile(world, key)
  await rm(join(world.dataDir, 'blobs', 'sha256', sha256.slice(0, 2), sha256))
  await world.advance(1)
  expect(await backUp(world, key, { target, verify: true })).toMatchObject({
    status: 'completed',
    unreadable_files: 1,
    verified_at: expect.any(String),
  })
  const damaged = await world.request('GET', '/api/v1/storage/damaged-files', { key })
  expect(damaged.body).toMatchObject({ files: [{ sha256, damage: 'It is missing.' }] })
})

it('an offline backup says that it was verified, and which file is not in it; it needs each file of its database', async () => {
  const world = await startWorld({ durable: true })
  const { key } = await world.register('d')
  const target = join(await emptyFolder(), 'backups')
  await uploadFile(world, key)
  const damaged = await uploadFile(world, key, 1)
  await world.service.close()
  await rm(join(world.dataDir, 'blobs', 'sha256', damaged.slice(0, 2), damaged))
  const { words, progress, data } = await runProgramHere(backup, world.dataDir, { target, verify: true })
  expect(words).toMatch(/^Backup .* is complete: .* It was restored to a temporary folder and compared\.$/)
  expect(progress).toContain('1 stored file is damaged and not included: svc doctor')

  const opened = openBackupTarget(target)
  const { database } = await readManifest(opened, await latestBackup(opened))
  const stored = join(target, filePath(database.files[0]!.sha256))
  await rename(stored, `${stored}.away`)
  const restored = join(await emptyFolder(), 'data')
  await expect(restoreTo(restored, target)).rejects.toThrow('The backup is damaged: ')
  await rename(`${stored}.away`, stored)
  // With the file that the first restore has written.
  const { files } = data as { files: number }
  expect((await restoreTo(restored, target)).data).toMatchObject({ restored_files: files, unreadable_files: 1 })
})

const mountFull = async (): Promise<string | null> => {
  const folder = await emptyFolder()
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder]).status === 0
  if (!mounted) return null
  onTestFinished(() => void spawnSync('umount', [folder]))
  return folder
}

it('a full disk fails the backup with that reason and does not affect the service', async ({ skip }) => {
  const folder = await mountFull()
  if (folder === null) return skip('a small file system cannot be mounted here')
  const world = await startWorld({ durable: true })
  const { key } = await world.register('d')
  expect(await backUp(world, key, { target: join(folder, 'backups') })).toMatchObject({
    status: 'failed',
    reason: expect.stringContaining('the disk is full'),
  })
  expect((await world.request('GET', '/api/v1/devices/d', { key })).status).toBe(200)
  expect((await world.request('GET', '/metrics')).body).toContain('\ntributary_backup_failures 1\n')
  const other = await emptyFolder()
  await mkdir(join(other, 'mine'))
  await world.advance(1)
  expect((await backUp(world, key, { target: other })).reason).toBe(
    `${other} contains other files. Choose an empty folder, or one that already contains backups.`,
  )
  expect(await readdir(world.dataDir)).not.toContainEqual(expect.stringMatching(/^\.backup-/))
  expect((await readFile(join(world.dataDir, 'database', 'PG_VERSION'), 'utf8')).trim()).toBe('18')
})

it.skipIf(!hasPostgres())('a backup of a PostgreSQL server has the dump if pg_dump is installed', async () => {
  const world = await startWorld({ durable: true, database: 'postgres' })
  const { key } = await world.register('d')
  const target = join(await emptyFolder(), 'backups')
  const made = await backUp(world, key, { target, verify: true })
  expect(made).toMatchObject({ status: 'completed', database: hasDump ? 'dump' : 'none' })
  vi.stubEnv('PATH', '')
  onTestFinished(() => void vi.unstubAllEnvs())
  await world.advance(1)
  expect(await backUp(world, key, { target })).toMatchObject({ status: 'completed', database: 'none' })
  const env = { SERVICE_API_KEY: key, SERVICE_API_BASE: world.baseUrl, SERVICE_HOME: await emptyFolder() }
  expect((await runInProcess(['doctor'], { env, now: world.now })).stdout).toMatch(
    / warn {2}Backup .*, without the database\n +To include the database, install pg_dump /,
  )
})

it.skipIf(!hasPostgres())('an offline backup of a PostgreSQL server without pg_dump says so', async () => {
  const [dataDir, target] = [await emptyFolder(), join(await emptyFolder(), 'backups')]
  const env = { SERVICE_DATABASE_URL: await freshPostgresUrl(), PATH: '' }
  const { exitCode, stdout } = await runBuilt(['backup', target, '--data-dir', dataDir, '--verify'], env)
  expect([exitCode, stdout]).toEqual([
    0,
    expect.stringMatching(/ All its files were hashed\. The database is not in it: install pg_dump .*\n$/),
  ])
  expect((await runProgramHere(listInTarget, dataDir, { target })).words).toMatch(/, without the database$/)
})
