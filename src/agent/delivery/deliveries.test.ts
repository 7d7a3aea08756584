import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { boundOrganizations } from '../../../test/organizations.ts'
import { formOf } from '../../../test/world.ts'
import { emptyFolder, eventually, notingHook, post, startFleet, startUnit } from './delivery.fixture.ts'

const openOrganization = boundOrganizations()

test('a version from a rollout is downloaded, verified, activated, and reported', async () => {
  const { world, device, model, rollOut } = await startFleet(await openOrganization(), 'first')
  const plan = await rollOut('1.0.0')
  const unit = await startUnit(world, device)
  await unit.pull()
  await unit.line('version 1.0.0 is active.')
  expect(await unit.running(model)).toBe('first')
  await expect
    .poll(() => unit.reports)
    .toEqual([
      { planId: plan, state: 'downloading', version: '1.0.0' },
      { planId: plan, state: 'verifying', version: '1.0.0' },
      { planId: plan, state: 'active', version: '1.0.0' },
    ])
  const sha256 = 'a7937b64b8caa58f03721bb6bacf5c78cb235febe0e70b1b84cd99541461a08e'
  expect((await readdir(join(unit.folder, model))).sort()).toEqual([`${sha256}.txt`, 'current.json'])
  expect(await unit.pointer(model)).toEqual({
    modelId: model,
    modelName: 'm',
    current: {
      planId: plan,
      version: '1.0.0',
      format: 'pytorch',
      file: { sha256, sizeBytes: 5, fileName: `${sha256}.txt` },
      metrics: null,
      hooked: false,
    },
    previous: null,
    trying: null,
    refused: null,
    plans: [plan],
    path: join(unit.folder, model, `${sha256}.txt`),
  })
  expect(unit.lines).toEqual(['Model m: downloading version 1.0.0, 1 kB.', 'Model m: version 1.0.0 is active.'])
})

test('a rollback runs the previous version at once without a download, and older files are deleted', async () => {
  const { world, device, model, rollOut, rollBack } = await startFleet(
    await openOrganization(),
    'first',
    'second',
    'third',
  )
  const unit = await startUnit(world, device)
  const first = await rollOut('1.0.0')
  await unit.pull()
  await unit.line('version 1.0.0 is active.')
  const second = await rollOut('2.0.0')
  await unit.pull()
  await unit.line('version 2.0.0 is active.')
  const bad = await rollOut('3.0.0')
  await unit.pull()
  await unit.line('version 3.0.0 is active.')
  const files = async () => (await readdir(join(unit.folder, model))).length
  // The pointer, the running version, and the previous one.
  await expect.poll(files).toBe(3)
  await rollBack(bad)
  await unit.pull()
  await eventually(() =>
    unit.lines.filter((line) => line.includes('version 2.0.0 is active.')).length === 2 ? true : null,
  )
  expect(await unit.running(model)).toBe('second')
  expect(unit.downloads).toEqual(['1.0.0', '2.0.0', '3.0.0'])
  expect((await unit.pointer(model))?.previous).toBe(null)
  await expect
    .poll(() => unit.reports.slice(-2).map(({ state, version }) => [state, version]))
    .toEqual([
      ['active', '3.0.0'],
      ['active', '2.0.0'],
    ])

  // Nothing returns to the bad version, even if the others are rolled back, too.
  await rollBack(first)
  await rollBack(second)
  await unit.pull()
  await unit.line('withdrawn; there is no previous version.')
  expect(await unit.running(model)).toBe(null)
  await expect.poll(files).toBe(1)
})

test('a device returns to the version that ran before, but never to one whose plan was withdrawn', async () => {
  const contents = ['first', 'second', 'third']
  const { world, device, model, rollOut, rollBack } = await startFleet(await openOrganization(), ...contents)
  const unit = await startUnit(world, device)
  const actives = (version: string) =>
    unit.lines.filter((line) => line.includes(`version ${version} is active.`)).length
  const plans: string[] = []
  for (const version of ['1.0.0', '2.0.0', '1.0.0']) {
    plans.push(await rollOut(version))
    await unit.pull()
    await expect.poll(() => actives(version)).toBe(plans.length === 3 ? 2 : 1)
  }
  // An older version from a newer plan is no rollback: the newer version is still there when that plan is withdrawn.
  await rollBack(plans.pop()!)
  await unit.pull()
  await expect.poll(() => actives('2.0.0')).toBe(2)
  expect(unit.downloads).toEqual(['1.0.0', '2.0.0'])

  plans.push(await rollOut('3.0.0'))
  await unit.pull()
  await expect.poll(() => actives('3.0.0')).toBe(1)
  // Two at once, so that the device returns to a version that it no longer has.
  await rollBack(plans.pop()!)
  await rollBack(plans.pop()!)
  await unit.pull()
  await expect.poll(() => actives('1.0.0')).toBe(3)
  await rollBack(plans.pop()!)
  await unit.pull()
  await unit.line('withdrawn; there is no previous version.')
  expect(await unit.running(model)).toBe(null)
})

test('a version that no plan assigns anymore is replaced by the previous one, or by nothing', async () => {
  const { world, device, key, model, rollOut, rollBack } = await startFleet(await openOrganization(), 'first', 'second')
  const first = await rollOut('1.0.0')
  const unit = await startUnit(world, device)
  await unit.pull()
  await unit.line('version 1.0.0 is active.')
  // The first plan may leave the service only after the second one covers the device.
  const second = await rollOut('2.0.0')
  await unit.pull()
  await unit.line('version 2.0.0 is active.')
  await rollBack(first)
  await rollBack(second)
  await unit.pull()
  await unit.line('rolled back to version 1.0.0.')
  expect(await unit.running(model)).toBe('first')
  // No plan assigns it, so no plan withdraws it.
  await unit.stop()
  const again = await startUnit(world, device, { folder: unit.folder })
  await again.pull()
  await post(world, key, '/models', { name: 'other' })
  await post(world, key, '/models/other/versions/upload', formOf('else'))
  const other = await post(world, key, '/models/other/rollouts', { version: '1', rollout_percentage: 100 })
  await again.pull()
  await again.line('Model other: version 1.0.0 is active.')
  expect(await again.running(model)).toBe('first')
  await post(world, key, `/models/other/rollouts/${other.rollout_id}/rollback`, {})
  await again.pull()
  await again.line('Model other: withdrawn; there is no previous version.')
  expect(await again.running(String(other.model_id))).toBe(null)
})

test('a model that no plan assigns anymore is not kept in memory, and can be assigned again', async () => {
  const { world, device, model, rollOut, rollBack } = await startFleet(await openOrganization(), 'first')
  const unit = await startUnit(world, device)
  const before = unit.parts()
  for (const times of [1, 2]) {
    const plan = await rollOut('1.0.0')
    await unit.pull()
    await expect.poll(() => unit.lines.filter((line) => line.endsWith('version 1.0.0 is active.')).length).toBe(times)
    expect(unit.parts()).toBeGreaterThan(before)
    await rollBack(plan)
    await unit.pull()
    await expect.poll(() => unit.lines.filter((line) => line.includes('withdrawn')).length).toBe(times)
    await expect.poll(unit.parts).toBe(before)
  }
  await unit.stop()
  const again = await startUnit(world, device, { folder: unit.folder })
  expect(again.parts()).toBeGreaterThan(before)
  await again.pull()
  await expect.poll(again.parts).toBe(before)
  await rollOut('1.0.0')
  await again.pull()
  await again.line('version 1.0.0 is active.')
  expect(await again.running(model)).toBe('first')
})

test('a blue_green version is prepared, and activated without another download once all devices are ready', async () => {
  const { world, device, key, model, rollOut } = await startFleet(await openOrganization(), 'first', 'second')
  await rollOut('1.0.0')
  const other = await world.register('edge-2')
  const [unit, late] = await Promise.all([startUnit(world, device), startUnit(world, other)])
  await Promise.all([unit.pull(), late.pull()])
  await Promise.all([unit.line('version 1.0.0 is active.'), late.line('version 1.0.0 is active.')])
  const requested = { model_name: 'm', model_version: '2.0.0', strategy: 'blue_green', devices: ['edge-1', 'edge-2'] }
  const { deployment_id: id } = await post(world, key, '/deploy/execute', requested)
  await unit.pull()
  await unit.line('version 2.0.0 is ready and waiting for activation.')
  expect(await unit.running(model)).toBe('first')
  await late.pull()
  await late.line('version 2.0.0 is ready and waiting for activation.')
  const deployment = async () => (await world.request('GET', `/api/v1/deployments/${id}`, { key })).body
  await expect.poll(deployment).toMatchObject({ switched_at: expect.any(String) })
  // The database has the switch slightly before the service's memory does.
  const beat = async () => {
    await Promise.all([unit.pull(), late.pull()])
    return [unit, late].every(({ lines: response }) => response.at(-1) === 'Model m: version 2.0.0 is active.')
  }
  await expect.poll(beat).toBe(true)
  expect(await unit.running(model)).toBe('second')
  await expect.poll(deployment).toMatchObject({ status: 'completed' })
  expect(unit.downloads).toEqual(['1.0.0', '2.0.0'])
  // The service knows about the last switch slightly before the device does.
  await expect
    .poll(() => unit.reports.map(({ state }) => state))
    .toEqual([...['downloading', 'verifying', 'active'], ...['downloading', 'verifying', 'ready', 'active']])
})

test('a hook is told which version runs; if it fails, the activation fails and the previous version is restored', async () => {
  const { world, device, model, rollOut, rollBack } = await startFleet(await openOrganization(), 'first', 'second')
  const folder = await emptyFolder()
  const hook = notingHook(folder, '2.0.0')
  const unit = await startUnit(world, device, { hook })
  await rollOut('1.0.0')
  await unit.pull()
  await unit.line('version 1.0.0 is active (accuracy 0.5).')
  const bad = await rollOut('2.0.0')
  await unit.pull()
  await unit.line('version 2.0.0 failed: does not fit here. Version 1.0.0 keeps running.')
  const notes = async () => (await readFile(join(folder, 'notes'), 'utf8')).trimEnd().split('\n')
  expect(await notes()).toEqual(['m 1.0.0 first -', 'm 2.0.0 second first', 'm 1.0.0 first second'])
  expect(await unit.running(model)).toBe('first')
  await expect
    .poll(() => unit.reports.slice(2))
    .toEqual([
      { planId: expect.any(String), state: 'active', version: '1.0.0', metrics: { accuracy: 0.5 } },
      { planId: bad, state: 'downloading', version: '2.0.0' },
      { planId: bad, state: 'verifying', version: '2.0.0' },
      { planId: bad, state: 'failed', version: '2.0.0', reason: 'does not fit here' },
    ])
  await unit.stop()

  // After a restart, it reports the failure again, but retries only with a different hook.
  const again = await startUnit(world, device, { folder: unit.folder, hook })
  await again.pull()
  await expect.poll(() => again.reports.map(({ state }) => state)).toEqual(['failed'])
  expect(await notes()).toHaveLength(3)
  await again.stop()
  const mended = await startUnit(world, device, { folder: unit.folder, hook: notingHook(folder, '', 'true') })
  await mended.pull()
  await mended.line('version 2.0.0 is active (accuracy 0.5).')
  expect(await mended.running(model)).toBe('second')
  await rollBack(bad)
  await mended.pull()
  await mended.line('version 1.0.0 is active (accuracy 0.5).')
  expect((await notes()).slice(3)).toEqual(['m 2.0.0 second first', 'm 1.0.0 first second'])
})

test('a rollback stops a running hook, and the hook is called for the previous version', async () => {
  const { world, device, rollOut, rollBack } = await startFleet(await openOrganization(), 'first', 'second')
  const folder = await emptyFolder()
  const hook = notingHook(folder, '', 'if [ "$MODEL_VERSION" = 2.0.0 ]; then sleep 60; fi')
  const unit = await startUnit(world, device, { hook })
  await rollOut('1.0.0')
  await unit.pull()
  await unit.line('version 1.0.0 is active')
  const slow = await rollOut('2.0.0')
  await unit.pull()
  const notes = async () => (await readFile(join(folder, 'notes'), 'utf8')).trimEnd().split('\n')
  await expect.poll(notes).toHaveLength(2)
  await rollBack(slow)
  await unit.pull()
  await expect.poll(notes).toEqual(['m 1.0.0 first -', 'm 2.0.0 second first', 'm 1.0.0 first first'])
})

test('a version that waits for activation replaces one whose hook is running, and the previous version is kept', async () => {
  const contents = ['first', 'second', 'third', 'fourth']
  const { world, device, key, model, rollOut } = await startFleet(await openOrganization(), ...contents)
  await world.register('edge-2')
  const folder = await emptyFolder()
  const hook = notingHook(folder, '', 'if [ "$MODEL_VERSION" = 3.0.0 ]; then sleep 60; fi')
  const unit = await startUnit(world, device, { hook })
  for (const version of ['1.0.0', '2.0.0']) {
    await rollOut(version)
    await unit.pull()
    await unit.line(`version ${version} is active`)
  }
  await rollOut('3.0.0')
  await unit.pull()
  await expect.poll(() => readFile(join(folder, 'notes'), 'utf8')).toContain('m 3.0.0')
  const devices = ['edge-1', 'edge-2']
  await post(world, key, '/deploy/execute', {
    model_name: 'm',
    model_version: '4.0.0',
    strategy: 'blue_green',
    devices,
  })
  await unit.pull()
  await unit.line('version 4.0.0 is ready')
  expect(await unit.pointer(model)).toMatchObject({ current: { version: '2.0.0' }, previous: { version: '1.0.0' } })
})

test('an interrupted activation is retried after a restart, but not forever', async () => {
  const { world, device, model, rollOut } = await startFleet(await openOrganization(), 'first', 'second')
  const folder = await emptyFolder()
  const hook = notingHook(folder, '')
  const first = await startUnit(world, device, { hook })
  await rollOut('1.0.0')
  await first.pull()
  await first.line('version 1.0.0 is active')
  await first.stop()
  await rollOut('2.0.0')
  // Writes the state that is on disk while the hook runs.
  const cutOff = async (attempts: number): Promise<void> => {
    const unit = await startUnit(world, device, { folder: await emptyFolder() })
    await unit.pull()
    await unit.line('version 2.0.0 is active')
    const { current: version } = (await unit.pointer(model))!
    await unit.stop()
    const pointer = join(first.folder, model, 'current.json')
    const state = JSON.parse(await readFile(pointer, 'utf8'))
    await writeFile(pointer, JSON.stringify({ ...state, trying: { version, attempts } }))
  }
  const notes = async () => (await readFile(join(folder, 'notes'), 'utf8')).trimEnd().split('\n').slice(1)
  await cutOff(3)
  const tired = await startUnit(world, device, { folder: first.folder, hook })
  await tired.pull()
  await tired.line('version 2.0.0 failed: Its activation was started 3 times and never finished')
  expect(await notes()).toEqual(['m 1.0.0 first second'])
  await tired.stop()
  await writeFile(
    join(first.folder, model, 'current.json'),
    JSON.stringify({ ...(await tired.pointer(model)), refused: null }),
  )
  await cutOff(1)
  const unit = await startUnit(world, device, { folder: first.folder, hook })
  await unit.pull()
  await unit.line('version 2.0.0 is active')
  expect((await notes()).slice(1)).toEqual(['m 2.0.0 second first'])
})

test('a name that is not in the catalog is resolved by the hook, and fails without one', async () => {
  const { world, device, key } = await startFleet(await openOrganization())
  // With a second device pending, one failure does not end the deployment.
  await world.register('edge-2')
  const folder = await emptyFolder()
  await post(world, key, '/deploy/execute', {
    model_name: 'hf:org/tiny',
    model_version: 'main',
    devices: ['edge-1', 'edge-2'],
  })
  const plain = await startUnit(world, device)
  await plain.pull()
  await plain.line(
    "Model hf:org/tiny: version main failed: The catalog has no model 'hf:org/tiny', and this device has no --on-model command that could resolve the name. No version is running.",
  )
  await plain.stop()
  const unit = await startUnit(world, device, { folder: plain.folder, hook: notingHook(folder, '') })
  await unit.pull()
  await unit.line('Model hf:org/tiny: version main is active')
  expect(await readFile(join(folder, 'notes'), 'utf8')).toBe('hf:org/tiny main - -\n')
  await expect.poll(() => unit.reports.at(-1)?.state).toBe('active')
})

test('another plan for the running version is adopted without any work', async () => {
  const { world, device, model, rollOut, rollBack } = await startFleet(await openOrganization(), 'first', 'first')
  const unit = await startUnit(world, device)
  const first = await rollOut('1.0.0')
  await unit.pull()
  await unit.line('version 1.0.0 is active.')
  const second = await rollOut('2.0.0')
  await unit.pull()
  await expect.poll(() => unit.reports.slice(3)).toEqual([{ planId: second, state: 'active', version: '2.0.0' }])
  expect(unit.downloads).toEqual(['1.0.0'])
  expect((await unit.pointer(model))?.previous).toBe(null)
  await rollBack(first)
  await unit.pull()
  expect(unit.lines).toHaveLength(2)
})

test('the running version is measured and reported periodically with new metrics', async () => {
  const { world, device, rollOut } = await startFleet(await openOrganization(), 'first')
  await rollOut('1.0.0')
  let measured = 0
  const measure = async () => ({ accuracy: ++measured / 100 })
  const unit = await startUnit(world, device, { measure, restateSeconds: 0.1 })
  await unit.pull()
  await unit.line('version 1.0.0 is active (accuracy 0.01).')
  const accuracies = () => unit.reports.flatMap(({ metrics }) => (metrics ? [metrics.accuracy] : []))
  await eventually(() => (accuracies().length >= 3 ? true : null))
  expect(accuracies().slice(0, 3)).toEqual([0.01, 0.02, 0.03])
})

test('a running version is downloaded again if its file or folder is missing, and its hook is called', async () => {
  const { world, device, model, rollOut } = await startFleet(await openOrganization(), 'first')
  await rollOut('1.0.0')
  const notes = await emptyFolder()
  const unit = await startUnit(world, device, { hook: notingHook(notes, ''), restateSeconds: 0.1 })
  await unit.pull()
  await unit.line('version 1.0.0 is active')
  for (const times of [2, 3]) {
    const gone = times === 2 ? (await unit.pointer(model))!.path! : join(unit.folder, model)
    await rm(gone, { recursive: true })
    await eventually(() => (unit.lines.filter((line) => line.includes('is active')).length === times ? true : null))
    expect(await unit.running(model)).toBe('first')
  }
  expect(unit.lines).toContain('Model m: the file of version 1.0.0 is gone.')
  expect(unit.downloads).toEqual(['1.0.0', '1.0.0', '1.0.0'])
  expect(await readFile(join(notes, 'notes'), 'utf8')).toMatch(/^(m 1\.0\.0 first .+\n){3}$/)
})

/** A device that ran version 1.0.0 and stopped before the rollout was rolled back. */
const rolledBackMeanwhile = async (options: { readonly folder?: string } = {}) => {
  const { world, device, model, rollOut, rollBack } = await startFleet(await openOrganization(), 'first')
  const plan = await rollOut('1.0.0')
  const unit = await startUnit(world, device, options)
  await unit.pull()
  await unit.line('version 1.0.0 is active.')
  // The service knows only then that this device has the plan.
  await expect.poll(() => unit.reports.at(-1)?.state).toBe('active')
  await unit.stop()
  await rollBack(plan)
  return { world, device, plan, model, unit }
}

test('a device that only got a new key stops running a version that was rolled back meanwhile', async () => {
  const { world, device, model, unit } = await rolledBackMeanwhile()
  const again = await startUnit(world, device, { folder: unit.folder, apiKey: 'a new key of the same device' })
  await again.pull()
  await again.line('withdrawn; there is no previous version.')
  expect(await again.running(model)).toBeNull()
})

test('so does one whose reports had not arrived, and keeps a version that another service gave it', async () => {
  const { world, device, plan, model, unit } = await rolledBackMeanwhile()
  await sql`delete from plan_reports`.execute(world.database!.sql)
  const report = { state: 'active', version: '1.0.0' }
  const resume = async (planId: string) => {
    await writeFile(join(unit.folder, 'reports.json'), JSON.stringify([{ planId, report }]))
    const again = await startUnit(world, device, { folder: unit.folder, apiKey: `a new key for ${planId}` })
    const parts = again.parts()
    await again.pull()
    await expect.poll(again.parts).toBeLessThan(parts)
    await again.stop()
  }
  await resume(randomUUID())
  expect(await unit.running(model)).toBe('first')
  const pointer = join(unit.folder, model, 'current.json')
  const state = (await unit.pointer(model))!
  await writeFile(pointer, JSON.stringify({ ...state, current: { ...state.current, planId: plan } }))
  await resume(plan)
  expect(await unit.running(model)).toBeNull()
})

test('another device keeps the running version', async () => {
  const { world, model, unit } = await rolledBackMeanwhile()
  const again = await startUnit(world, await world.register('edge-2'), { folder: unit.folder })
  const parts = again.parts()
  await again.pull()
  // It has stopped working on the model, which no plan assigns.
  await expect.poll(again.parts).toBeLessThan(parts)
  expect(await again.running(model)).toBe('first')
})

test.runIf(process.geteuid?.() === 0)(
  'another device on a full disk says so, and keeps the running version once there is space (needs root)',
  async ({ skip }) => {
    const folder = await emptyFolder()
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder]).status !== 0) return skip()
    onTestFinished(() => void spawnSync('umount', [folder]))
    const { world, model } = await rolledBackMeanwhile({ folder })
    const filling = join(folder, 'filling')
    await writeFile(filling, Buffer.alloc(4 * 1024 * 1024)).catch(() => undefined)
    const other = await world.register('edge-2')
    const again = await startUnit(world, other, { folder })
    await again.pull()
    expect(again.lines).toEqual([`${folder} could not be prepared for this device: The disk is full. Trying again.`])
    await rm(filling)
    await expect.poll(async () => (await again.pointer(model))?.current?.planId).toBeNull()
    expect(await again.running(model)).toBe('first')
  },
)
