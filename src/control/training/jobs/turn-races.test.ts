import { setTimeout as wait } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import { expect, it } from 'vitest'
import { hasPostgres } from '../../../../test/databases.ts'
import { type JobBody, jobOf, startFleet, startJob, uploadModel } from '../../../../test/training-fleet.ts'
import { startWorld } from '../../../../test/world.ts'

/** A job of three devices whose rounds so far were canceled, `canceled` of them, and that has its turn. */
const ready = async (canceled: number, fields: object) => {
  const world = await startWorld({ database: 'postgres' })
  const { key } = (await startFleet(world, 3))[0]!
  await uploadModel(world, key)
  const { id } = (await startJob(world, key, { rounds: 3, min_devices: 3, ...fields })).body as JobBody
  for (let round = 1; round <= canceled; round++) {
    await world.service.runDueTasks()
    const { body: current } = await world.request('GET', '/api/v1/training/rounds/current', { key })
    const path = `/api/v1/training/rounds/${(current as { id: string }).id}/cancel`
    expect(await world.request('POST', path, { key })).toMatchObject({ status: 200 })
  }
  const { sql: db } = world.database!
  return { world, id, db, jobNow: () => jobOf(world, key, id) }
}

/** Runs the job's turn, and `meanwhile`, as another process would, when the turn is about to lock the job. */
const racing = async (
  { world, db }: Awaited<ReturnType<typeof ready>>,
  meanwhile: (tx: Kysely<never>) => Promise<unknown>,
): Promise<void> => {
  let turn: Promise<unknown> = Promise.resolve()
  // Not the service's kind of transaction, because the turn must not belong to it.
  await db.transaction().execute(async (tx) => {
    // Readers pass; a turn that has read the job waits to lock it.
    await sql`lock table training_jobs in exclusive mode`.execute(tx)
    turn = world.service.runDueTasks()
    const isWaiting = async () =>
      (await sql`select from pg_locks where relation = 'training_jobs'::regclass and not granted`.execute(db)).rows
        .length
    for (const until = Date.now() + 60_000; !(await isWaiting()) && Date.now() < until; ) await wait(20)
    await meanwhile(tx as unknown as Kysely<never>)
  })
  await turn
}

it.skipIf(!hasPostgres())(
  'a round that another process started and canceled meanwhile counts for target_epsilon',
  async () => {
    const job = await ready(2, { privacy: { target_epsilon: 4, clip_norm: 1 } })
    await racing(job, (tx) =>
      sql`
      insert into rounds select n.* from (select * from rounds order by round_number desc limit 1) r,
        jsonb_populate_record(r::rounds, jsonb_build_object('id', gen_random_uuid(), 'round_number', r.round_number + 1)) n
    `.execute(tx),
    )
    expect((await job.jobNow()).history).toHaveLength(3)
    await job.world.service.runDueTasks()
    expect(await job.jobNow()).toMatchObject({ ended_by: 'budget_spent', history: { length: 3 } })
  },
)

it.skipIf(!hasPostgres())('a job that moved after its turn had read it waits for its next turn', async () => {
  const job = await ready(1, {})
  await racing(job, (tx) => sql`update training_jobs set rounds_failed_in_a_row = 1 where id = ${job.id}`.execute(tx))
  expect((await job.jobNow()).history).toHaveLength(1)
  await job.world.service.runDueTasks()
  expect((await job.jobNow()).history).toHaveLength(2)
})
