import { expect, it } from 'vitest'
import { eachDatabase } from '../../../../test/databases.ts'
import { assignmentsOf, indexAssignments } from '../../../domain/assignment.ts'
import type { Plan } from '../../../domain/delivery-plan.ts'
import { createRandom } from '../../../domain/random-numbers.ts'
import type { Database } from '../../../platform/db/open.ts'
import { createDeploymentsStore } from '../deployments/deployments.store.ts'
import { createRolloutsStore } from '../rollouts/rollouts.store.ts'
import { createPlansReport } from './plans.report.ts'

const at = new Date('2026-01-01T00:00:00Z')
const id = (kind: string, n: number): string => `${kind}0000000-0000-4000-8000-${String(n).padStart(12, '0')}`
const MODEL = id('a', 0)
const GROUP = id('b', 0)
const DEVICES = Array.from({ length: 12 }, (_, n) => ({
  id: id('d', n),
  deviceId: `d${n}`,
  orgId: [null, 'acme'][n % 2]!,
}))

/** A model with versions 1 and 2.5.0; an organization and none, with devices, some of them in a group. */
const seed = async ({ sql }: Database): Promise<void> => {
  const model = {
    org_id: null,
    name: null,
    round_id: null,
    framework: 'pytorch',
    framework_version: '',
    accuracy: null,
  }
  const rest = { loss: null, is_baseline: false, description: '', created_at: at }
  await sql
    .insertInto('models')
    .values({ id: MODEL, ...model, ...rest })
    .execute()
  const sha256 = 'ab'.repeat(32)
  await sql.insertInto('blobs').values({ sha256, size: 5, touched_at: at }).execute()
  const version = { format: 'onnx', file_name: 'f', sha256, size: 5, description: '', warnings: [], uploaded_at: at }
  for (const [index, version_label] of [null, '2.5.0'].entries()) {
    await sql
      .insertInto('model_versions')
      .values({ model_id: MODEL, version: index + 1, version_label, ...version })
      .execute()
  }
  const device = { platform: 'linux', capabilities: '{}', status: 'active', last_heartbeat: at, updated_at: at }
  await sql
    .insertInto('devices')
    .values(
      DEVICES.map((one) => ({ id: one.id, device_id: one.deviceId, org_id: one.orgId, created_at: at, ...device })),
    )
    .execute()
  const group = {
    id: GROUP,
    org_id: 'acme',
    name: 'beta',
    description: '',
    group_type: 'static',
    tags: [],
    created_at: at,
  }
  await sql.insertInto('device_groups').values(group).execute()
  await sql
    .insertInto('device_group_members')
    .values(
      DEVICES.filter((_, n) => n % 3 === 0).map((one) => ({
        group_id: GROUP,
        device_id: one.id,
        added_by: null,
        added_at: at,
      })),
    )
    .execute()
}

/** Every plan in force, whether it reaches a device or not. */
const allInForce = async ({ sql }: Database): Promise<Plan[]> => {
  const rollouts = await sql
    .selectFrom('rollouts')
    .selectAll()
    .where('status', 'in', ['active', 'paused', 'completed'])
    .execute()
  const deployments = await sql
    .selectFrom('deployments')
    .selectAll()
    .where('status', 'in', ['started', 'completed'])
    .execute()
  const targets = await sql.selectFrom('deployment_targets').selectAll().where('activated', '=', true).execute()
  return [
    ...rollouts.map((row) => ({
      id: row.id,
      kind: 'rollout' as const,
      orgId: row.org_id,
      startedRevision: row.started_revision!,
      settled: row.status === 'completed',
      target: { modelId: row.model_id, modelName: null, version: row.version },
      percentage: row.percentage,
      groupId: row.group_id,
    })),
    ...deployments.map((row) => ({
      id: row.id,
      kind: 'deployment' as const,
      orgId: row.org_id,
      startedRevision: row.started_revision!,
      settled: row.status === 'completed',
      target: { modelId: row.model_id, modelName: row.model_name, version: row.model_version },
      deviceIds: new Set(targets.filter((target) => target.deployment_id === row.id).map((target) => target.device_id)),
      activate: true,
    })),
  ]
}

eachDatabase('plans that newer ones have replaced', (open) => {
  it('are not read, and no device is given anything else for it, whatever is started, settled and rolled back', async () => {
    const db = await open()
    await seed(db)
    const random = createRandom(7)
    const below = (n: number): number => Math.floor(random() * n)
    const pick = <T>(list: readonly T[]): T => list[below(list.length)]!
    const report = createPlansReport()
    const sources = [createRolloutsStore(), createDeploymentsStore()]
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
          created_at: at,
          started_at: at,
          ended_at: null,
          updated_at: at,
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
          deadline_at: at,
          started_revision: n,
          created_at: at,
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
      const groups = await report.members(db.sql, [GROUP])
      for (const unboundReachAll of [true, false]) {
        const given = (plans: readonly Plan[]) => {
          const index = indexAssignments({ plans, offers, groups, unboundReachAll })
          return DEVICES.map((device) => assignmentsOf(index, device).map((one) => [one.planId, one.tag]))
        }
        expect(given(read)).toEqual(given(all))
      }
    }
    expect(leftOut).toBeGreaterThan(100)
  })
})
