import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { eachDatabase } from '../../../../test/databases.ts'
import { migrate } from '../migrate.ts'
import { sharedJobModels } from './0048-shared-job-models.ts'
import { MIGRATIONS } from './all.ts'

const AT = '2026-01-01T00:00:00Z'

eachDatabase('jobs of earlier releases', (open) => {
  it('depend on sharing if they train a model of another organization, which they cannot publish to', async () => {
    const db = await open()
    await sql`delete from migrations where name = ${sharedJobModels.name}`.execute(db.sql)
    const [model, unowned] = [randomUUID(), randomUUID()]
    await sql`insert into models (id, framework, framework_version, description, is_baseline, org_id, created_at)
      values (${model}, 'pytorch', '', '', false, 'acme', ${AT}), (${unowned}, 'pytorch', '', '', false, null, ${AT})`.execute(
      db.sql,
    )
    const insert = (name: string, org: string | null, settings: object, latest: string | null = null, from = model) =>
      sql`insert into training_jobs (id, name, status, org_id, settings, model_id, latest_model_id, created_at)
        values (${randomUUID()}, ${name}, 'running', ${org}, ${JSON.stringify(settings)}, ${from}, ${latest}, ${AT})`.execute(
        db.sql,
      )
    await insert('other', 'beta', { rounds: 3, publish: 'none' })
    await insert('other, before publishing existed', 'beta', { rounds: 3 })
    await insert('of an unbound key', 'beta', { publish: 'last' })
    await insert('with a result', 'beta', { publish: 'none' }, model)
    await insert('own', 'acme', { publish: 'none' })
    await insert('of no organization', null, { publish: 'none' })
    await insert('in a group, from a model of no organization', 'beta', { rounds: 3 }, null, unowned)
    expect(await migrate(db, MIGRATIONS)).toEqual([sharedJobModels.name])
    const jobs = db.sql.selectFrom('training_jobs').select(['name', 'settings']).orderBy('ordinal')
    expect((await jobs.execute()).map(({ name, settings }) => [name, settings])).toEqual([
      ['other', { rounds: 3, publish: 'none', sharedModel: true }],
      ['other, before publishing existed', { rounds: 3, sharedModel: true }],
      ['of an unbound key', { publish: 'last' }],
      ['with a result', { publish: 'none' }],
      ['own', { publish: 'none' }],
      ['of no organization', { publish: 'none' }],
      ['in a group, from a model of no organization', { rounds: 3 }],
    ])
  })
})
