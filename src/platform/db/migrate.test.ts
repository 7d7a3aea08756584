import { fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { emptyFolder, freshDataDir, freshPostgresUrl, hasPostgres } from '../../../test/databases.ts'
import { builtFile } from '../../../test/e2e/built-program.ts'
import { type Migration, migrate } from './migrate.ts'
import { MIGRATIONS } from './migrations/all.ts'
import { type Database, openDatabase } from './open.ts'

const remembered = async (db: Database): Promise<string[]> => {
  const { rows } = await sql<{ name: string }>`select name from migrations order by name`.execute(db.sql)
  return rows.map(({ name }) => name)
}

const published = MIGRATIONS.map(({ name }) => name)
const later = (name: string, ...statements: string[]): readonly Migration[] => [...MIGRATIONS, { name, statements }]

const openMigrated = {
  embedded: async () => openDatabase({ url: null, dataDir: await freshDataDir() }),
  PostgreSQL: async () => openDatabase({ url: await freshPostgresUrl(), dataDir: '' }),
}

for (const [kind, open] of Object.entries(openMigrated)) {
  describe.skipIf(kind === 'PostgreSQL' && !hasPostgres())(`migrating (${kind})`, () => {
    test('applies each migration once, rolls back one that fails, and refuses a database of a newer program', async () => {
      const db = await open()
      expect(await migrate(db, MIGRATIONS)).toEqual([])

      const broken = later('9000-broken', 'create table half (id int)', 'select 1 / 0')
      await expect(migrate(db, broken)).rejects.toThrow('division by zero')
      expect(await remembered(db)).toEqual(published)

      const added = later('9000-added', 'create table half (id int)', 'insert into half values (1)')
      expect(await migrate(db, added)).toEqual(['9000-added'])
      expect(await migrate(db, added)).toEqual([])
      expect((await sql`select * from half`.execute(db.sql)).rows).toEqual([{ id: 1 }])

      await expect(migrate(db, MIGRATIONS)).rejects.toThrow(
        'The database has migrations that this program does not know (9000-added): a newer version wrote it. Start ' +
          'that version or a later one, or restore a backup from before the upgrade.',
      )
      expect(await remembered(db)).toEqual([...published, '9000-added'])
      await db.close()
    })
  })
}

const built = async (name: string): Promise<string> => JSON.stringify(await builtFile(`platform/db/${name}`))

const migratingProcess = async () => `
  import { migrate } from ${await built('migrate.js')}
  import { MIGRATIONS } from ${await built('migrations/all.js')}
  import { openDatabase } from ${await built('open.js')}
  const log = { info() {}, warn() {}, error() {} }
  const db = await openDatabase({ url: process.argv[2], dataDir: '', log })
  process.send('ready')
  process.once('message', async () => {
    const applied = await migrate(db, MIGRATIONS).catch((error) => error.message)
    await db.close()
    process.send(applied, () => process.exit())
  })
`

describe.skipIf(!hasPostgres())('several processes', () => {
  test('that migrate an empty database at the same time apply each migration exactly once', async () => {
    const url = await freshPostgresUrl('template0')
    const script = join(await emptyFolder(), 'migrate.mjs')
    await writeFile(script, await migratingProcess())
    const processes = [1, 2, 3].map(() => fork(script, [url], { execArgv: [] }))
    await Promise.all(processes.map((child) => once(child, 'message')))
    for (const child of processes) child.send('go')
    const answers = await Promise.all(processes.map(async (child) => (await once(child, 'message'))[0]))
    expect(answers.flat().sort()).toEqual(published)
    const db = await openDatabase({ url, dataDir: '' })
    expect(await remembered(db)).toEqual(published)
    await db.close()
  }, 60_000)
})

test.skipIf(!hasPostgres())('a new database must be able to store any text', async () => {
  const open = async (encoding: string) =>
    openDatabase({
      url: await freshPostgresUrl(`template0 encoding '${encoding}' locale 'C'`),
      dataDir: '',
    })
  const latin = await open('LATIN1')
  await expect(migrate(latin, MIGRATIONS)).rejects.toThrow(
    /^The database '\w+' has the encoding LATIN1, which cannot represent the letters of many names\. Create another one: createdb --encoding=UTF8/,
  )
  await latin.close()

  const ascii = await open('SQL_ASCII')
  expect(await migrate(ascii, MIGRATIONS)).toEqual(published)
  await ascii.close()
})
