import { fork } from 'node:child_process'
import { once } from 'node:events'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { emptyFolder, freshDataDir } from '../../../../test/databases.ts'
import { builtFile } from '../../../../test/e2e/built-program.ts'
import { openDatabase } from '../open.ts'
import { openEmbedded } from './open-embedded.ts'

const openFolder = (dataDir: string) => openDatabase({ url: null, dataDir })

const writer = async () => `
  import { openDatabase } from ${JSON.stringify(await builtFile('platform/db/open.js'))}
  const log = { info() {}, warn() {}, error() {} }
  const db = await openDatabase({ url: null, dataDir: process.argv[2], log })
  const writeFrom = async (first) => {
    for (let n = first; ; n += 4) {
      const row = { id: String(n), name: 'x'.repeat(1000), compliance: null, region: 'eu', created_at: new Date(0) }
      await db.sql.insertInto('orgs').values(row).execute()
      process.send(n)
    }
  }
  for (const first of [0, 1, 2, 3]) void writeFrom(first)
`

test('every acknowledged write survives kill -9', async () => {
  const dataDir = await freshDataDir()
  const script = join(await emptyFolder(), 'writer.mjs')
  await writeFile(script, await writer())
  const child = fork(script, [dataDir], { execArgv: ['--liftoff-only'] })
  const answered: number[] = []
  child.on('message', (n: number) => {
    answered.push(n)
    if (answered.length === 200) child.kill('SIGKILL')
  })
  await once(child, 'exit')

  const db = await openFolder(dataDir)
  const rows = await db.sql.selectFrom('orgs').select('id').execute()
  await db.close()
  const kept = new Set(rows.map(({ id }) => Number(id)))
  expect(answered.length).toBeGreaterThanOrEqual(200)
  expect(answered.filter((n) => !kept.has(n))).toEqual([])
}, 60_000)

test('every commit is flushed to disk before it is acknowledged; reads flush nothing', async () => {
  const { pool, thread, close } = await openEmbedded(await freshDataDir(), {
    onFatal: () => {},
    onWarning: () => {},
  })
  await pool.query('create table t (n int)')
  const before = (await thread.counters()).syncs
  for (let n = 0; n < 10; n++) await pool.query('insert into t values ($1)', [n])
  const written = (await thread.counters()).syncs
  expect(written - before).toBeGreaterThanOrEqual(10)
  for (let n = 0; n < 10; n++) await pool.query('select * from t')
  expect((await thread.counters()).syncs).toBe(written)
  await close()
})

test('if the log cannot be written, the database stops with a reason, and keeps acknowledged writes', async () => {
  const dataDir = await freshDataDir()
  const fatal: string[] = []
  const onFatal = (error: Error) => fatal.push(error.message)
  const db = await openDatabase({ url: null, dataDir, onFatal })
  await sql`create table t (content text)`.execute(db.sql)
  await sql`insert into t values ('answered')`.execute(db.sql)
  const log = join(dataDir, 'database', 'pg_wal')
  await rename(log, `${log}.gone`)

  const reason = /^The embedded database in .* has stopped: PANIC: .*could not create file "pg_wal/
  const flood = sql`insert into t select repeat(md5(n::text), 20) from generate_series(1, 20000) as n`
  await expect(flood.execute(db.sql)).rejects.toThrow(reason)
  await expect(sql`select 1`.execute(db.sql)).rejects.toThrow(reason)
  expect(fatal).toEqual([expect.stringMatching(reason)])
  await db.close()

  await rename(`${log}.gone`, log)
  const again = await openFolder(dataDir)
  expect((await sql`select * from t`.execute(again.sql)).rows).toEqual([{ content: 'answered' }])
  await again.close()
}, 60_000)

test('openDatabase refuses a folder that another process has open', async () => {
  const dataDir = await freshDataDir()
  const db = await openFolder(dataDir)
  await expect(openFolder(dataDir)).rejects.toThrow(`The data folder ${dataDir} is in use by process ${process.pid}`)
  await db.close()
  await (await openFolder(dataDir)).close()
})

test('a data folder that cannot be created is refused, naming it', async () => {
  const file = join(await emptyFolder(), 'file')
  await writeFile(file, '')
  await expect(openFolder(join(file, 'data'))).rejects.toThrow(
    `The data folder ${join(file, 'data')} cannot be used: Error: ENOTDIR`,
  )
})
