import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmod, cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { sql } from 'kysely'
import pg from 'pg'
import { expect, it, onTestFinished, vi } from 'vitest'
import { emptyFolder, freshDataDir, freshPostgresUrl, hasPostgres } from '../../../test/databases.ts'
import { builtFile } from '../../../test/e2e/built-program.ts'
import { runBuilt } from '../../../test/e2e/built-svc.ts'
import { runService } from '../../../test/e2e/service-process.ts'
import { noSwift, SWIFT_KEYS, startSwift } from '../../../test/swift.ts'
import { readConfig } from '../../config.ts'
import { parseStorageUrl, type StorageLocation } from '../../domain/storage-location.ts'
import { lockFolder } from '../../platform/db/embedded/folder-lock.ts'
import { unpackFolder } from '../../platform/db/embedded/template.ts'
import { openDatabase } from '../../platform/db/open.ts'
import { createControlPlane } from '../app.ts'
import { migrate } from './migrate.ts'
import { runProgramHere } from './run-program.fixture.ts'

const RELEASE = new URL('../../../test/fixtures/releases/1.0.0/', import.meta.url)

const start = async (
  settings: { dataDir: string; databaseUrl: string | null; storage?: StorageLocation },
  now: Date,
) => {
  const env = { SERVICE_LOG_LEVEL: 'error', SERVICE_RATE_LIMIT_PER_MINUTE: '100000', SERVICE_CONVERSIONS: 'off' }
  const service = await createControlPlane({ ...readConfig(env), ...settings, port: 0 }, { now: () => now })
  const request = async (method: 'GET' | 'POST' | 'PATCH', path: string, key: string, payload?: object) => {
    const headers = { authorization: `Bearer ${key}` }
    const response = await service.app.inject({ method, url: `/api/v1${path}`, headers, ...(payload && { payload }) })
    return { path, status: response.statusCode, body: response.json() }
  }
  const bytes = async (path: string, key: string): Promise<Buffer> => {
    const headers = { authorization: `Bearer ${key}` }
    const response = await service.app.inject({ method: 'GET', url: `/api/v1${path}`, headers })
    expect([path, response.statusCode]).toEqual([path, 200])
    return response.rawPayload
  }
  return { request, bytes, close: () => service.close() }
}

/** Returns every file of a folder with the hash of its content. */
const contentOf = async (folder: string): Promise<readonly string[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  const lines = files.map(
    async (path) =>
      `${path} ${createHash('sha256')
        .update(await readFile(path))
        .digest('hex')}`,
  )
  return (await Promise.all(lines)).sort()
}

const moveTo = (to: string, dataDir: string, storage?: string) =>
  runProgramHere(migrate, dataDir, { to, ...(storage !== undefined && { storage }) })

/** Starts the move, and kills it once it has printed `words`. */
const killedAt = async (
  words: string,
  argv: readonly string[],
  dataDir: string,
  env: Readonly<Record<string, string>> = {},
): Promise<void> => {
  const child = spawn(process.execPath, ['--liftoff-only', await builtFile('main.js'), ...argv], {
    env: { PATH: process.env.PATH, SERVICE_DATA_DIR: dataDir, SERVICE_LOG_LEVEL: 'error', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const exited = once(child, 'exit')
  let said = ''
  child.stderr.on('data', (bytes) => {
    said += bytes
    if (said.includes(words)) child.kill('SIGKILL')
  })
  await exited
}

it.skipIf(!hasPostgres())(
  'moves everything to a PostgreSQL server despite kills, and leaves the old folder unchanged (skipped without PostgreSQL)',
  async () => {
    const dataDir = `${await emptyFolder()}/data`
    await unpackFolder(await readFile(new URL('data-folder.br', RELEASE)), dataDir)
    const { key, answers: responses } = JSON.parse(await readFile(new URL('data-folder.json', RELEASE), 'utf8')) as {
      key: string
      answers: Record<string, unknown>
    }
    const now = new Date('2026-11-01T00:00:00Z')
    const old = await start({ dataDir, databaseUrl: null }, now)
    const version = `${Object.keys(responses).find((path) => /^\/models\/[^/]+$/.test(path))}/versions/1`
    const metadata = { accuracy: 0.91, huge: 1e308, '📈': 'ü' }
    expect(await old.request('PATCH', version, key, { metadata })).toMatchObject({ status: 200, body: { metadata } })
    const logs = { kind: 'logs', type: 'webhook', name: 'hook', endpoint: 'http://127.0.0.1:9/' }
    const group = (name: string) => old.request('POST', '/device-groups', key, { name, org_id: 'clinic' })
    expect((await group('delivered')).status).toBe(201)
    expect((await old.request('POST', '/integrations', key, logs)).status).toBe(201)
    expect((await group('pending')).status).toBe(201)
    // Then nothing changes any more: the clock stands still, so the delivery is not repeated.
    const integrations = async () => JSON.stringify(await old.request('GET', '/integrations', key))
    await expect.poll(integrations).toContain('"failures":1')
    const paths = [...Object.keys(responses), '/integrations'].filter((path) => path !== '/keys')
    const before = []
    for (const path of paths) before.push(await old.request('GET', path, key))
    await old.close()
    const content = await contentOf(dataDir)

    const databaseUrl = await freshPostgresUrl('template1')
    const argv = ['migrate', '--to', databaseUrl]
    for (const words of ['Copying models', 'Comparing']) {
      await killedAt(words, argv, dataDir)
      if (words === 'Copying models') {
        await expect(start({ dataDir: await emptyFolder(), databaseUrl }, now)).rejects.toThrow(
          'The move to the database in SERVICE_DATABASE_URL is not complete: run svc migrate again.',
        )
      }
    }
    const last = await runBuilt([...argv, '--data-dir', dataDir])
    // On a busy machine, the last kill may come after the last step: then nothing is left to do, and the program says so.
    if (last.exitCode !== 0) expect(last.stderr).toContain('The target has tables already')
    expect(await contentOf(dataDir)).toEqual(content)

    const moved = await start({ dataDir, databaseUrl }, now)
    onTestFinished(moved.close)
    for (const [at, path] of paths.entries()) expect(await moved.request('GET', path, key)).toEqual(before[at])
    const client = new pg.Client(databaseUrl)
    await client.connect()
    const { rows } = await client.query(`
      select (select count(*)::int from events_outbox) as events,
        (select count(*)::int from events_outbox where tx >= pg_snapshot_xmin(pg_current_snapshot())) as unsettled,
        (select count(*)::int from events_outbox e, integrations i where (e.tx, e.id) > (i.cursor_tx, i.cursor_id)) as pending,
        (select count(*)::int from pg_constraint where contype = 'f') > 20 as references,
        to_regnamespace('tributary_move') as move`)
    await client.end()
    expect(rows).toEqual([{ events: expect.any(Number), unsettled: 0, pending: 1, references: true, move: null }])
    // Sequences continue where they were.
    const device = await moved.request('POST', '/devices/register', key, { device_id: 'after-the-move' })
    expect(device.status).toBe(201)
    expect((await moved.request('POST', '/models', key, { name: 'after-the-move' })).status).toBe(201)

    await expect(moveTo(databaseUrl, dataDir)).rejects.toThrow('The target has tables already (analytics_queries,')
  },
)

it.skipIf(!hasPostgres())(
  'names a missing file of a version, and no upload that was killed (skipped without PostgreSQL)',
  async () => {
    const dataDir = `${await emptyFolder()}/data`
    await unpackFolder(await readFile(new URL('data-folder.br', RELEASE)), dataDir)
    const database = await openDatabase({ url: null, dataDir })
    // Recorded before its bytes are in place.
    await sql`insert into blobs (sha256, size, touched_at) values (${'ab'.repeat(32)}, 4, now())`.execute(database.sql)
    await database.close()
    const [folder] = await readdir(join(dataDir, 'blobs', 'sha256'))
    const [missing] = await readdir(join(dataDir, 'blobs', 'sha256', folder!))
    await rm(join(dataDir, 'blobs', 'sha256', folder!, missing!))
    const { data, progress } = await moveTo(await freshPostgresUrl('template1'), dataDir)
    expect(progress.filter((line) => line.startsWith('The stored file '))).toEqual([
      `The stored file ${missing} is damaged or missing.`,
    ])
    expect(data).toMatchObject({ damaged_files: 1 })
  },
)

it.skipIf(!hasPostgres() || noSwift() !== null)(
  'also moves the stored files to S3, despite a kill, and names a damaged one (skipped without PostgreSQL or Swift)',
  async () => {
    const dataDir = `${await emptyFolder()}/data`
    await unpackFolder(await readFile(new URL('data-folder.br', RELEASE)), dataDir)
    const { key } = JSON.parse(await readFile(new URL('data-folder.json', RELEASE), 'utf8')) as { key: string }
    const old = await start({ dataDir, databaseUrl: null }, new Date('2026-11-01T00:00:00Z'))
    const { models } = (await old.request('GET', '/models', key)).body as { models: { id: string }[] }
    const download = async (at: typeof old, id: string) =>
      (await at.bytes(`/models/${id}/versions/1/download`, key)).toString('base64')
    const before = await Promise.all(models.map(({ id }) => download(old, id)))
    const damaged = createHash('sha256').update(Buffer.from(before[0]!, 'base64')).digest('hex')
    await old.close()
    await writeFile(join(dataDir, 'blobs', 'sha256', damaged.slice(0, 2), damaged), 'something else')

    const swift = await startSwift()
    const storage = `s3://weights/moved?endpoint=${swift.endpoint}&region=us-east-1`
    const databaseUrl = await freshPostgresUrl('template1')
    await expect(moveTo(databaseUrl, dataDir, storage.replace('weights', 'nowhere'))).rejects.toThrow(
      /^--storage: there is no bucket 'nowhere'\.$/,
    )
    await expect(moveTo(databaseUrl, dataDir, 's3://weights?endpoint=http://127.0.0.1:1')).rejects.toThrow(
      /^The storage in --storage does not respond\. Try again in a moment\.$/,
    )
    const argv = ['migrate', '--to', databaseUrl, '--storage', storage]
    await killedAt('Copying the stored files', argv, dataDir, SWIFT_KEYS)
    await expect(start({ dataDir, databaseUrl }, new Date())).rejects.toThrow('run svc migrate again')
    const { words, progress } = await moveTo(databaseUrl, dataDir, storage)
    expect(progress).toContain(`The stored file ${damaged} is damaged or missing.`)
    expect(words).toContain(`SERVICE_STORAGE_URL=${storage}`)

    // What it writes would belong to its user, and the service may be another.
    expect(await readdir(join(dataDir, 'blobs'))).not.toContain('cache')
    await rm(join(dataDir, 'blobs'), { recursive: true })
    const location = parseStorageUrl(storage) as StorageLocation
    const moved = await start({ dataDir, databaseUrl, storage: location }, new Date('2026-11-01T00:00:00Z'))
    onTestFinished(moved.close)
    const sound = models.map(({ id }, at) => ({ id, bytes: before[at]! })).filter(({ bytes }) => bytes !== before[0])
    expect(sound.length).toBeGreaterThan(1)
    for (const { id, bytes } of sound) expect(await download(moved, id)).toBe(bytes)
  },
)

// The tests' own server asks this role for a password; other servers may not.
const hasOwnServer = hasPostgres() && !process.env.SERVICE_TEST_DATABASE_URL

it.skipIf(!hasOwnServer)('takes the password from PGPASSWORD (skipped without PostgreSQL)', async () => {
  const target = new URL(await freshPostgresUrl('template1'))
  const client = new pg.Client(target.href)
  await client.connect()
  await client.query(`create role with_password login password 'a b:@/c'`)
  await client.query(`alter database ${target.pathname.slice(1)} owner to with_password`)
  await client.end()
  target.username = 'with_password'
  const dataDir = await freshDataDir()
  onTestFinished(() => void vi.unstubAllEnvs())
  vi.stubEnv('PGPASSWORD', 'another')
  await expect(moveTo(target.href, dataDir)).rejects.toThrow('password authentication failed')
  vi.stubEnv('PGPASSWORD', 'a b:@/c')
  expect((await moveTo(target.href, dataDir)).words).toContain(`SERVICE_DATABASE_URL=${target.href}, `)
})

it.skipIf(!hasOwnServer)(
  'says what a user of the database may not do, and warns of an empty one (skipped without PostgreSQL)',
  async () => {
    const dataDir = await freshDataDir()
    const target = new URL(await freshPostgresUrl('template1'))
    const client = new pg.Client(target.href)
    await client.connect()
    await client.query(`create role without_rights login password 'x'`)
    await client.end()
    const limited = new URL(target)
    limited.username = 'without_rights'
    limited.searchParams.set('password', 'x')
    await expect(moveTo(limited.href, dataDir)).rejects.toThrow(
      /The move stopped: permission denied .*\. Make the user of --to the owner of that database/,
    )
    await expect(start({ dataDir, databaseUrl: limited.href }, new Date())).rejects.toThrow(
      /^The database user is not allowed to create tables \(permission denied .*\)\. Make it the owner/,
    )
    const service = await runService(dataDir, { SERVICE_DATABASE_URL: target.href })
    await expect.poll(service.output).toContain('the data folder has the embedded database of another')
    await service.kill()
    const again = await runService(dataDir, { SERVICE_DATABASE_URL: target.href })
    expect(again.output()).not.toContain('the embedded database of another')
  },
)

it.runIf(process.platform === 'linux')('names what it cannot write', async () => {
  const folder = await emptyFolder()
  const dataDir = join(folder, 'data')
  await cp(await freshDataDir(), dataDir, { recursive: true })
  const program = await builtFile('main.js')
  const stderrOf = async (readOnly: string): Promise<string> => {
    await chmod(readOnly, 0o500)
    // Root may write everywhere.
    const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
    const child = spawn(process.execPath, ['--liftoff-only', program, 'migrate', '--to', 'postgres://127.0.0.1:1/x'], {
      env: { SERVICE_DATA_DIR: dataDir },
      stdio: ['ignore', 'ignore', 'pipe'],
      ...user,
    })
    const stderr = await text(child.stderr)
    await chmod(readOnly, 0o700)
    return stderr
  }
  if (process.getuid?.() === 0) {
    spawnSync('chown', ['-R', '65534:65534', folder])
    await chmod(dirname(folder), 0o711)
  }
  expect(await stderrOf(dataDir)).toMatch(
    /^The data folder .* cannot be used: EACCES: permission denied, .*\. Make it writable for this user, or set SERVICE_DATA_DIR to another folder\.\n$/,
  )
  expect(await stderrOf(folder)).toMatch(
    /^The move stopped: EACCES: .*\. This user must be able to read .*, and to create a folder next to it, in .*\.\n$/,
  )
  if (process.getuid?.() !== 0) return
  await mkdir(join(`${dataDir}.migrating`, 'database'), { recursive: true, mode: 0o700 })
  expect(await stderrOf(join(dataDir, 'database'))).toContain(
    `${dataDir}.migrating is left of a move by root that was interrupted: delete it, and run this again.\n`,
  )
})

it('names the problem with its target or folder, and does not touch a folder that is in use', async () => {
  const nowhere = await emptyFolder()
  const away = 'postgres://127.0.0.1:1/x'
  await expect(moveTo('mysql://x', nowhere)).rejects.toThrow(
    '--to must look like postgres://user:password@host:5432/name.',
  )
  await expect(moveTo(away, nowhere)).rejects.toThrow(`There is no embedded database in ${nowhere}.`)
  const dataDir = await freshDataDir()
  expect(await runBuilt(['migrate', '--to', away, '--data-dir', dataDir])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining(`The PostgreSQL server that --to names (${away}) cannot be used`),
  })
  const running = await lockFolder(dataDir)
  await expect(moveTo(away, dataDir)).rejects.toThrow(`The data folder ${dataDir} is in use by`)
  await running.release()
})
