import { sql } from 'kysely'
import { expect, it, onTestFinished } from 'vitest'
import { hasPostgres } from '../../../../test/databases.ts'
import { startFleet, startJob, uploadModel } from '../../../../test/training-fleet.ts'
import { startWorld } from '../../../../test/world.ts'

it.skipIf(!hasPostgres())(
  'stopping a job whose round begins at that moment does not block the transaction that ends the round',
  async () => {
    const world = await startWorld()
    const [first] = await startFleet(world, 1)
    const { key } = first!
    await first!.device.heartbeat()
    await uploadModel(world, key)
    const ids: string[] = []
    for (const name of ['a', 'b'])
      ids.push(((await startJob(world, key, { name, min_devices: 1 })).body as { id: string }).id)
    const [running, waiting] = ids
    const database = world.database!.sql
    const starter = await database.startTransaction().execute()
    const ending = await database.startTransaction().execute()
    onTestFinished(async () => {
      for (const tx of [starter, ending]) if (!tx.isCommitted) await tx.rollback().execute()
    })
    const isBlockedBy = async (tx: typeof starter): Promise<boolean> => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx)
      const found = await sql<{ blocked: boolean }>`
      select exists (select from pg_locks where ${rows[0]!.pid} = any(pg_blocking_pids(pid))) as blocked`.execute(
        database,
      )
      return found.rows[0]!.blocked
    }
    // The request finds no round and waits for the job's lock. Meanwhile a round begins, and its ender locks it.
    await sql`select from training_jobs where id = ${waiting} for no key update`.execute(starter)
    const stopped = world.request('POST', `/api/v1/training/jobs/${waiting}/stop`, { key })
    await expect.poll(() => isBlockedBy(starter)).toBe(true)
    await sql`update rounds set job_id = ${waiting} where job_id = ${running}`.execute(database)
    await sql`select from rounds where job_id = ${waiting} for update`.execute(ending)
    await starter.commit().execute()
    await expect.poll(() => isBlockedBy(ending)).toBe(true)
    await sql`set local deadlock_timeout = '10ms'`.execute(ending)
    await sql`select from training_jobs where id = ${waiting} for update`.execute(ending)
    await ending.commit().execute()
    expect(await stopped).toMatchObject({ status: 200, body: { status: 'stopped' } })
    const { body } = await world.request('GET', `/api/v1/training/jobs/${waiting}/rounds`, { key })
    expect(body).toMatchObject({ rounds: [{ status: 'failed' }], total: 1 })
  },
)
