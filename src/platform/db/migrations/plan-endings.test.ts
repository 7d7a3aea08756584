import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { eachDatabase } from '../../../../test/databases.ts'
import { migrate } from '../migrate.ts'
import { planEndings } from './0047-plan-endings.ts'
import { MIGRATIONS } from './all.ts'

const at = (hour: number) => new Date(Date.UTC(2026, 0, 1, hour))

eachDatabase('plans of earlier releases', (open) => {
  it('say who ended them, and how long a phase lasts', async () => {
    const db = await open()
    await sql`alter table rollouts drop column ended_by`.execute(db.sql)
    await sql`alter table deployments drop column phase_seconds`.execute(db.sql)
    await sql`delete from migrations where name = ${planEndings.name}`.execute(db.sql)
    const model = randomUUID()
    await sql`insert into models (id, framework, framework_version, description, is_baseline, created_at)
      values (${model}, 'pytorch', '', '', false, ${at(0)})`.execute(db.sql)
    const happen = (plan: string, event: string, hour: number, actor: string | null = null) =>
      sql`insert into plan_events (plan_id, at, event, status, actor) values (${plan}, ${at(hour)}, ${event}, '', ${actor})`.execute(
        db.sql,
      )
    for (const [version, status, actor] of [
      ['1', 'completed', null],
      ['2', 'rolled_back', 'key'],
      ['3', 'active', null],
    ] as const) {
      const id = randomUUID()
      await sql`insert into rollouts (id, model_id, version, status, percentage, initial_percentage, target_percentage,
          increment_step, step_interval_seconds, auto_rollback, created_at, updated_at)
        values (${id}, ${model}, ${version}, ${status}, 1, 1, 1, 1, 60, false, ${at(0)}, ${at(0)})`.execute(db.sql)
      await happen(id, 'start', 0, 'key')
      if (status !== 'active') await happen(id, 'reach', 1)
      if (status === 'rolled_back') await happen(id, 'rollback', 2, actor)
    }
    for (const [version, deadline] of [
      ['once', at(3)],
      ['promoted', at(8)],
      ['without a deadline', null],
    ] as const) {
      const id = randomUUID()
      await sql`insert into deployments (id, model_name, model_version, status, strategy, percentage, target_count,
          activated_count, deadline_at, created_at)
        values (${id}, 'm', ${version}, 'started', 'canary', 1, 1, 1, ${deadline}, ${at(0)})`.execute(db.sql)
      await happen(id, 'create', 0)
      if (version === 'promoted') await happen(id, 'promote', 6)
    }
    expect(await migrate(db, MIGRATIONS)).toEqual([planEndings.name])
    const endings = db.sql.selectFrom('rollouts').select(['version', 'ended_by']).orderBy('version')
    expect((await endings.execute()).map(({ ended_by }) => ended_by)).toEqual(['service', 'user', null])
    const phases = db.sql.selectFrom('deployments').select('phase_seconds').orderBy('ordinal')
    expect((await phases.execute()).map(({ phase_seconds }) => phase_seconds)).toEqual([3 * 3600, 2 * 3600, null])
  })
})
