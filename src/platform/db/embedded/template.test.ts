import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { emptyFolder, freshDataDir } from '../../../../test/databases.ts'
import { openDatabase } from '../open.ts'
import { createDatabaseFolder, EMBEDDED_MAJOR, packFolder, runInitdb, unpackFolder } from './template.ts'

/** Describes a folder's database, without what identifies it. */
const describeDatabase = async (dataDir: string): Promise<unknown> => {
  const db = await openDatabase({ url: null, dataDir })
  const { rows } = await sql`
    select datname, pg_encoding_to_char(encoding) as encoding, datcollate, current_setting('server_version_num') as server,
      current_setting('fsync') as fsync, current_setting('wal_sync_method') as sync_method,
      current_setting('synchronous_commit') as commit, current_setting('full_page_writes') as full_page_writes
    from pg_database
  `.execute(db.sql)
  await db.close()
  return rows
}

test('the shipped template equals the result of initdb, and an interrupted start leaves no trace', async () => {
  const fromTemplate = await emptyFolder()
  // Left by an interrupted start.
  await mkdir(join(fromTemplate, 'database.new', 'base'), { recursive: true })
  await createDatabaseFolder(join(fromTemplate, 'database'))
  expect(await readdir(fromTemplate)).toEqual(['database'])
  const fromInitdb = await emptyFolder()
  await runInitdb(join(fromInitdb, 'database'))

  const description = await describeDatabase(fromTemplate)
  expect(description).toEqual([
    {
      datname: 'postgres',
      encoding: 'UTF8',
      datcollate: 'C',
      server: expect.stringMatching(new RegExp(`^${EMBEDDED_MAJOR}00\\d\\d$`)),
      fsync: 'on',
      sync_method: 'fsync',
      commit: 'on',
      full_page_writes: 'on',
    },
  ])
  expect(await describeDatabase(fromInitdb)).toEqual(description)
}, 120_000)

test('an unpacked folder equals the packed one', async () => {
  const folder = await emptyFolder()
  await mkdir(join(folder, 'b', 'empty'), { recursive: true })
  await writeFile(join(folder, 'a'), 'first\nsecond\n')
  await writeFile(join(folder, 'b', 'nothing'), '')
  await writeFile(join(folder, 'b', 'c'), Uint8Array.of(0, 10, 255))
  const unpacked = join(await emptyFolder(), 'copy')
  await unpackFolder(await packFolder(folder, 1), unpacked)
  expect((await readdir(unpacked, { recursive: true })).sort()).toEqual(['a', 'b', 'b/c', 'b/empty', 'b/nothing'])
  expect(await readFile(join(unpacked, 'a'), 'utf8')).toBe('first\nsecond\n')
  expect(new Uint8Array(await readFile(join(unpacked, 'b', 'c')))).toEqual(Uint8Array.of(0, 10, 255))
  expect(await readFile(join(unpacked, 'b', 'nothing'), 'utf8')).toBe('')
})

test('a folder of another PostgreSQL version is refused, with both versions and what to do', async () => {
  const dataDir = await freshDataDir()
  const folder = join(dataDir, 'database')
  await writeFile(join(folder, 'PG_VERSION'), '17\n')
  await expect(openDatabase({ url: null, dataDir })).rejects.toThrow(
    `The database in ${folder} was written by PostgreSQL 17; this program embeds ${EMBEDDED_MAJOR}. Move it to a ` +
      'PostgreSQL server with the version of the program that wrote it (svc migrate --to postgres://...), then set ' +
      'SERVICE_DATABASE_URL here.',
  )
})

test("a damaged folder is refused with PostgreSQL's message", async () => {
  const dataDir = await freshDataDir()
  const folder = join(dataDir, 'database')
  await rm(join(folder, 'global', 'pg_control'))
  await expect(openDatabase({ url: null, dataDir })).rejects.toThrow(
    `The embedded database in ${folder} cannot be opened: `,
  )
})
