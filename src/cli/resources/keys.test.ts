import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { organizations } from '../../../test/organizations.ts'
import { startWorld, type World } from '../../../test/world.ts'
import { runInProcess } from '../in-process.fixture.ts'

const TOKEN = { config: { enrollment: 'token' } } as const
const openShared = organizations(TOKEN)

const start = async (world: World) => {
  const env = {
    SERVICE_HOME: await emptyFolder(),
    SERVICE_API_KEY: world.service.firstAdminKey!,
    SERVICE_API_BASE: world.baseUrl,
  }
  return { world, env, svc: (...argv: string[]) => runInProcess(argv, { env, now: world.now }) }
}

it('creates a key with scopes and an expiry, which works until it is revoked', async () => {
  const { world, svc } = await start(openShared())
  const argv = ['keys', 'create', 'ci', '--scope', 'models:read', '--scope', 'devices:read', '--expires', '30d']
  const made = await svc(...argv)
  const key = /^Key: +(sk_live_\w{32})$/m.exec(made.stdout)![1]!
  const id = /^Id: +(\S+)$/m.exec(made.stdout)![1]!
  expect(made).toEqual({
    exitCode: 0,
    stdout:
      `Key:           ${key}\n` +
      `Id:            ${id}\n` +
      'Name:          ci\n' +
      'Scopes:        models:read, devices:read\n' +
      'Organization:  -\n' +
      'Expires:       2026-01-31 00:00:00 UTC\n',
    stderr: 'Save the key now: it is not shown again.\n',
  })
  const status = async () => (await world.request('GET', '/api/v1/status', { key })).status
  expect(await status()).toBe(200)
  expect(await svc('keys', 'revoke', id)).toEqual({ exitCode: 0, stdout: `Revoked ci (${id}).\n`, stderr: '' })
  expect(await status()).toBe(401)
})

it('lists all keys, also the oldest of more than a page, and says if there are more than the limit', async () => {
  const { world, svc } = await start(await startWorld(TOKEN))
  await svc('keys', 'create', 'oldest', '--scope', 'models:read')
  await sql`insert into keys (id, name, prefix, hash, grants, created_at, revoked_at)
    select gen_random_uuid(), 'old login', 'sk', md5(n::text), '{}', timestamptz '2026-02-01', '2026-02-02'
    from generate_series(1, 1000) as n`.execute(world.database!.sql)
  const lines = async (...argv: string[]) => {
    const { stdout, stderr } = await svc('keys', 'list', ...argv)
    return {
      names: stdout
        .trimEnd()
        .split('\n')
        .slice(1)
        .map((line) => line.split(/ {2,}/)[1]),
      stderr,
    }
  }
  const all = await lines()
  expect(all.names).toHaveLength(1002)
  expect(all.names).toContain('oldest')
  expect(all.stderr).toBe('')
  expect((await lines('--limit', '1002')).stderr).toBe('')
  expect(await lines('--limit', '1')).toEqual({
    names: ['old login'],
    stderr: 'The first 1; there are more: --limit all shows all.\n',
  })
})

it('lists keys, newest first, without their secrets', async () => {
  const { world, svc } = await start(await startWorld(TOKEN))
  const create = async (...argv: string[]): Promise<{ id: string; prefix: string }> =>
    JSON.parse((await svc('keys', 'create', ...argv, '--json')).stdout)
  await world.advance(60)
  const old = await create('old', '--scope', 'models:read', '--expires', '1d')
  await world.advance(24 * 60 * 60)
  const young = await create('young', '--scope', 'models:read', '--org', 'acme')
  await svc('keys', 'revoke', young.id)

  const { stdout, ...rest } = await svc('keys', 'list')
  expect(rest).toEqual({ exitCode: 0, stderr: '' })
  const rows = stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/))
  const adminScopes =
    'devices:read,devices:write,models:read,models:write,training:read,training:write,metrics:read,admin'
  const { keys } = JSON.parse((await svc('keys', 'list', '--json')).stdout)
  expect(rows).toEqual([
    ['ID', 'NAME', 'KIND', 'KEY', 'STATE', 'ORGANIZATION', 'CREATED', 'EXPIRES', 'LAST USED', 'SCOPES'],
    [
      young.id,
      'young',
      'service',
      `${young.prefix}…`,
      'revoked',
      'acme',
      '2026-01-02',
      'never',
      'never',
      'models:read',
    ],
    [old.id, 'old', 'service', `${old.prefix}…`, 'expired', '-', '2026-01-01', '2026-01-02', 'never', 'models:read'],
    [
      keys[2].id,
      'first admin key',
      'service',
      `${keys[2].prefix}…`,
      'active',
      '-',
      '2026-01-01',
      'never',
      'never',
      adminScopes,
    ],
  ])
  const direct = await world.request('GET', '/api/v1/keys', { key: world.service.firstAdminKey! })
  expect({ keys }).toEqual(direct.body)
  expect(stdout + JSON.stringify(keys)).not.toMatch(/sk_live_\w{7}/)
})

it('binds keys to the organization from init, or to a given one', async () => {
  const { svc } = await start(openShared())
  await svc('init', 'Acme')
  const orgOf = async (...argv: string[]) =>
    JSON.parse((await svc('keys', 'create', 'k', ...argv, '--json')).stdout).org_id
  expect([await orgOf(), await orgOf('--org', 'other')]).toEqual(['acme', 'other'])
})

it('explains a missing scope, an invalid key, and an unknown id', async () => {
  const { env, svc } = await start(openShared())
  const narrow = JSON.parse((await svc('keys', 'create', 'n', '--scope', 'models:read', '--json')).stdout).api_key
  const as = (key: string, ...argv: string[]) => runInProcess(argv, { env: { ...env, SERVICE_API_KEY: key } })
  expect([
    await as(narrow, 'keys', 'list'),
    await as('sk_live_wrong', 'keys', 'list'),
    await svc('keys', 'revoke', 'nothing'),
  ]).toEqual([
    {
      exitCode: 1,
      stdout: '',
      stderr: "svc: This key lacks the scope 'admin'. Use a key that has it, or create one.\n",
    },
    {
      exitCode: 1,
      stdout: '',
      stderr:
        'svc: This API key is not valid: it is unknown, expired, or revoked. Check it, or create a new key.\n' +
        'The key came from SERVICE_API_KEY. Sign in again: svc login\n',
    },
    {
      exitCode: 1,
      stdout: '',
      stderr:
        "svc: Key 'nothing' does not exist, or this key has no access to it.\nCheck the id and the address of the service.\n",
    },
  ])
})

it('suggests another key only if a scope is missing and the message does not already say so', async () => {
  const { env, svc } = await start(openShared())
  const keyOf = async (...argv: string[]) =>
    JSON.parse((await svc('keys', 'create', 'k', ...argv, '--json')).stdout).api_key
  const register = async (key: string, ...argv: string[]) =>
    (await runInProcess(['devices', 'register', 'd', ...argv], { env: { ...env, SERVICE_API_KEY: key } })).stderr
  expect(await register(await keyOf('--scope', 'models:read'))).toBe(
    'svc: Registering a device needs the scope devices:write.\n' +
      'Use a key with the required scope: svc login, or SERVICE_API_KEY.\n',
  )
  expect(await register(await keyOf('--org', 'acme'), '--org', 'beta')).toBe(
    "svc: This key is bound to a different organization than 'beta'. Leave the organization out, or use a key of 'beta'.\n",
  )
})

it('help states the default lifetime of a key', async () => {
  const { stdout } = await runInProcess(['keys', 'create', '--help'])
  expect(stdout.replace(/\s+/g, ' ')).toContain("such as 30d (default: never, or the organization's maximum)")
})

it('warns when the revoked key is the one in use', async () => {
  const { world, svc } = await start(await startWorld(TOKEN))
  const { keys } = JSON.parse((await svc('keys', 'list', '--json')).stdout)
  expect(await svc('keys', 'revoke', keys[0].id)).toEqual({
    exitCode: 0,
    stdout: `Revoked first admin key (${keys[0].id}).\n`,
    stderr: 'You were using this key (SERVICE_API_KEY). Sign in again: svc login\n',
  })
  expect((await world.request('GET', '/api/v1/keys', { key: world.service.firstAdminKey! })).status).toBe(401)
})

it('rotates a key: the new one works at once, the old one until the overlap ends', async () => {
  const { world, svc } = await start(await startWorld(TOKEN))
  const old = JSON.parse((await svc('keys', 'create', 'ci', '--scope', 'models:read', '--json')).stdout)
  const { exitCode, stdout, stderr } = await svc('keys', 'rotate', old.id, '--overlap', '2h')
  const key = /^Key: +(sk_live_\w{32})$/m.exec(stdout)![1]!
  expect({ exitCode, stdout: stdout.replace(/^(Key|Id): .*\n/gm, ''), stderr }).toEqual({
    exitCode: 0,
    stdout:
      'Name:          ci\nScopes:        models:read\nOrganization:  -\nExpires:       never\n' +
      `Replaces:      ${old.id}\n`,
    stderr:
      'Save the key now: it is not shown again.\nThe old key, and what was signed in with it, works for 2 h more.\n',
  })
  const works = async (given: string) => (await world.request('GET', '/api/v1/models', { key: given })).status
  expect([await works(key), await works(old.api_key)]).toEqual([200, 200])
  expect((await svc('keys', 'list', '--kind', 'service')).stdout).toMatch(new RegExp(`^${old.id} .* replaced `, 'm'))
  await world.advance(2 * 60 * 60)
  expect([await works(key), await works(old.api_key)]).toEqual([200, 401])
  expect(await svc('keys', 'rotate', old.id)).toMatchObject({
    exitCode: 1,
    stderr: "svc: The key 'ci' is revoked or expired, so it cannot be rotated. Create another one.\n",
  })
  for (const overlap of ['721h', '31d', '1', '-1h']) {
    expect(await svc('keys', 'rotate', old.id, `--overlap=${overlap}`)).toMatchObject({ exitCode: 2 })
  }
})

it('rotating the key that svc is signed in with stores the new one, or says where the old one is', async () => {
  const { world, env, svc } = await start(await startWorld(TOKEN))
  const { SERVICE_API_KEY: first, ...stored } = env
  const signedIn = (...argv: string[]) => runInProcess(argv, { env: stored, now: world.now })
  expect((await signedIn('login', '--api-key', first)).exitCode).toBe(0)
  const path = join(env.SERVICE_HOME, 'credentials.json')
  const keyIn = async () => JSON.parse(await readFile(path, 'utf8')).api_key
  const idOf = async () => JSON.parse((await signedIn('keys', 'list', '--json')).stdout).keys[0].id as string
  const note = `svc was signed in with the old key; the new one is now in ${path}.\n`

  await world.advance(1)
  const atOnce = await signedIn('keys', 'rotate', await idOf(), '--overlap', '0h')
  expect(atOnce).toMatchObject({ exitCode: 0, stderr: expect.stringContaining(note) })
  expect(atOnce.stdout).toContain(await keyIn())
  await world.advance(1)
  const later = await signedIn('keys', 'rotate', await idOf(), '--json')
  expect(later).toMatchObject({ exitCode: 0, stderr: note })
  expect(JSON.parse(later.stdout).api_key).toBe(await keyIn())

  // Another key: nothing is stored.
  const other = JSON.parse((await signedIn('keys', 'create', 'ci', '--json')).stdout)
  const before = await keyIn()
  expect((await signedIn('keys', 'rotate', other.id)).stderr).not.toContain(path)
  expect(await keyIn()).toBe(before)
  env.SERVICE_API_KEY = before
  await world.advance(1)
  const id = JSON.parse(later.stdout).id
  expect((await svc('keys', 'rotate', id)).stderr).toContain(
    'svc uses the old key (SERVICE_API_KEY). Put the new key there.\n',
  )
  expect(await keyIn()).toBe(before)
})
