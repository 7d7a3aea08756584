import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { startWorld } from '../../../test/world.ts'
import { runInProcess } from '../in-process.fixture.ts'

const start = async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const env = {
    SERVICE_HOME: await emptyFolder(),
    SERVICE_API_KEY: world.service.firstAdminKey!,
    SERVICE_API_BASE: world.baseUrl,
  }
  return { world, env, svc: (...argv: string[]) => runInProcess(argv, { env, now: world.now }) }
}

it('makes a key with scopes and an expiry, which works until it is revoked', async () => {
  const { world, svc } = await start()
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
      'Expires:       2026-01-31T00:00:00.000Z\n',
    stderr: 'Save the key now: it is not shown again.\n',
  })
  const status = async () => (await world.request('GET', '/api/v1/status', { key })).status
  expect(await status()).toBe(200)
  expect(await svc('keys', 'revoke', id)).toEqual({ exitCode: 0, stdout: `Revoked ci (${id}).\n`, stderr: '' })
  expect(await status()).toBe(401)
})

it('lists keys, newest first, without the keys themselves', async () => {
  const { world, svc } = await start()
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
    ['ID', 'NAME', 'KEY', 'STATE', 'ORGANIZATION', 'CREATED', 'EXPIRES', 'LAST USED', 'SCOPES'],
    [young.id, 'young', `${young.prefix}…`, 'revoked', 'acme', '2026-01-02', 'never', 'never', 'models:read'],
    [old.id, 'old', `${old.prefix}…`, 'expired', '-', '2026-01-01', '2026-01-02', 'never', 'models:read'],
    [keys[2].id, 'first admin key', `${keys[2].prefix}…`, 'active', '-', '2026-01-01', 'never', 'never', adminScopes],
  ])
  const direct = await world.request('GET', '/api/v1/keys', { key: world.service.firstAdminKey! })
  expect({ keys }).toEqual(direct.body)
  expect(stdout + JSON.stringify(keys)).not.toMatch(/sk_live_\w{7}/)
})

it('binds keys to the organization of init, or to the one that is named', async () => {
  const { svc } = await start()
  await svc('init', 'Acme')
  const orgOf = async (...argv: string[]) =>
    JSON.parse((await svc('keys', 'create', 'k', ...argv, '--json')).stdout).org_id
  expect([await orgOf(), await orgOf('--org', 'other')]).toEqual(['acme', 'other'])
})

it('says what is missing when the key may not do it, is not valid, or the id is unknown', async () => {
  const { env, svc } = await start()
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
      stderr:
        "svc: This key lacks the scope 'admin'. Use a key that carries it, or create one.\n" +
        'Use a key that may do this: svc login, or SERVICE_API_KEY.\n',
    },
    {
      exitCode: 1,
      stdout: '',
      stderr:
        'svc: This API key is not valid: it is unknown, expired or revoked. Check it, or create a new key.\n' +
        'The key came from SERVICE_API_KEY. Sign in again: svc login\n',
    },
    {
      exitCode: 1,
      stdout: '',
      stderr:
        "svc: Key 'nothing' does not exist, or this key may not see it.\nCheck the id and the address of the service.\n",
    },
  ])
})

it('warns when the key that is revoked is its own', async () => {
  const { world, svc } = await start()
  const { keys } = JSON.parse((await svc('keys', 'list', '--json')).stdout)
  expect(await svc('keys', 'revoke', keys[0].id)).toEqual({
    exitCode: 0,
    stdout: `Revoked first admin key (${keys[0].id}).\n`,
    stderr: 'You were using this key (SERVICE_API_KEY). Sign in again: svc login\n',
  })
  expect((await world.request('GET', '/api/v1/keys', { key: world.service.firstAdminKey! })).status).toBe(401)
})
