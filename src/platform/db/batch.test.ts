import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { eachDatabase, hasPostgres, openTestDatabase } from '../../../test/databases.ts'
import { createBatcher } from './batch.ts'
import type { Database } from './open.ts'

/** Returns a `run` whose batches end when released, and that records its items. */
const heldBatches = () => {
  const batches: (readonly number[])[] = []
  const releases: (() => void)[] = []
  const run = (items: readonly number[]): Promise<number[]> => {
    batches.push(items)
    return new Promise((resolve) => releases.push(() => resolve(items.map((item) => item * 10))))
  }
  return { batches, run, release: () => releases.shift()?.() }
}

const nextRound = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

describe('a batcher', () => {
  test('runs concurrent calls together and returns each its own result', async () => {
    const batches: (readonly number[])[] = []
    const submit = createBatcher<number, string>({
      maxBatch: 100,
      run: async (items) => {
        batches.push(items)
        return items.map((item) => `result ${item}`)
      },
    })
    expect(await Promise.all([submit(3), submit(1), submit(2)])).toEqual(['result 3', 'result 1', 'result 2'])
    expect(batches).toEqual([[3, 1, 2]])
  })

  test('collects calls that arrive during a batch into the next one, which starts when that has ended', async () => {
    const { batches, run, release } = heldBatches()
    const submit = createBatcher({ run, maxBatch: 2 })
    const first = submit(1)
    await nextRound()
    const rest = Promise.all([submit(2), submit(3), submit(4)])
    await nextRound()
    expect(batches).toEqual([[1]])
    release()
    expect(await first).toBe(10)
    await nextRound()
    expect(batches).toEqual([[1], [2, 3]])
    release()
    await nextRound()
    expect(batches).toEqual([[1], [2, 3], [4]])
    release()
    expect(await rest).toEqual([20, 30, 40])
    const idle = submit(5)
    await nextRound()
    release()
    expect(await idle).toBe(50)
  })

  test('fails only the bad item, whatever else is in its batch', async () => {
    const submit = createBatcher<number, number>({
      maxBatch: 100,
      run: async (items) => {
        if (items.includes(13)) throw new Error('13 is bad')
        return [...items]
      },
    })
    const numbers = Array.from({ length: 50 }, (_, index) => index)
    const results = await Promise.allSettled(numbers.map(submit))
    expect(results.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []))).toEqual([13])
    expect(results[13]).toMatchObject({ reason: new Error('13 is bad') })
  })

  test.each([
    Object.assign(new Error('terminating connection'), { code: '57P01' }),
    new Error('timeout exceeded when trying to connect'),
  ])('fails a whole batch after one attempt if there is no connection: %s', async (error) => {
    let runs = 0
    const submit = createBatcher<number, number>({
      maxBatch: 100,
      run: async () => {
        runs += 1
        throw error
      },
    })
    const results = await Promise.allSettled([submit(1), submit(2), submit(3)])
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(runs).toBe(1)
  })

  test('rejects a batch whose results do not match its items, and does not run it again', async () => {
    let runs = 0
    const submit = createBatcher<number, number>({
      maxBatch: 100,
      run: async () => {
        runs += 1
        return [1]
      },
    })
    const results = await Promise.allSettled([submit(1), submit(2)])
    const reason = new Error('A batch of 2 items returned 1 results.')
    expect(results).toEqual([
      { status: 'rejected', reason },
      { status: 'rejected', reason },
    ])
    expect(runs).toBe(1)
  })
})

interface Write {
  readonly id: string
  readonly name: string
}

const orgWriter = (db: Database, batches: number[] = []) =>
  createBatcher<Write, string>({
    maxBatch: 1000,
    run: async (items) => {
      batches.push(items.length)
      const rows = items.map((item) => ({ ...item, compliance: null, region: 'eu', created_at: new Date(0) }))
      await db.sql.insertInto('orgs').values(rows).execute()
      return items.map(({ id }) => id)
    },
  })

eachDatabase('a batcher on a database', (open) => {
  test('writes hundreds of concurrent rows in few statements, all stored when the calls return', async () => {
    const db = await open()
    const batches: number[] = []
    const write = orgWriter(db, batches)
    const ids = Array.from({ length: 256 }, (_, index) => `org-${index}`)
    expect(await Promise.all(ids.map((id) => write({ id, name: id })))).toEqual(ids)
    expect(batches).toEqual([256])
    expect(await db.sql.selectFrom('orgs').select(sql<number>`count(*)`.as('count')).executeTakeFirst()).toEqual({
      count: 256,
    })
  })

  test('fails only the row that the database rejects', async () => {
    const db = await open()
    const write = orgWriter(db)
    await write({ id: 'taken', name: 'first' })
    const writes = ['a', 'taken', 'b'].map((id) => write({ id, name: 'second' }))
    const results = await Promise.allSettled(writes)
    expect(results.map((result) => (result.status === 'fulfilled' ? result.value : result.reason.code))).toEqual([
      'a',
      '23505',
      'b',
    ])
    expect(await db.sql.selectFrom('orgs').select(['id', 'name']).orderBy('id').execute()).toEqual([
      { id: 'a', name: 'second' },
      { id: 'b', name: 'second' },
      { id: 'taken', name: 'first' },
    ])
  })

  test('throws if awaited inside a transaction, whose connection it may need', async () => {
    const db = await open()
    const write = orgWriter(db)
    const inside = db.transaction(() => write({ id: 'a', name: 'a' }))
    await expect(inside).rejects.toThrow('Waiting for a batch inside a transaction would wait for itself')
  })
})

describe.skipIf(!hasPostgres())('two batchers on one PostgreSQL server', () => {
  test('recover from deadlocks when they update the same rows in opposite orders', async () => {
    const db = await openTestDatabase('postgres')
    const ids = Array.from({ length: 20 }, (_, index) => `org-${index}`)
    const write = orgWriter(db)
    await Promise.all(ids.map((id) => write({ id, name: '0' })))
    const updater = () =>
      createBatcher<string, string>({
        maxBatch: 20,
        run: (items) =>
          db.transaction(async (tx) => {
            for (const id of items) {
              await sql`update orgs set name = (name::int + 1)::text where id = ${id}`.execute(tx)
            }
            return items
          }),
      })
    const [up, down] = [updater(), updater()]
    await Promise.all([...ids.map((id) => up(id)), ...ids.toReversed().map((id) => down(id))])
    const rows = await db.sql.selectFrom('orgs').select('name').distinct().execute()
    expect(rows).toEqual([{ name: '2' }])
  })
})
