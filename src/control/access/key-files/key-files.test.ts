import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { emptyFolder, hasPostgres, openTestDatabase } from '../../../../test/databases.ts'
import { startWorld } from '../../../../test/world.ts'
import type { Database } from '../../../platform/db/open.ts'
import { createSecrets } from '../../../platform/secrets.ts'
import { createKeyFiles } from './key-files.service.ts'
import { createKeyFilesStore } from './key-files.store.ts'

/** What a process with this data folder finds at its start. */
const starting = (database: Database, dataDir: string, replaceKeys: readonly string[] = []): Promise<string> =>
  createKeyFiles({ database, store: createKeyFilesStore(), dataDir, replaceKeys })
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
      `StartError: ${join(second, 'secrets.key')} is missing. ${join(second, 'audit.key')} is missing. Copy it from`,
    )
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
    expect(await starting(database, without)).toBe('started')
    expect(await readdir(without)).toEqual([])
    expect(await starting(database, withKeys)).toBe('started')
    const refused = await starting(database, without)
    expect(refused).toContain(`${join(without, 'secrets.key')} is missing.`)
    expect(refused).not.toContain('audit.key')
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
