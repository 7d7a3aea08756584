import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { eachDatabase } from '../../../../test/databases.ts'
import { migrate } from '../migrate.ts'
import type { Database, Executor } from '../open.ts'
import { federatedFigures } from './0042-federated-figures.ts'
import { MIGRATIONS } from './all.ts'

const AT = '2026-01-01T00:00:00Z'

/** Undoes the migration. */
const undo = async ({ sql: db }: Database): Promise<void> => {
  await sql`alter table plan_reports drop column version_number`.execute(db)
  await sql`delete from migrations where name = ${federatedFigures.name}`.execute(db)
}

const federate = async (db: Executor): Promise<string> => {
  const id = randomUUID()
  await sql`insert into federations (id, name, org_id, description, status, created_at)
    values (${id}, 'league', 'acme', '', 'active', ${AT})`.execute(db)
  return id
}

/** A round as an earlier release stored it, with its model, the version published from it, and its job. */
const fill = async (
  db: Executor,
  number: number,
  federation: string | null,
  reason: string | null,
  { accuracy, loss }: { accuracy: number | null; loss: number | null } = { accuracy: 0.9, loss: 0.4 },
): Promise<void> => {
  const [round, model] = [randomUUID(), randomUUID()]
  await sql`insert into rounds (id, round_number, status, target_devices, min_devices, timeout_seconds, grace_seconds, plan,
      taking_part, loss, accuracy, failure_reason, federation_id, created_at)
    values (${round}, ${number}, 'completed', 9, 1, 60, 5, '{}', 9, 0.4, 0.9, ${reason}, ${federation}, ${AT})`.execute(
    db,
  )
  await sql`insert into models (id, framework, framework_version, description, is_baseline, accuracy, loss, round_id, created_at)
    values (${model}, 'pytorch', '', ${number}, false, ${accuracy}, ${loss}, ${round}, ${AT})`.execute(db)
  await sql`insert into blobs (sha256, size, touched_at) values ('ab', 1, ${AT}) on conflict do nothing`.execute(db)
  await sql`insert into model_versions (model_id, version, format, file_name, sha256, size, description, warnings, uploaded_at,
      round_id, round_number, metrics)
    values (${model}, 1, 'onnx', 'f', 'ab', 1, '', '{}', ${AT}, ${round}, ${number}, '{"loss": 0.4}')`.execute(db)
  await sql`insert into training_jobs (id, status, settings, federation_id, reason, created_at)
    values (${randomUUID()}, 'failed', '{}', ${federation}, ${reason === null ? null : `The last: ${reason}`}, ${AT})`.execute(
    db,
  )
}

eachDatabase('what earlier releases showed to all members of a federation', (open) => {
  it('is removed from the models and reasons of its rounds, and from nothing else', async () => {
    const db = await open()
    await undo(db)
    const federation = await federate(db.sql)
    const why = '1 of 2 devices failed: patient 4711 (1)'
    await fill(db.sql, 1, null, why)
    await fill(db.sql, 2, federation, `The round timed out. ${why}.`)
    await fill(db.sql, 3, federation, 'The round was canceled.')
    await fill(db.sql, 4, federation, null, { accuracy: null, loss: 0.4 })
    await fill(db.sql, 5, federation, '1 of 1 device failed: patient 4711 (1)', { accuracy: 0.9, loss: null })
    expect(await migrate(db, MIGRATIONS)).toEqual([federatedFigures.name])
    const { rows } = await sql`
      select m.loss, m.accuracy, v.metrics, r.loss as of_round, r.failure_reason as reason from rounds r
      join models m on m.round_id = r.id join model_versions v on v.round_id = r.id order by r.round_number`.execute(
      db.sql,
    )
    const withheld = { loss: null, accuracy: null, metrics: {}, of_round: 0.4 }
    const shown = 'The round timed out. 1 of 2 devices failed: The device reported a failure'
    expect(rows).toEqual([
      { loss: 0.4, accuracy: 0.9, metrics: { loss: 0.4 }, of_round: 0.4, reason: why },
      { ...withheld, reason: shown },
      { ...withheld, reason: 'The round was canceled.' },
      { ...withheld, reason: null },
      { ...withheld, reason: '1 of 1 device failed: The device reported a failure' },
    ])
    const { rows: jobs } = await sql<{ reason: string | null }>`
      select reason from training_jobs order by ordinal`.execute(db.sql)
    expect(jobs.map(({ reason }) => reason)).toEqual([
      `The last: ${why}`,
      `The last: ${shown}`,
      'The last: The round was canceled.',
      null,
      'The last: 1 of 1 device failed: The device reported a failure',
    ])
  })
})
