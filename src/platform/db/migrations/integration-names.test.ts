import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { eachDatabase } from '../../../../test/databases.ts'
import { migrate } from '../migrate.ts'
import { integrationNames } from './0049-integration-names.ts'
import { MIGRATIONS } from './all.ts'

eachDatabase('integrations with one name', (open) => {
  it('keep their data, and all but the first in each organization get names of their own', async () => {
    const db = await open()
    await sql`drop index integrations_by_name`.execute(db.sql)
    await sql`delete from migrations where name = ${integrationNames.name}`.execute(db.sql)
    for (const [number, org] of [null, 'acme', 'acme', 'beta', null].entries())
      await sql`insert into integrations (id, org_id, kind, type, name, endpoint, config, next_at, created_at)
        values (${`0000000${number}-0000-4000-8000-000000000000`}, ${org}, 'logs', 'webhook', 'hook', 'http://h', '', now(), now())`.execute(
        db.sql,
      )
    expect(await migrate(db, MIGRATIONS)).toEqual([integrationNames.name])
    const names = db.sql.selectFrom('integrations').select(['org_id', 'name']).orderBy('ordinal')
    expect((await names.execute()).map(({ org_id, name }) => [org_id, name])).toEqual([
      [null, 'hook'],
      ['acme', 'hook'],
      ['acme', 'hook 00000002'],
      ['beta', 'hook'],
      [null, 'hook 00000004'],
    ])
  })
})
