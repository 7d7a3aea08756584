import { createHash } from 'node:crypto'
import { chmod, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { emptyFolder, hasPostgres } from '../../../../test/databases.ts'
import { noSwift, startSwift } from '../../../../test/swift.ts'
import { formOf, startWorld, type World } from '../../../../test/world.ts'
import { runInProcess } from '../../../cli/in-process.fixture.ts'
import { parseStorageUrl } from '../../../domain/storage-location.ts'
import { openStream } from '../../operations/events/events.fixture.ts'

const DAY = 24 * 3600

const upload = async (world: World, key: string, name: string, fill: number) => {
  const { status, body } = await world.request('POST', '/api/v1/models', { key, body: { name } })
  expect(status).toBe(201)
  const { id } = body as { id: string }
  const bytes = new Uint8Array(2000).fill(fill)
  await world.request('POST', `/api/v1/models/${id}/versions/upload`, { key, body: formOf(bytes) })
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  return { id, sha256, path: join(world.dataDir, 'blobs', 'sha256', sha256.slice(0, 2), sha256) }
}

const changeOneByte = async (path: string): Promise<void> => {
  const file = await open(path, 'r+')
  await file.write(Buffer.from([255]), 0, 1, 1000)
  await file.close()
}

it('changed and missing files are found, reported, and repaired from the backup or by another upload', async () => {
  const backupUrl = join(await emptyFolder(), 'backups')
  const world = await startWorld({ config: { backupUrl, backupHours: 8760 } })
  const { key } = await world.register('d')
  const [changed, missing, sound] = [
    await upload(world, key, 'changed', 1),
    await upload(world, key, 'missing', 2),
    await upload(world, key, 'sound', 3),
  ]
  const damaged = async () => (await world.request('GET', '/api/v1/storage/damaged-files', { key })).body
  const list = async () => (await damaged()) as { files: { sha256: string; damage: string; versions: object[] }[] }
  const stream = await openStream(world.baseUrl, { key, query: '?topics=file' })
  expect(stream.status).toBe(200)
  const fileEvents = async (count: number): Promise<string[][]> => {
    const told: string[][] = []
    while (told.length < count) {
      const { event, data } = (await stream.next())!
      if (event.startsWith('file.')) told.push([event, (data as { subject: { id: string } }).subject.id])
    }
    return told
  }
  await changeOneByte(changed.path)
  await rm(missing.path)
  await world.service.runRetention()
  // Not due yet.
  expect((await list()).files).toEqual([])

  await world.advance(0)
  // The scheduled backup was made of the remaining files.
  const backups = (await world.request('GET', '/api/v1/backups', { key })).body as { backups: object[] }
  expect(backups.backups).toMatchObject([{ status: 'completed', unreadable_files: 2 }])
  // What the backup finds is reported at once, and checked again.
  const found = (await list()).files.map(({ sha256, damage }) => [sha256, damage])
  expect(Object.fromEntries(found)).toEqual({
    [changed.sha256]: 'Its bytes have changed.',
    [missing.sha256]: 'It is missing.',
  })
  // Before the clock moves: events are kept for a day.
  expect((await fileEvents(2)).sort()).toEqual(
    [changed.sha256, missing.sha256].sort().map((id) => ['file.damaged', id]),
  )
  await world.advance(31 * DAY)
  await world.service.runRetention()
  expect(await damaged()).toEqual({
    files: expect.arrayContaining([
      {
        sha256: changed.sha256,
        size: 2000,
        damage: 'Its bytes have changed.',
        damaged_at: '2026-01-01T00:00:00.000Z',
        versions: [{ model_id: changed.id, version: 1 }],
      },
      expect.objectContaining({ sha256: missing.sha256, damage: 'It is missing.' }),
    ]),
    stored_files: 3,
    oldest_check_at: expect.any(String),
  })
  expect((await world.request('GET', '/metrics')).body).toContain('\ntributary_damaged_files 2\n')
  const env = { SERVICE_API_KEY: key, SERVICE_API_BASE: world.baseUrl, SERVICE_HOME: await emptyFolder() }
  const doctor = await runInProcess(['doctor'], { env, now: world.now })
  expect([doctor.exitCode, doctor.stdout]).toEqual([1, expect.stringContaining('2 of 3 are damaged')])

  // The backup contains this file, so it is repaired from there.
  await changeOneByte(sound.path)
  await world.advance(31 * DAY)
  await world.service.runRetention()
  expect((await list()).files.map(({ sha256 }) => sha256).sort()).toEqual([changed.sha256, missing.sha256].sort())
  const download = await fetch(`${world.baseUrl}/api/v1/models/${sound.id}/versions/1/download`, {
    headers: { authorization: `Bearer ${key}` },
  })
  const bytes = new Uint8Array(await download.arrayBuffer())
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(sound.sha256)

  // Uploading the files again repairs them, which the next check finds an hour later.
  await upload(world, key, 'changed-again', 1)
  await upload(world, key, 'missing-again', 2)
  await world.advance(3601)
  await world.service.runRetention()
  expect((await list()).files).toEqual([])
  const [damage, repair, ...others] = await fileEvents(4)
  expect([damage, repair]).toEqual([
    ['file.damaged', sound.sha256],
    ['file.repaired', sound.sha256],
  ])
  expect(others.sort()).toEqual([changed.sha256, missing.sha256].sort().map((id) => ['file.repaired', id]))
})

it.skipIf(noSwift() !== null)(
  'an unavailable file storage says nothing about its files, which are checked when it is back',
  async () => {
    const swift = await startSwift()
    const storage = parseStorageUrl(`s3://weights/fleet?endpoint=${swift.endpoint}&region=us-east-1`)
    if (typeof storage === 'string') throw new Error(storage)
    const world = await startWorld({ config: { storage, cacheBytes: 0 } })
    const { key } = await world.register('d')
    await upload(world, key, 'm', 1)
    const state = async () => (await world.request('GET', '/api/v1/storage/damaged-files', { key })).body
    await world.advance(31 * DAY)
    await swift.kill()
    await world.service.runRetention()
    const away = await state()
    expect(away).toMatchObject({ files: [] })
    await swift.start()
    await world.service.runRetention()
    expect(await state()).toMatchObject({ files: [] })
    expect(await state()).not.toEqual(away)
  },
)

it('files that are not where SERVICE_STORAGE_URL points are reported at the start, until it is corrected', async () => {
  const world = await startWorld({ durable: true, database: hasPostgres() ? 'postgres' : 'embedded' })
  const { key } = await world.register('d')
  const one = await upload(world, key, 'one', 1)
  const two = await upload(world, key, 'two', 2)
  const damaged = async () =>
    ((await world.request('GET', '/api/v1/storage/damaged-files', { key })).body as { files: { sha256: string }[] })
      .files
  const doctor = async () => {
    const env = { SERVICE_API_KEY: key, SERVICE_API_BASE: world.baseUrl, SERVICE_HOME: await emptyFolder() }
    return (await runInProcess(['doctor'], { env, now: world.now })).stdout
  }

  await world.restart({ storage: { kind: 'folder', path: await emptyFolder() } })
  expect((await damaged()).map(({ sha256 }) => sha256).sort()).toEqual([one.sha256, two.sha256].sort())
  expect(await doctor()).toContain('2 of 2 are damaged: ')
  expect(await doctor()).toContain('SERVICE_STORAGE_URL may point to the wrong place.')
  await world.restart({ storage: { kind: 'folder', path: null } })
  expect(await damaged()).toEqual([])

  // One file that is missing says nothing about the place.
  await rm(two.path)
  await world.restart()
  expect(await damaged()).toEqual([])
})

it.skipIf(process.getuid?.() === 0)(
  'a file that the service may not read is damaged, and its download says so',
  async () => {
    const world = await startWorld()
    const { key } = await world.register('d')
    const [locked, changed] = [await upload(world, key, 'locked', 1), await upload(world, key, 'changed', 2)]
    await chmod(locked.path, 0)
    await changeOneByte(changed.path)
    const download = await world.request('GET', `/api/v1/models/${locked.id}/versions/1/download`, { key })
    expect(download).toMatchObject({
      status: 503,
      body: {
        error: 'unavailable',
        message: expect.stringMatching(/^The service has no permission to read or write its files\. /),
      },
    })
    await world.advance(31 * DAY)
    await world.service.runRetention()
    const { body } = await world.request('GET', '/api/v1/storage/damaged-files', { key })
    const { files } = body as { files: { sha256: string; damage: string }[] }
    expect(Object.fromEntries(files.map(({ sha256, damage }) => [sha256, damage]))).toEqual({
      [locked.sha256]: expect.stringMatching(/^It cannot be read: EACCES: permission denied/),
      [changed.sha256]: 'Its bytes have changed.',
    })
  },
)
