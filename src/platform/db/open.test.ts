import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { eachDatabase, freshPostgresUrl, hasPostgres } from '../../../test/databases.ts'
import { asDatabaseAway } from '../../domain/outages.ts'
import { createServerHints } from './hints.ts'
import { type Database, type Executor, openDatabase } from './open.ts'
import { sqlState } from './transactions.ts'

const org = (id: string) => ({ id, name: 'Acme', compliance: null, region: 'eu', created_at: new Date(0) })

const orgIds = async (db: Database): Promise<string[]> => {
  const rows = await db.sql.selectFrom('orgs').select('id').orderBy('id').execute()
  return rows.map(({ id }) => id)
}

/** Resolves when both sides have called, so that two transactions each hold a lock before requesting the other's. */
const meetingOfTwo = (): (() => Promise<void>) => {
  let waiting: (() => void) | undefined
  return () =>
    new Promise((resolve) => {
      if (waiting === undefined) waiting = resolve
      else {
        waiting()
        resolve()
      }
    })
}

eachDatabase('a database', (open) => {
  test('returns values as they were written', async () => {
    const db = await open()
    const device = {
      id: '01890a5d-ac96-774b-bcce-b302099a8057',
      device_id: 'pixel-7',
      org_id: null,
      platform: 'android',
      status: 'active',
      last_heartbeat: new Date('1969-12-31T23:59:59.999Z'),
      created_at: new Date('2026-03-29T01:30:00.123Z'),
      updated_at: new Date('2100-01-01T00:00:00.000Z'),
    }
    const capabilities = { ram_gb: 8, gpu: null, tags: ['a', "it's", '"quoted"', 'ü€😀'] }
    await db.sql
      .insertInto('devices')
      .values({ ...device, capabilities: JSON.stringify(capabilities), metrics: null })
      .execute()
    const columns = [...(Object.keys(device) as (keyof typeof device)[]), 'capabilities', 'metrics'] as const
    expect(await db.sql.selectFrom('devices').select(columns).execute()).toEqual([
      { ...device, capabilities, metrics: null },
    ])
  })

  test('stores text with unsupported characters, replacing each of them', async () => {
    const db = await open()
    const text = 'receiver: \0, half \ud83d, whole 😀, {"quoted": "\\u0000"}'
    const json = JSON.stringify({ text, path: 'C:\\u0000' })
    const { rows } = await sql<{ text: string; json: unknown; list: unknown[] }>`
      select ${text}::text as text, ${json}::jsonb as json, ${[json, '{}']}::jsonb[] as list`.execute(db.sql)
    const stored = text.replace('\0', '\ufffd').replace('\ud83d,', '\ufffd,')
    const { list, ...one } = rows[0]!
    expect(one).toEqual({ text: stored, json: { text: stored, path: 'C:\\u0000' } })
    expect(list).toEqual([one.json, {}])
  })

  test('keeps text that only looks like JSON unchanged', async () => {
    const db = await open()
    const texts = ['{\\u0000}', '[\\u0000', 'C:\\u0000', '"\\ud800']
    const { rows } = await sql<{ list: string[] }>`select ${texts}::text[] as list`.execute(db.sql)
    expect(rows).toEqual([{ list: texts }])
  })

  test('reads bigint, count and sum as numbers, and text arrays as arrays', async () => {
    const db = await open()
    const { rows } = await sql`
      select ${Number.MAX_SAFE_INTEGER}::bigint as big, count(*) as count, sum(x) as sum, null::bigint as nothing,
        ${['a,b', '{}', 'NULL', '']}::text[] as list
      from generate_series(1::bigint, 4) as x
    `.execute(db.sql)
    expect(rows).toEqual([{ big: 9007199254740991, count: 4, sum: 10, nothing: null, list: ['a,b', '{}', 'NULL', ''] }])
  })

  test('uses UTC, whatever the time zone of the process', async () => {
    const db = await open()
    const { rows } =
      await sql`select current_setting('timezone') as zone, '2026-07-01 12:00'::timestamptz as noon`.execute(db.sql)
    expect(rows).toEqual([{ zone: 'UTC', noon: new Date('2026-07-01T12:00:00Z') }])
  })

  test('answers hundreds of concurrent queries, each with its own result', async () => {
    const db = await open()
    const numbers = Array.from({ length: 300 }, (_, index) => index)
    const answers = await Promise.all(
      numbers.map(async (number) => (await sql<{ n: number }>`select ${number}::int as n`.execute(db.sql)).rows[0]?.n),
    )
    expect(answers).toEqual(numbers)
  })

  test('transfers values of several megabytes in both directions', async () => {
    const db = await open()
    const name = 'x'.repeat(5_000_000)
    await db.sql
      .insertInto('orgs')
      .values({ ...org('large'), name })
      .execute()
    const row = await db.sql.selectFrom('orgs').selectAll().executeTakeFirstOrThrow()
    expect(row.name === name).toBe(true)
  })

  test('reports a constraint violation with its SQLSTATE and constraint, and continues', async () => {
    const db = await open()
    await db.sql.insertInto('orgs').values(org('a')).execute()
    const second = db.sql.insertInto('orgs').values(org('a')).execute()
    await expect(second).rejects.toMatchObject({ code: '23505', constraint: 'orgs_pkey' })
    expect(await orgIds(db)).toEqual(['a'])
  })
})

test.skipIf(!hasPostgres())(
  "a server reads and writes values the same way, whatever its databases' settings",
  async () => {
    const url = await freshPostgresUrl()
    const query = async (db: Database) => {
      const { rows } = await sql`
      select '2026-07-01 12:00'::timestamptz as noon, 1::float8 / 3 as third,
        '\\x0100'::bytea as bytes, 'a\\nb' as text, '1 day 2 hours'::interval::text as length, null = null as same,
        '{NULL}'::float8[] as list, current_setting('transaction_isolation') as isolation, current_setting('jit') as jit`.execute(
        db.sql,
      )
      return rows
    }
    const first = await openDatabase({ url, dataDir: '' })
    const expected = await query(first)
    expect(expected).toMatchObject([{ noon: new Date('2026-07-01T12:00:00Z'), third: 1 / 3, same: null, jit: 'off' }])
    const name = new URL(url).pathname.slice(1)
    const settings = {
      datestyle: 'German',
      intervalstyle: 'sql_standard',
      bytea_output: 'escape',
      extra_float_digits: '-5',
      standard_conforming_strings: 'off',
      transform_null_equals: 'on',
      array_nulls: 'off',
      default_transaction_isolation: 'serializable',
      jit: 'on',
    }
    for (const [setting, value] of Object.entries(settings)) {
      await sql`alter database ${sql.id(name)} set ${sql.raw(setting)} = ${sql.lit(value)}`.execute(first.sql)
    }
    await first.close()

    const second = await openDatabase({ url, dataDir: '' })
    expect(await query(second)).toEqual(expected)
    await second.close()
  },
)

eachDatabase('a transaction', (open) => {
  test('commits all its work, and returns the result', async () => {
    const db = await open()
    const result = await db.transaction(async (tx) => {
      await tx.insertInto('orgs').values(org('a')).execute()
      await tx.insertInto('orgs').values(org('b')).execute()
      return 'done'
    })
    expect(result).toBe('done')
    expect(await orgIds(db)).toEqual(['a', 'b'])
  })

  test('commits nothing if its work throws, whether from SQL or not', async () => {
    const db = await open()
    const broken = db.transaction(async (tx) => {
      await tx.insertInto('orgs').values(org('a')).execute()
      await sql`select 1 / 0`.execute(tx)
    })
    await expect(broken).rejects.toThrow('division by zero')
    const thrown = db.transaction(async (tx) => {
      await tx.insertInto('orgs').values(org('a')).execute()
      throw new Error('no')
    })
    await expect(thrown).rejects.toThrow('no')
    expect(await orgIds(db)).toEqual([])
  })

  test('refuses a query on the pool and a second transaction inside it, instead of deadlocking', async () => {
    const db = await open()
    const message = 'would wait for itself: use the executor the transaction was given.'
    await expect(db.transaction(() => orgIds(db))).rejects.toThrow(
      `A query on the pool inside a transaction ${message}`,
    )
    await expect(db.transaction(() => db.transaction(async () => 1))).rejects.toThrow(message)
    expect(await orgIds(db)).toEqual([])
  })

  test('lets work that it started, and that outlives it, use the pool', async () => {
    const db = await open()
    let finish = () => {}
    const ended = new Promise<void>((resolve) => (finish = resolve))
    let later: Promise<string[]> = Promise.resolve([])
    await db.transaction(async (tx) => {
      await tx.insertInto('orgs').values(org('a')).execute()
      later = ended.then(() => orgIds(db))
    })
    finish()
    expect(await later).toEqual(['a'])
  })

  test('repeats its work after a serialization failure', async () => {
    const db = await open()
    let runs = 0
    await db.transaction(async (tx) => {
      await tx.insertInto('orgs').values(org('a')).execute()
      runs += 1
      if (runs < 3) await sql`do $$ begin raise exception 'again' using errcode = '40001'; end $$`.execute(tx)
    })
    expect(runs).toBe(3)
    expect(await orgIds(db)).toEqual(['a'])
  })

  test('stops repeating work that always fails this way', async () => {
    const db = await open()
    let runs = 0
    const hopeless = db.transaction(async (tx) => {
      runs += 1
      await sql`do $$ begin raise exception 'again' using errcode = '40P01'; end $$`.execute(tx)
    })
    await expect(hopeless.catch(sqlState)).resolves.toBe('40P01')
    expect(runs).toBe(6)
  })
})

describe.skipIf(!hasPostgres())('a PostgreSQL server', () => {
  test('resolves a deadlock of two transactions by running one of them again', async () => {
    const db = await openDatabase({ url: await freshPostgresUrl(), dataDir: '' })
    await db.sql
      .insertInto('orgs')
      .values([org('a'), org('b')])
      .execute()
    const meet = meetingOfTwo()
    let runs = 0
    const rename = (first: string, second: string) =>
      db.transaction(async (tx) => {
        runs += 1
        await tx.updateTable('orgs').set({ name: second }).where('id', '=', first).execute()
        if (runs <= 2) await meet()
        await tx.updateTable('orgs').set({ name: first }).where('id', '=', second).execute()
      })
    await Promise.all([rename('a', 'b'), rename('b', 'a')])
    // A second run may take the row that it had before the other one wakes up, and meet it again.
    expect(runs).toBeGreaterThanOrEqual(3)
    await db.close()
  })

  test('ends the transaction of a suspended process before others give up waiting for its locks', async () => {
    const url = await freshPostgresUrl()
    const [suspended, other] = await Promise.all([1, 2].map(() => openDatabase({ url, dataDir: '' })))
    await other!.sql.insertInto('orgs').values(org('a')).execute()
    const rename = (db: Executor, name: string) => db.updateTable('orgs').set({ name }).where('id', '=', 'a').execute()
    let locked = (): void => undefined
    // Begun outside the transaction, like that of another process.
    const waiting = new Promise<void>((resolve) => (locked = resolve)).then(() => rename(other!.sql, 'c'))
    const resumed = suspended!.transaction(async (tx) => {
      await rename(tx, 'b')
      locked()
      await waiting
      await rename(tx, 'b')
    })
    expect(asDatabaseAway(await resumed.catch((error: unknown) => error))).toBeDefined()
    expect(await other!.sql.selectFrom('orgs').select('name').execute()).toEqual([{ name: 'c' }])
    await Promise.all([suspended!.close(), other!.close()])
  })

  test('that closes a connection is reconnected to', async () => {
    const db = await openDatabase({ url: await freshPostgresUrl(), dataDir: '' })
    const suicide = sql`select pg_terminate_backend(pg_backend_pid())`.execute(db.sql)
    await expect(suicide.catch(sqlState)).resolves.toBe('57P01')
    await expect.poll(() => orgIds(db).catch(() => 'not yet')).toEqual([])
    await db.close()
  })

  test('that cannot be reached is reported with SERVICE_DATABASE_URL and without the password', async () => {
    const url = 'postgres://someone:secret@127.0.0.1:1/data?sslmode=disable'
    await expect(openDatabase({ url, dataDir: '' })).rejects.toThrow(
      'The PostgreSQL server that SERVICE_DATABASE_URL names (postgres://someone@127.0.0.1:1/data) cannot be used: ' +
        'connect ECONNREFUSED 127.0.0.1:1. Start it or correct the URL; without SERVICE_DATABASE_URL the embedded ' +
        'database is used.',
    )
  })

  test('without a free connection says what to do about it', async () => {
    const url = new URL(await freshPostgresUrl())
    const db = await openDatabase({ url: url.href, dataDir: '' })
    onTestFinished(() => db.close())
    await sql`create role no_connections login connection limit 0`.execute(db.sql)
    onTestFinished(async () => void (await sql`drop role no_connections`.execute(db.sql)))
    url.username = 'no_connections'
    await expect(openDatabase({ url: url.href, dataDir: '' })).rejects.toThrow(
      'cannot be used: too many connections for role "no_connections". Raise the server\'s max_connections, or close ' +
        'other connections: each process of the service takes up to 11.',
    )
  })
})

/** A message of the PostgreSQL protocol: type R with a code (here of SASL authentication) and data. */
const authentication = (code: number, data: string): Buffer => {
  const header = Buffer.from('R--------')
  header.writeInt32BE(8 + data.length, 1)
  header.writeInt32BE(code, 5)
  return Buffer.concat([header, Buffer.from(data)])
}

test('a server that requires a password, which the URL lacks, is disconnected from', async () => {
  const closed: Promise<unknown>[] = []
  const server = createServer((socket) => {
    const messages = [authentication(10, 'SCRAM-SHA-256\0\0'), authentication(11, 'r=1,s=1,i=1')]
    socket.on('data', () => {
      const message = messages.shift()
      if (message !== undefined) socket.write(message)
    })
    closed.push(once(socket, 'close'))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `postgres://someone@127.0.0.1:${(server.address() as AddressInfo).port}/data`
  await expect(openDatabase({ url, dataDir: '' })).rejects.toThrow(
    'cannot be used: the server requires a password, and SERVICE_DATABASE_URL contains none.',
  )
  const connected = once(server, 'connection')
  const hints = createServerHints(url)
  hints.listen('keys', () => undefined)
  await connected
  await hints.close()
  await Promise.all(closed)
  expect(closed).toHaveLength(2)
  server.close()
})
