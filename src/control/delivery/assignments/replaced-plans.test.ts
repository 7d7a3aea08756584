import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { hasPostgres, openTestDatabase } from '../../../../test/databases.ts'
import { assignmentBy, assignmentsOf, indexAssignments } from '../../../domain/assignment.ts'
import type { Plan } from '../../../domain/delivery-plan.ts'
import { createRandom } from '../../../domain/random-numbers.ts'
import type { Database } from '../../../platform/db/open.ts'
import { createDeploymentsInForce } from '../deployments/deployments-in-force.store.ts'
import { rolloutsStore } from '../rollouts/rollouts.store.ts'
import { createGroupMembers } from './group-members.report.ts'
import { AT, deviceId, GROUP, MODEL, seedPlans } from './plans.fixture.ts'
import { plansReport } from './plans.report.ts'

const id = (kind: string, n: number): string => `${kind}0000000-0000-4000-8000-${String(n).padStart(12, '0')}`
const ORGS = Array.from({ length: 12 }, (_, at) => (at % 2 === 0 ? null : 'acme'))
const DEVICES = ORGS.map((orgId, at) => ({ id: deviceId(at + 1), deviceId: `d${at + 1}`, orgId }))

const report = plansReport
const NONE_TO_ALL = sql`(select null::text as org_id, null::uuid as model_id, 0 as started_revision where false)`

/** Every plan in force, whether it reaches a device or not. */
const allInForce = async (db: Database): Promise<Plan[]> => {
  const rollouts = await rolloutsStore.load(db.sql, { lastToAll: NONE_TO_ALL })
  const deployments = await db.sql
    .selectFrom('deployments')
    .selectAll()
    .where('status', 'in', ['started', 'completed'])
    .execute()
  const targets = await db.sql.selectFrom('deployment_targets').selectAll().where('activated', '=', true).execute()
  const deviceIdsOf = (deployment: string) =>
    new Set(targets.filter((target) => target.deployment_id === deployment).map((target) => target.device_id))
  return [
    ...rollouts,
    ...deployments.map((row) => ({
      id: row.id,
      kind: 'deployment' as const,
      orgId: row.org_id,
      startedRevision: row.started_revision!,
      settled: row.status === 'completed',
      target: { modelId: row.model_id, modelName: row.model_name, version: row.model_version },
      deviceIds: deviceIdsOf(row.id),
      activate: true,
    })),
  ]
}

describe('plans that newer ones have replaced', () => {
  it('are not read, which changes no assignment, whatever is started, settled, and rolled back', async () => {
    const db = await openTestDatabase(hasPostgres() ? 'postgres' : 'embedded')
    await seedPlans(db, [null, '2.5.0'], { orgs: ORGS, members: [1, 4, 7, 10] })
    const random = createRandom(7)
    const below = (n: number): number => Math.floor(random() * n)
    const pick = <T>(list: readonly T[]): T => list[below(list.length)]!
    const sources = [rolloutsStore, createDeploymentsInForce()]
    let leftOut = 0

    const startRollout = (n: number) =>
      db.sql
        .insertInto('rollouts')
        .values({
          id: id('e', n),
          org_id: pick([null, 'acme']),
          model_id: MODEL,
          version: pick(['1.0.0', '2', '9.9.9']),
          status: pick(['active', 'completed', 'completed']),
          percentage: pick([30, 100, 100]),
          initial_percentage: 1,
          target_percentage: 100,
          increment_step: 1,
          step_interval_seconds: 60,
          group_id: pick([null, null, GROUP]),
          auto_rollback: true,
          reason: null,
          next_step_at: null,
          health_since: null,
          started_revision: n,
          created_at: AT,
          started_at: AT,
          ended_at: null,
          updated_at: AT,
        })
        .execute()

    const startDeployment = async (n: number) => {
      const model_id = pick([MODEL, MODEL, null])
      await db.sql
        .insertInto('deployments')
        .values({
          id: id('f', n),
          org_id: pick([null, 'acme']),
          model_id,
          model_name: 'by-name',
          model_version: pick(['1', '2.5.0', '9.9.9']),
          status: pick(['started', 'completed', 'completed']),
          strategy: 'immediate',
          percentage: 50,
          target_count: 12,
          activated_count: 6,
          reason: null,
          switched_at: null,
          deadline_at: AT,
          started_revision: n,
          created_at: AT,
          ended_at: null,
        })
        .execute()
      await db.sql
        .insertInto('deployment_targets')
        .values(
          DEVICES.filter((_, k) => k === 0 || below(2) > 0).map((device) => ({
            deployment_id: id('f', n),
            device_id: device.id,
            activated: below(2) > 0,
          })),
        )
        .execute()
    }

    for (let n = 1; n <= 200; n++) {
      const moved = { id: id(pick(['e', 'f']), 1 + below(n)) }
      const table = moved.id.startsWith('e') ? 'rollouts' : 'deployments'
      const turn = below(10)
      if (turn < 2) await startRollout(n)
      else if (turn < 5) await startDeployment(n)
      else if (turn < 8)
        await db.sql.updateTable(table).set({ status: 'rolled_back' }).where('id', '=', moved.id).execute()
      else {
        await db.sql.updateTable(table).set({ percentage: 100 }).where('id', '=', moved.id).execute()
        await db.sql
          .updateTable('deployment_targets')
          .set({ activated: true })
          .where('deployment_id', '=', moved.id)
          .execute()
        const status = pick(['completed', table === 'rollouts' ? 'active' : 'started'])
        await db.sql
          .updateTable(table)
          .set({ status })
          .where('id', '=', moved.id)
          .where('status', '<>', 'rolled_back')
          .execute()
      }
      const all = await allInForce(db)
      const read = (await Promise.all(sources.map((source) => source.load(db.sql, report)))).flat()
      leftOut += all.length - read.length
      const targets = all.flatMap((plan) =>
        plan.kind === 'experiment' || plan.target.modelId === null ? [] : [plan.target],
      )
      const offers = await report.offers(db.sql, targets)
      const groups = await createGroupMembers()(db.sql, [GROUP])
      for (const unboundReachAll of [true, false]) {
        const given = (plans: readonly Plan[]) => {
          const index = indexAssignments({ plans, offers, groups, unboundReachAll })
          return DEVICES.map((device) => {
            const assignments = assignmentsOf(index, device)
            const byPlans = plans.map((plan) => assignmentBy(index, plan, device)).filter((one) => one !== null)
            expect(new Set(byPlans)).toEqual(new Set(assignments))
            return assignments.map((one) => [one.planId, one.tag])
          })
        }
        expect(given(read)).toEqual(given(all))
      }
    }
    expect(leftOut).toBeGreaterThan(100)
  })
})
