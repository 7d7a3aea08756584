import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { startWorld } from '../../../test/world.ts'
import { runInProcess } from '../in-process.fixture.ts'
import { foundInOrg } from './resource.ts'
import { ACTIONS } from './resources.ts'

/** An operator whose key sees every organization; acme and beta have devices, groups, and members with the same names. */
const start = async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const key = world.service.firstAdminKey!
  const env = { SERVICE_HOME: await emptyFolder(), SERVICE_API_KEY: key, SERVICE_API_BASE: world.baseUrl }
  const svc = (...argv: string[]) => runInProcess(argv, { env, now: world.now })
  const json = async (...argv: string[]) => JSON.parse((await svc(...argv, '--json')).stdout)
  for (const org of ['acme', 'beta']) {
    await svc('devices', 'register', 'phone', '--org', org)
    await svc('groups', 'create', 'g', '--org', org)
    await svc('team', 'add', 'ada@example.org', '--org', org)
  }
  return { world, key, svc, json }
}

const said = (stdout: string, stderr = '') => ({ exitCode: 0, stdout, stderr })

it('--org selects between devices with the same id in several organizations', async () => {
  const { svc, json } = await start()
  expect(await svc('devices', 'show', 'phone')).toEqual({
    exitCode: 1,
    stdout: '',
    stderr:
      "svc: Several organizations have a device 'phone'. Choose one with --org ('default' also stands for devices without an organization), or use a key of that organization.\n",
  })
  expect(await json('devices', 'show', 'phone', '--org', 'beta')).toMatchObject({ org_id: 'beta' })
  expect(await json('devices', 'heartbeats', 'phone', '--org', 'beta')).toMatchObject({ device_id: 'phone' })
  expect(await svc('devices', 'erase', 'phone', '--yes', '--org', 'beta')).toMatchObject({ exitCode: 0, stderr: '' })
  expect(await json('devices', 'show', 'phone')).toMatchObject({ org_id: 'acme' })
})

it('looks up groups and members in the organization from --org, and accepts a response without a body', async () => {
  const { svc, json } = await start()
  expect((await svc('groups', 'show', 'g')).stderr).toMatch(/^svc: Group 'g' does not exist/)
  expect(await json('groups', 'show', 'g', '--org', 'beta')).toMatchObject({ name: 'g', org_id: 'beta' })
  expect(await svc('groups', 'add', 'g', 'phone', '--org', 'beta')).toEqual(said('Added phone.\n'))
  expect((await json('groups', 'devices', 'g', '--org', 'beta')).total).toBe(1)
  expect((await json('groups', 'devices', 'g', '--org', 'acme')).total).toBe(0)
  expect(await svc('groups', 'remove', 'g', 'phone', '--org', 'beta')).toEqual(said('Removed phone.\n'))
  expect(await svc('groups', 'update', 'g', '--name', 'h', '--org', 'beta')).toMatchObject({ exitCode: 0 })
  expect(await svc('groups', 'delete', 'h', '--yes', '--org', 'beta')).toMatchObject({ exitCode: 0 })
  const set = ['team', 'set-role', 'ada@example.org', 'admin']
  expect((await svc(...set)).stderr).toMatch(/^svc: Member 'ada@example\.org'/)
  expect((await svc(...set, '--org', 'beta')).stdout).toBe('ada@example.org is now admin.\n')
  expect(await svc('team', 'remove', 'ada@example.org', '--yes', '--org', 'beta')).toEqual(said('Removed.\n'))
  expect((await json('team', 'list', '--org', 'acme')).members).toMatchObject([{ role: 'member' }])
  expect((await json('team', 'list', '--org', 'beta')).members).toEqual([])
  expect(await json('team', 'remove', 'ada@example.org', '--yes', '--org', 'acme')).toEqual({})
})

it('erases a name from the audit log of the organization from --org', async () => {
  const { svc, json } = await start()
  const id = (await json('groups', 'show', 'g', '--org', 'beta')).id as string
  await svc('groups', 'delete', 'g', '--yes', '--org', 'beta')
  const named = async () => {
    const { entries } = await json('audit', 'list', '--object', id, '--org', 'beta')
    return new Set((entries as { object_name: string | null }[]).map(({ object_name }) => object_name))
  }
  const { entries } = await json('audit', 'list', '--object', id, '--org', 'beta')
  expect(entries.length).toBeGreaterThan(0)
  expect(await named()).not.toEqual(new Set([null]))
  const erase = ['audit', 'erase', String(entries[0].object_kind), id, '--yes']
  const erased = said('Erased. The entries remain, with the id instead of the name.\n')
  expect(await svc(...erase, '--org', 'acme')).not.toEqual(erased)
  expect(await svc(...erase, '--org', 'beta')).toEqual(erased)
  expect(await named()).toEqual(new Set([null]))
})

it('every command that looks up names unique only within an organization has --org', async () => {
  const looking = ACTIONS.filter(({ action }) => foundInOrg(action) !== null)
  expect(looking.map(({ under, action }) => `${under} ${action.name}`)).toEqual(
    expect.arrayContaining(['devices erase', 'groups delete', 'team reset-factor', 'experiments create']),
  )
  for (const { under, action } of looking) {
    const { stdout } = await runInProcess([under, action.name, '--help'])
    expect([under, action.name, stdout]).toEqual([under, action.name, expect.stringContaining('--org <org_id>')])
  }
})
