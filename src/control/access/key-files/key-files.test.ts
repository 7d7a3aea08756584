import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { generateSync } from 'otplib'
import { describe, expect, it } from 'vitest'
import { emptyFolder, freshPostgresUrl, hasPostgres, openTestDatabase } from '../../../../test/databases.ts'
import { runService } from '../../../../test/e2e/service-process.ts'
import { startWorld } from '../../../../test/world.ts'
import { type Database, openDatabase } from '../../../platform/db/open.ts'
import { createSecrets, createSigner } from '../../../platform/secrets.ts'
import { openBrowser, startPeople } from '../sign-in/people.fixture.ts'
import { createKeyFiles } from './key-files.service.ts'

/** What a process with this data folder finds at its start. */
const starting = (
  database: Database,
  dataDir: string,
  replaceKeys: readonly string[] = [],
  warnings: string[] = [],
): Promise<string> =>
  createKeyFiles(
    { database, log: { warn: (_fields, message) => void warnings.push(message) } },
    { dataDir, replaceKeys },
  )
    .require()
    .then(
      () => 'started',
      (error: Error) => `${error.name}: ${error.message}`,
    )

const replacing = (message: string): readonly string[] =>
  /SERVICE_REPLACE_KEYS=(\S+);/.exec(message)?.[1]?.split(',') ?? []

const copyKeys = async (from: string, to: string): Promise<void> => {
  for (const name of ['audit.key', 'secrets.key']) await writeFile(join(to, name), await readFile(join(from, name)))
}

describe.skipIf(!hasPostgres())('processes with their own data folders on one server', () => {
  it('start only with the keys of the first one, or with keys that replace them', async () => {
    const database = await openTestDatabase('postgres')
    const [first, second] = [await emptyFolder(), await emptyFolder()]
    expect(await starting(database, first)).toBe('started')
    expect((await readdir(first)).sort()).toEqual(['audit.key', 'secrets.key'])

    const missing = await starting(database, second)
    expect(missing).toMatch(
      `StartError: ${join(second, 'secrets.key')} is missing. ${join(second, 'audit.key')} is missing. Copy them from`,
    )
    expect(missing).toContain('If they are lost, replace them with SERVICE_REPLACE_KEYS=')
    expect(await readdir(second)).toEqual([])
    await copyKeys(first, second)
    expect(await starting(database, second)).toBe('started')
    await writeFile(join(second, 'secrets.key'), Buffer.alloc(32, 1))
    const another = await starting(database, second)
    expect(another).toMatch(
      `StartError: ${join(second, 'secrets.key')} is not the key that this installation uses. Copy it from`,
    )

    const replaceKeys = replacing(another)
    expect(replaceKeys).toEqual([expect.stringMatching(/^[0-9a-f]{16}$/)])
    expect(await starting(database, second, replaceKeys)).toBe('started')
    expect(await starting(database, second)).toBe('started')
    // The setting allows one key to be replaced, not the next.
    expect(await starting(database, first, replaceKeys)).toContain('secrets.key is not the key')
  })

  it('that an earlier version has used starts without keys, until a process with keys has started', async () => {
    const database = await openTestDatabase('postgres')
    await sql`insert into audit_heads (org_id, seq, hash) values ('', 1, 'ab')`.execute(database.sql)
    const [without, withKeys] = [await emptyFolder(), await emptyFolder()]
    await createSecrets(withKeys).seal('hush', 'one')
    const warnings: string[] = []
    expect(await starting(database, without, [], warnings)).toBe('started')
    expect(await readdir(without)).toEqual([])
    expect(warnings).toEqual([
      expect.stringMatching(
        /^the data folder has no audit\.key, which another process of this installation has used: /,
      ),
    ])
    expect(await starting(database, withKeys)).toBe('started')
    const refused = await starting(database, without)
    expect(refused).toContain(`${join(without, 'secrets.key')} is missing.`)
    expect(refused).not.toContain('audit.key')
  })

  it('get a key that an earlier version has never needed when they start', async () => {
    const database = await openTestDatabase('postgres')
    await sql`insert into audit_heads (org_id, seq, hash) values ('', 1, 'ab')`.execute(database.sql)
    const [first, second] = [await emptyFolder(), await emptyFolder()]
    await createSigner(first).sign('text')
    await writeFile(join(second, 'audit.key'), await readFile(join(first, 'audit.key')))
    expect(await starting(database, first)).toBe('started')
    expect((await readdir(first)).sort()).toEqual(['audit.key', 'secrets.key'])
    expect(await starting(database, second)).toContain(`${join(second, 'secrets.key')} is missing.`)
  })

  it('never get a key that has encrypted authenticator apps or integrations', async () => {
    const database = await openTestDatabase('postgres')
    await sql`
      insert into people (id, org_id, role, totp_secret, created_at)
      values (gen_random_uuid(), 'acme', 'admin', 'sealed', now())`.execute(database.sql)
    const folder = await emptyFolder()
    expect(await starting(database, folder)).toBe('started')
    expect(await readdir(folder)).toEqual([])

    const [dataDir, url] = [await emptyFolder(), await freshPostgresUrl()]
    const settings = { SERVICE_DATABASE_URL: url }
    const service = await runService(dataDir, settings)
    const post = async (path: string, key: string | null, body: object) => {
      const headers = { 'content-type': 'application/json', ...(key !== null && { authorization: `Bearer ${key}` }) }
      const response = await fetch(`${service.baseUrl}/api/v1${path}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      })
      expect(response.status).toBe(201)
      return (await response.json()) as { api_key: string }
    }
    const { api_key } = await post('/devices/register', null, { device_id: 'd' })
    const endpoint = 'https://splunk.example.org'
    await post('/integrations', api_key, { kind: 'logs', type: 'splunk', name: 's', endpoint, config: { token: 't' } })
    await service.terminate()
    const own = await openDatabase({ url, dataDir })
    await sql`delete from key_fingerprints`.execute(own.sql)
    await own.close()
    await rm(join(dataDir, 'secrets.key'))
    const restarted = await runService(dataDir, settings)
    await expect.poll(restarted.output).toContain('the data folder has no secrets.key, which another process')
    expect(await readdir(dataDir)).not.toContain('secrets.key')
    await restarted.terminate()
  })

  it('that start at once agree on one pair of keys', async () => {
    const database = await openTestDatabase('postgres')
    const folders = await Promise.all([emptyFolder(), emptyFolder(), emptyFolder()])
    const outcomes = await Promise.all(folders.map((folder) => starting(database, folder)))
    expect(outcomes.filter((outcome) => outcome === 'started')).toHaveLength(1)
    expect((await Promise.all(folders.map((folder) => readdir(folder)))).flat()).toHaveLength(2)
  })
})

it('a single installation names a lost key, and starts with a new one in its place', async () => {
  const world = await startWorld({ durable: true, database: 'embedded', config: { enrollment: 'token' } })
  const path = join(world.dataDir, 'secrets.key')
  const lost = await readFile(path)
  await rm(path)
  const refused = await world.restart().catch((error: Error) => error.message)
  expect(refused).toMatch(`${path} is missing. Copy it from`)
  await world.restart({ replaceKeys: replacing(`${refused}`) })
  expect((await readFile(path)).equals(lost)).toBe(false)
  await world.restart({ replaceKeys: [] })
  expect((await world.request('GET', '/ready')).status).toBe(200)
})

it('people whose authenticator apps were encrypted with a lost key sign in with a recovery code, and set up another', async () => {
  const { world, join: joinTeam } = await startPeople({ durable: true, database: 'embedded' })
  const codeOf = (secret: unknown): string =>
    generateSync({ secret: String(secret), epoch: Math.floor(world.now().getTime() / 1000) })
  const apps = new Map<string, { readonly secret: unknown; readonly codes: readonly string[] }>()
  for (const name of ['ada', 'bob']) {
    await joinTeam(`${name}@acme.example`)
    const browser = openBrowser(world)
    await browser.signIn(`${name}@acme.example`)
    const { secret } = (await browser.call('POST', '/account/totp')).body
    const { body } = await browser.call('POST', '/account/totp/confirm', { code: codeOf(secret) })
    apps.set(name, { secret, codes: body.recovery_codes as string[] })
  }
  await rm(join(world.dataDir, 'secrets.key'))
  const refused = await world.restart().catch((error: Error) => error.message)
  await world.restart({ replaceKeys: replacing(`${refused}`) })
  const browser = openBrowser(world)
  const begun = await browser.signIn('ada@acme.example')
  expect([begun.status, begun.body.factors]).toEqual([200, ['recovery_code']])
  const explained = { status: 401, body: { message: expect.stringContaining('svc team reset-factor <email>') } }
  const show = (body: object) => browser.call('POST', '/session/second-factor', body)
  const { secret, codes } = apps.get('ada')!
  expect(await show({ code: codeOf(secret) })).toMatchObject(explained)
  expect((await show({ recovery_code: codes[0] })).status).toBe(201)
  const next = (await browser.call('POST', '/account/totp')).body.secret
  const confirmed = await browser.call('POST', '/account/totp/confirm', { code: codeOf(next) })
  expect(confirmed.status).toBe(200)
  for (const recovery_code of apps.get('bob')!.codes) {
    const other = openBrowser(world)
    await other.signIn('bob@acme.example')
    expect((await other.call('POST', '/session/second-factor', { recovery_code })).status).toBe(201)
  }
  expect(await openBrowser(world).signIn('bob@acme.example')).toMatchObject(explained)
})

it('an installation of an earlier version keeps its keys', async () => {
  const database = await openTestDatabase('embedded')
  const folder = await emptyFolder()
  await createSecrets(folder).seal('hush', 'one')
  const before = await readFile(join(folder, 'secrets.key'))
  expect(await starting(database, folder)).toBe('started')
  expect(await readFile(join(folder, 'secrets.key'))).toEqual(before)
  await writeFile(join(folder, 'secrets.key'), Buffer.alloc(32, 1))
  expect(await starting(database, folder)).toContain('is not the key that this installation uses')
})

it.skipIf(process.platform !== 'linux')('a key that cannot be created stops the start', async () => {
  const database = await openTestDatabase('embedded')
  // No new files are allowed there.
  expect(await starting(database, '/proc')).toMatch(/^StartError: \/proc\/secrets\.key cannot be created \(ENOENT\): /)
})
