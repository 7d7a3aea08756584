import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { boundOrganizations } from '../../../test/organizations.ts'
import { emptyFolder, notingHook, startFleet, startUnit } from './delivery.fixture.ts'

const openOrganization = boundOrganizations()

const notesIn = async (folder: string) => (await readFile(join(folder, 'notes'), 'utf8')).trimEnd().split('\n')

test('a hook is called for the running version if it was activated without one', async () => {
  const { world, device, rollOut } = await startFleet(await openOrganization(), 'first')
  await rollOut('1.0.0')
  const plain = await startUnit(world, device)
  await plain.pull()
  await plain.line('version 1.0.0 is active.')
  await plain.stop()
  const folder = await emptyFolder()
  const unit = await startUnit(world, device, { folder: plain.folder, hook: notingHook(folder, '') })
  await unit.pull()
  await unit.line('version 1.0.0 is active')
  await unit.stop()
  const again = await startUnit(world, device, { folder: plain.folder, hook: notingHook(folder, '') })
  await again.pull()
  await expect.poll(() => again.reports.length).toBeGreaterThan(0)
  await again.stop()
  expect(await notesIn(folder)).toEqual(['m 1.0.0 first first'])
})

test('a hook that refuses the running version is not called again to restore it', async () => {
  const { world, device, model, rollOut } = await startFleet(await openOrganization(), 'first')
  await rollOut('1.0.0')
  const plain = await startUnit(world, device)
  await plain.pull()
  await plain.line('version 1.0.0 is active.')
  await plain.stop()
  const folder = await emptyFolder()
  const unit = await startUnit(world, device, { folder: plain.folder, hook: notingHook(folder, '1.0.0') })
  await unit.pull()
  await unit.line('version 1.0.0 failed: does not fit here.')
  expect(await notesIn(folder)).toEqual(['m 1.0.0 first first'])
  expect(await unit.running(model)).toBe('first')
})

test('after a move of the folder, its pointer has the new path, and the hook is called with it', async () => {
  const { world, device, model, rollOut } = await startFleet(await openOrganization(), 'first')
  await rollOut('1.0.0')
  const notes = await emptyFolder()
  const hook = notingHook(notes, '')
  const before = await startUnit(world, device, { folder: join(await emptyFolder(), 'before'), hook })
  await before.pull()
  await before.line('version 1.0.0 is active')
  await before.stop()
  const folder = join(before.folder, '../after')
  await rename(before.folder, folder)
  const after = await startUnit(world, device, { folder, hook })
  await expect.poll(async () => (await after.pointer(model))?.path).toContain(join(folder, model))
  await after.pull()
  await after.line('version 1.0.0 is active')
  expect(await notesIn(notes)).toEqual(['m 1.0.0 first -', 'm 1.0.0 first first'])
  expect(await after.running(model)).toBe('first')
})

test('if the pointer cannot be written after the hook accepted a version, the previous version is restored', async () => {
  const { world, device, model, rollOut } = await startFleet(await openOrganization(), 'first', 'second')
  const [folder, notes] = [await emptyFolder(), await emptyFolder()]
  const pointer = join(folder, model, 'current.json')
  // A folder in its place cannot be replaced by a file.
  const block = `rm "${pointer}"; mkdir -p "${pointer}/x"`
  const hook = notingHook(notes, '', `if [ "$MODEL_VERSION" = 2.0.0 ]; then ${block}; fi`)
  const unit = await startUnit(world, device, { folder, hook })
  await rollOut('1.0.0')
  await unit.pull()
  await unit.line('version 1.0.0 is active')
  await rollOut('2.0.0')
  await unit.pull()
  await unit.line('the version could not be written. Version 1.0.0 keeps running.')
  expect(await notesIn(notes)).toEqual(['m 1.0.0 first -', 'm 2.0.0 second first', 'm 1.0.0 first second'])
})

test('a withdrawn version is replaced by nothing if the file of the previous one is gone', async () => {
  const { world, device, model, rollOut, rollBack } = await startFleet(await openOrganization(), 'first', 'second')
  const notes = await emptyFolder()
  const unit = await startUnit(world, device, { hook: notingHook(notes, '') })
  const plans: string[] = []
  for (const version of ['1.0.0', '2.0.0']) {
    plans.push(await rollOut(version))
    await unit.pull()
    await unit.line(`version ${version} is active`)
  }
  const { previous } = (await unit.pointer(model))!
  await rm(join(unit.folder, model, previous!.file!.fileName))
  for (const plan of plans) await rollBack(plan)
  await unit.pull()
  await unit.line('Model m: withdrawn; the file of version 1.0.0 is gone.')
  expect((await notesIn(notes)).at(-1)).toBe('m - - second')
  expect(await unit.pointer(model)).toMatchObject({ current: null, path: null })
})

test('a stored version that was damaged does not run again: it is downloaded again, or counts as gone', async () => {
  const { world, device, model, rollOut, rollBack } = await startFleet(await openOrganization(), 'first', 'second')
  const notes = await emptyFolder()
  const unit = await startUnit(world, device, { hook: notingHook(notes, '') })
  const damagePrevious = async () => {
    const { previous } = (await unit.pointer(model))!
    await writeFile(join(unit.folder, model, previous!.file!.fileName), 'f1rst')
  }
  const give = async (version: string) => {
    const plan = await rollOut(version)
    await unit.pull()
    await unit.line(`version ${version} is active`)
    return plan
  }
  const first = await give('1.0.0')
  const second = await give('2.0.0')
  await damagePrevious()
  await rollBack(second)
  await unit.pull()
  await expect.poll(() => unit.running(model)).toBe('first')
  expect(unit.downloads).toEqual(['1.0.0', '2.0.0', '1.0.0'])

  const last = await rollOut('2.0.0')
  await unit.pull()
  await expect.poll(() => unit.running(model)).toBe('second')
  await damagePrevious()
  for (const plan of [first, last]) await rollBack(plan)
  await unit.pull()
  await unit.line('Model m: withdrawn; the file of version 1.0.0 is gone.')
  expect(await notesIn(notes)).toEqual([
    'm 1.0.0 first -',
    'm 2.0.0 second first',
    'm 1.0.0 first second',
    'm 2.0.0 second first',
    'm - - second',
  ])
})

test('a device keeps only the versions that it may still need', async () => {
  const versions = ['first', 'second', 'third', 'fourth', 'fifth']
  const { world, device, model, rollOut, rollBack } = await startFleet(await openOrganization(), ...versions)
  const hook = notingHook(await emptyFolder(), '2.0.0 3.0.0 4.0.0')
  const unit = await startUnit(world, device, { hook })
  const kept = async (folder = unit.folder): Promise<string[]> => {
    const names = (await readdir(join(folder, model))).filter((name) => name !== 'current.json')
    return Promise.all(names.map((name) => readFile(join(folder, model, name), 'utf8')))
  }
  const plans: string[] = []
  for (const version of ['1.0.0', '2.0.0', '3.0.0', '4.0.0']) {
    plans.push(await rollOut(version))
    await unit.pull()
    await unit.line(version === '1.0.0' ? 'version 1.0.0 is active' : `version ${version} failed`)
  }
  // Each refused version was kept, because another hook may accept it, until the next one was assigned.
  expect((await kept()).sort()).toEqual(['first', 'fourth'])
  plans.push(await rollOut('5.0.0'))
  await unit.pull()
  await unit.line('version 5.0.0 is active')
  await expect.poll(kept).toEqual(expect.arrayContaining(['first', 'fifth']))
  for (const plan of plans) await rollBack(plan)
  await unit.pull()
  await unit.line('rolled back to version 1.0.0.')
  await expect.poll(kept).toEqual(['first'])
})

test('a pointer of an older agent, which names no plans, is used', async () => {
  const { world, device, model, rollOut, rollBack } = await startFleet(await openOrganization(), 'first', 'second')
  const first = await rollOut('1.0.0')
  const before = await startUnit(world, device)
  await before.pull()
  await before.line('version 1.0.0 is active.')
  await before.stop()
  const { plans: _, ...older } = (await before.pointer(model))!
  await writeFile(join(before.folder, model, 'current.json'), JSON.stringify(older))
  const second = await rollOut('2.0.0')
  const unit = await startUnit(world, device, { folder: before.folder })
  await unit.pull()
  await unit.line('version 2.0.0 is active.')
  await rollBack(first)
  await rollBack(second)
  await unit.pull()
  await unit.line('rolled back to version 1.0.0.')
  expect(await unit.running(model)).toBe('first')
})

test('nothing is deleted while the pointer cannot be read', async () => {
  const { world, device, model, rollOut } = await startFleet(await openOrganization(), 'first', 'second')
  await rollOut('1.0.0')
  const unit = await startUnit(world, device)
  await unit.pull()
  await unit.line('version 1.0.0 is active.')
  await unit.stop()
  const pointer = join(unit.folder, model, 'current.json')
  const away = join(await emptyFolder(), 'away')
  await rename(pointer, away)
  // Stands in for a disk error, or too many open files.
  await mkdir(pointer)
  await rollOut('2.0.0')
  const again = await startUnit(world, device, { folder: unit.folder })
  await again.pull()
  await again.line('version 2.0.0 failed: EISDIR')
  expect(again.lines.join('\n')).not.toContain('No version is running')
  await again.stop()
  await rm(pointer, { recursive: true })
  await rename(away, pointer)
  expect(await again.running(model)).toBe('first')
})

test('a pointer that contains something else is replaced', async () => {
  const { world, device, model, rollOut } = await startFleet(await openOrganization(), 'first')
  await rollOut('1.0.0')
  for (const text of [
    '{"current": "x"}',
    '{"current": {"version": "2.0.0"}}',
    '{"previous": {"version": 2, "file": null}}',
    '{"trying": 7}',
    '{"refused": 7}',
    '{"plans": 7}',
    '[]',
    '{"cur',
  ]) {
    const folder = await emptyFolder()
    await mkdir(join(folder, model))
    await writeFile(join(folder, model, 'current.json'), text)
    const unit = await startUnit(world, device, { folder })
    await unit.pull()
    await unit.line('version 1.0.0 is active.')
    expect(await unit.running(model), text).toBe('first')
    await unit.stop()
  }
})

test('a device may have many models without a warning of a leak', async () => {
  const { world, device } = await startFleet(await openOrganization())
  const warnings: string[] = []
  const onWarning = ({ name }: Error): unknown => warnings.push(name)
  process.on('warning', onWarning)
  onTestFinished(() => void process.off('warning', onWarning))
  const folder = await emptyFolder()
  for (let n = 0; n < 12; n++) {
    await mkdir(join(folder, `m-${n}`))
    await writeFile(join(folder, `m-${n}`, 'current.json'), '{}')
  }
  const unit = await startUnit(world, device, { folder })
  await unit.pull()
  expect(unit.parts()).toBeGreaterThan(0)
  expect(warnings).toEqual([])
})
