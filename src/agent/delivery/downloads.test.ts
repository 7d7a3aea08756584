import { createHash } from 'node:crypto'
import { mkdir, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { boundOrganizations } from '../../../test/organizations.ts'
import { formOf } from '../../../test/world.ts'
import { createDevice } from '../../sdk/device-client.ts'
import { emptyFolder, post, startFleet, startUnit } from './delivery.fixture.ts'
import { failureOf } from './fetch-version.ts'
import { createModelSteps } from './model-steps.ts'
import { openModelStore } from './model-store.ts'
import { startProxy } from './proxy.fixture.ts'
import { createTimeSlices } from './time-slices.ts'

const openOrganization = boundOrganizations()

test('bytes that keep arriving corrupted are reported; none of them is kept, and the running version stays', async () => {
  const { world, device, model, rollOut } = await startFleet(await openOrganization(), 'first', 'second')
  const proxy = await startProxy(world.baseUrl)
  const unit = await startUnit(world, device, { baseUrl: proxy.baseUrl })
  await rollOut('1.0.0')
  await unit.pull()
  await unit.line('version 1.0.0 is active.')
  proxy.onBody = (chunk) => Buffer.from(chunk.toString().replace('second', 'SECOND'))
  await rollOut('2.0.0')
  await unit.pull()
  await unit.line('Attempt 3, the last one, failed. Version 1.0.0 keeps running.')
  expect(proxy.downloads()).toHaveLength(4)
  await expect
    .poll(() => unit.reports.at(-1))
    .toMatchObject({
      state: 'failed',
      reason: expect.stringMatching(/^The file arrived with sha256 \w{64} instead of \w{64}\. Attempt 3/),
    })
  expect(await unit.running(model)).toBe('first')
  await unit.stop()
  // The network works again, and the next start retries.
  proxy.onBody = null
  const again = await startUnit(world, device, { folder: unit.folder, baseUrl: proxy.baseUrl })
  await again.pull()
  await again.line('version 2.0.0 is active.')
  expect(await again.running(model)).toBe('second')
})

test('a download continues where it stopped, across broken connections and restarts', async () => {
  const bytes = new Uint8Array(700_000).map((_, n) => (n * n) % 251)
  const { world, device, model, rollOut, rollBack } = await startFleet(await openOrganization(), bytes)
  const proxy = await startProxy(world.baseUrl)
  let left = 2
  proxy.onBody = (chunk, at) => (at > 0 && left-- > 0 ? null : chunk)
  const plan = await rollOut('1.0.0')
  const unit = await startUnit(world, device, { baseUrl: proxy.baseUrl })
  await unit.pull()
  await unit.line('version 1.0.0 is active.')
  const froms = proxy.downloads().map(({ from }) => from)
  expect(froms).toHaveLength(3)
  expect(froms[0]).toBe(0)
  expect(froms[1]).toBeGreaterThan(0)
  expect(froms[2]).toBeGreaterThanOrEqual(froms[1]!)
  await unit.stop()

  const folder = await emptyFolder()
  const [name] = (await readdir(join(unit.folder, model))).filter((file) => file !== 'current.json')
  await mkdir(join(folder, model))
  await writeFile(join(folder, model, `${name!.split('.')[0]}.part`), bytes.subarray(0, 300_000))
  const again = await startUnit(world, device, { folder, baseUrl: proxy.baseUrl })
  await again.pull()
  await again.line('downloading version 1.0.0, 700 kB, resuming at 300 kB.')
  await again.line('version 1.0.0 is active.')
  expect(proxy.downloads().at(-1)?.from).toBe(300_000)
  await again.stop()

  // It does not stay if the plan is gone by then.
  proxy.onBody = (chunk, at) => (at > 0 ? new Promise(() => {}) : chunk)
  const first = await startUnit(world, device, { baseUrl: proxy.baseUrl })
  const files = () => readdir(join(first.folder, model)).catch(() => [])
  await first.pull()
  await expect.poll(files).toContain(`${name!.split('.')[0]}.part`)
  await first.stop()
  await rollBack(plan)
  const second = await startUnit(world, device, { folder: first.folder })
  await second.pull()
  await expect.poll(files).toEqual(['current.json'])
})

test.runIf(process.platform === 'linux')('a full disk is reported as a failure with that reason', async () => {
  const { world, device, model, rollOut } = await startFleet(await openOrganization(), 'first')
  await rollOut('1.0.0')
  const folder = await emptyFolder()
  const first = await startUnit(world, device, { folder })
  await first.pull()
  await first.line('version 1.0.0 is active.')
  const { file } = (await first.pointer(model))!.current!
  await first.stop()
  await rm(join(folder, model), { recursive: true })
  await mkdir(join(folder, model))
  // Every write to it fails for lack of space.
  await symlink('/dev/full', join(folder, model, `${file!.sha256}.part`))
  const unit = await startUnit(world, device, { folder })
  await unit.pull()
  await unit.line('version 1.0.0 failed: The disk is full: the version could not be written. No version is running.')
  await expect.poll(() => unit.reports.at(-1)?.state).toBe('failed')
})

test("a disk that cannot be written to is reported as a failure with that reason, without this device's paths", async () => {
  const { world, device, model, rollOut } = await startFleet(await openOrganization(), 'first')
  await rollOut('1.0.0')
  const folder = await emptyFolder()
  await mkdir(join(folder, model))
  const sha256 = createHash('sha256').update('first').digest('hex')
  // A folder in the file's place makes writing fail.
  await mkdir(join(folder, model, `${sha256}.part`))
  const unit = await startUnit(world, device, { folder })
  await unit.pull()
  await expect
    .poll(() => unit.reports.at(-1))
    .toMatchObject({
      state: 'failed',
      reason: "The disk reported 'EISDIR: illegal operation on a directory': the version could not be written.",
    })
})

test.each([
  ['EROFS', 'read-only file system', 'The disk is read-only: the version could not be written.'],
  [
    'EACCES',
    'permission denied',
    'The agent has no permission to write to its folder: the version could not be written.',
  ],
])('an error %s is explained in words', (code, words, message) => {
  const path = '/home/me/models/m/current.json'
  const error = Object.assign(new Error(`${code}: ${words}, open '${path}'`), { code, syscall: 'open', path })
  expect(failureOf(error)?.message).toBe(message)
})

/** A model's folder on a small simulated disk, with the real service and real files. */
const startOnSmallDisk = async (fleet: Awaited<ReturnType<typeof startFleet>>, diskBytes: number) => {
  const store = await openModelStore(await emptyFolder())
  const folder = store.folder(fleet.model)
  const filesOf = async () => (await readdir(folder.path)).filter((name) => name !== 'current.json')
  const freeBytes = async (): Promise<number> => {
    const sizes = (await filesOf()).map(async (name) => (await stat(join(folder.path, name))).size)
    return (await Promise.all(sizes)).reduce((free, size) => free - size, diskBytes)
  }
  const lines: string[] = []
  const client = createDevice({ baseUrl: fleet.world.baseUrl, deviceId: fleet.device.deviceId, apiKey: fleet.key })
  const steps = createModelSteps({
    device: client,
    folder: { ...folder, freeBytes },
    downloads: createTimeSlices(60_000),
    outbox: { add: async () => undefined },
    hook: null,
    measure: null,
    log: (line) => lines.push(line),
  })
  const run = async (version: string): Promise<void> => {
    await fleet.rollOut(version)
    const assignment = (await client.assignments()).find((one) => one.version === version)!
    await steps.ensureActive(assignment, new AbortController().signal)
  }
  return { folder, lines, filesOf, run }
}

const MEGABYTE = 1024 * 1024

test('a device without room for a third version deletes the previous one, but never the running one', async () => {
  const [first, second, third] = [1, 2, 3].map((n) => new Uint8Array(MEGABYTE).fill(n))
  const fleet = await startFleet(
    await openOrganization(),
    first!,
    second!,
    third!,
    new Uint8Array(4 * MEGABYTE).fill(4),
  )
  const { folder, lines, filesOf, run } = await startOnSmallDisk(fleet, 3.5 * MEGABYTE)
  await run('1.0.0')
  await run('2.0.0')
  expect(await filesOf()).toHaveLength(2)
  await run('3.0.0')
  expect(await filesOf()).toHaveLength(2)
  expect(await folder.load()).toMatchObject({ current: { version: '3.0.0' }, previous: { version: '2.0.0' } })
  expect(lines).toContain(
    'Model m: version 1.0.0, which ran before, was deleted: the disk has no room for a third one.',
  )
  // Nothing is deleted for a version that would not fit anyway.
  await expect(run('4.0.0')).rejects.toThrow(
    /^The disk is full: the version needs 4\.2 MB more and 1\.0 MB must stay free, but only .+ is free\.$/,
  )
  expect(await folder.load()).toMatchObject({ current: { version: '3.0.0' }, previous: { version: '2.0.0' } })
})

test('two models share the connection: a long download gives way to the other and then continues', async () => {
  const { world, device, key, rollOut } = await startFleet(await openOrganization(), new Uint8Array(1_500_000).fill(7))
  await post(world, key, '/models', { name: 'other' })
  await post(world, key, '/models/other/versions/upload', formOf(new Uint8Array(1_500_000).fill(8)))
  await rollOut('1.0.0')
  await post(world, key, '/models/other/rollouts', { version: '1', rollout_percentage: 100 })
  const proxy = await startProxy(world.baseUrl)
  // Each download stalls once midway, so it can continue only after it has given way.
  const held = new Set<string>()
  proxy.onBody = (chunk, at, path) => {
    if (at < 300_000 || held.has(path)) return chunk
    held.add(path)
    return new Promise(() => {})
  }
  const unit = await startUnit(world, device, { baseUrl: proxy.baseUrl, turnSeconds: 0.6 })
  await unit.pull()
  await Promise.all([
    unit.line('Model m: version 1.0.0 is active.'),
    unit.line('Model other: version 1.0.0 is active.'),
  ])
  const froms = new Map<string, number[]>()
  for (const { path, from } of proxy.downloads()) froms.set(path, [...(froms.get(path) ?? []), from])
  // Both were interrupted, and each continued after the bytes that it had.
  for (const own of froms.values()) {
    expect(own.at(-1)).toBeGreaterThan(0)
    expect(own).toEqual([...own].sort((a, b) => a - b))
  }
  expect(froms.size).toBe(2)
})
