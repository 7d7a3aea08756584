import { describe, expect, it } from 'vitest'
import { eachDatabase } from '../../../../test/databases.ts'
import { createModel, uploadVersion } from '../../../../test/fleet-of-models.ts'
import { startWorld } from '../../../../test/world.ts'
import { type Plan, targetKey } from '../../../domain/delivery-plan.ts'
import type { Database } from '../../../platform/db/open.ts'
import { createEventBus } from '../../../platform/events/event-bus.ts'
import { groupMembersStore } from '../../fleet/groups/members.store.ts'
import { createDeliveryPlans } from './delivery-plans.service.ts'
import { createGroupMembers } from './group-members.report.ts'
import { AT, deviceId, GROUP, MODEL, seedPlans } from './plans.fixture.ts'
import { plansReport } from './plans.report.ts'
import { plansStore } from './plans.store.ts'

/** Devices 1 and 2 of three are in the group. */
const seed = (database: Database, labels: readonly (string | null)[]): Promise<void> =>
  seedPlans(database, labels, { orgs: [null, null, null], members: [1, 2] })

const toGroup: Plan = {
  id: 'e0000000-0000-4000-8000-000000000001',
  kind: 'rollout',
  orgId: null,
  startedRevision: 1,
  settled: false,
  target: { modelId: MODEL, modelName: null, version: '2.0.0' },
  percentage: 100,
  groupId: GROUP,
}

eachDatabase('the store of plans', (open) => {
  it('finds a version by its number, by its label, and by n.0.0 if it has no label', async () => {
    const db = await open()
    await seed(db, [null, '7.1.0', null, '1.0.0'])
    const found = async (version: string, versionNumber: number | null = null) => {
      const target = { modelId: MODEL, modelName: null, version, versionNumber }
      const offer = (await plansReport.offers(db.sql, [target])).get(targetKey(target))
      return offer && [offer.versionNumber, offer.version]
    }
    expect(await found('1')).toEqual([1, '1.0.0'])
    expect(await found('2')).toEqual([2, '7.1.0'])
    expect(await found('2.0.0')).toBeUndefined()
    expect(await found('3.0.0')).toEqual([3, '3.0.0'])
    expect(await found('7.1.0')).toEqual([2, '7.1.0'])
    expect(await found('1.0.0')).toEqual([4, '1.0.0'])
    expect(await found('5')).toBeUndefined()
    // Models of earlier releases may have two versions with one label: the number decides.
    expect(await found('1.0.0', 1)).toEqual([1, '1.0.0'])
    expect(await found('1.0.0', 4)).toEqual([4, '1.0.0'])
    expect(await found('1.0.0', 5)).toBeUndefined()
  })

  it('reads the members of a group again only after they have changed', async () => {
    const db = await open()
    await seed(db, [null])
    const other = 'b0000000-0000-4000-8000-000000000002'
    const group = { org_id: 'acme', description: '', group_type: 'static', tags: [], created_at: AT }
    await db.sql
      .insertInto('device_groups')
      .values({ id: other, name: 'o', ...group })
      .execute()
    const [here, there] = [createGroupMembers(), createGroupMembers()]
    const first = await here(db.sql, [GROUP, other])
    expect(await there(db.sql, [GROUP])).toEqual(new Map([[GROUP, new Set([deviceId(1), deviceId(2)])]]))
    const by = { label: null, at: AT, seesUnbound: true }
    await db.transaction((tx) => groupMembersStore.add(tx, GROUP, ['d3'], by))
    await db.transaction((tx) => groupMembersStore.remove(tx, GROUP, ['d1']))
    for (const read of [here, there]) {
      const second = await read(db.sql, [GROUP, other])
      expect(second.get(GROUP)).toEqual(new Set([deviceId(2), deviceId(3)]))
    }
    const third = await here(db.sql, [GROUP, other])
    expect(third.get(other)).toBe(first.get(other))
    await db.sql.deleteFrom('device_groups').where('id', '=', GROUP).execute()
    expect([...(await here(db.sql, [GROUP, other])).keys()]).toEqual([other])
  })

  it('numbers revisions from 1, each higher than all that were committed before', async () => {
    const db = await open()
    const store = plansStore
    expect(await store.revision(db.sql)).toBe(0)
    const bumped = await Promise.all(Array.from({ length: 10 }, () => db.transaction((tx) => store.bump(tx))))
    expect(bumped.sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    expect(await store.revision(db.sql)).toBe(10)
  })
})

describe('delivery plans', () => {
  eachDatabase('on their database', (open) => {
    const of = (database: Database, load: () => Plan[], changed = () => {}) =>
      createDeliveryPlans(
        { database, events: createEventBus(console) },
        {
          sources: [{ load: async () => load() }],
          unboundReachAll: true,
          changed,
        },
      )
    const given = (plans: ReturnType<typeof of>) =>
      [1, 2, 3].map((n) => plans.assignmentsOf({ id: deviceId(n), deviceId: `d${n}`, orgId: null }).length)

    it('reach the members of their group, and are seen by every process that refreshes', async () => {
      const db = await open()
      await seed(db, [null, null])
      let inForce: Plan[] = []
      let changes = 0
      const [here, there] = [
        of(db, () => inForce),
        of(
          db,
          () => inForce,
          () => changes++,
        ),
      ]
      await Promise.all([here.refresh(), there.refresh()])
      await here.change(async (_tx, bump) => {
        inForce = [toGroup]
        await bump()
      })
      expect(given(here)).toEqual([1, 1, 0])
      // The hint may have caused this refresh already.
      await there.refresh()
      expect([given(there), changes]).toEqual([[1, 1, 0], 2])
      await there.refresh()
      expect(changes).toBe(2)
      expect(there.find(toGroup.id)).toBe(inForce[0])
    })

    it('are not reloaded after a change that failed or did not bump the revision', async () => {
      const db = await open()
      const plans = of(db, () => {
        throw new Error('looked')
      })
      await plans.change(async () => {})
      await expect(
        plans.change(async (_tx, bump) => {
          await bump()
          throw new Error('broke off')
        }),
      ).rejects.toThrow('broke off')
      expect(await plansStore.revision(db.sql)).toBe(0)
      await expect(plans.refresh()).rejects.toThrow('looked')
    })
  })
})

it('plans are not reloaded after the upload of a version of a model that none of them delivers', async () => {
  const world = await startWorld()
  const { key } = await world.register('d0')
  const revision = () => plansStore.revision(world.database!.sql)
  await createModel(world, key, 'm', ['1.0.0'])
  await world.request('POST', '/api/v1/models/m/rollouts', {
    key,
    body: { version: '2.0.0', rollout_percentage: 100 },
  })
  const before = await revision()
  await createModel(world, key, 'other', ['1.0.0'])
  expect(await revision()).toBe(before)
  await uploadVersion(world, key, 'm', '2.0.0')
  expect(await revision()).toBeGreaterThan(before)
  expect((await world.request('GET', '/api/v1/devices/d0/assignments', { key })).body).toMatchObject({
    assignments: [{ version: '2.0.0' }],
  })
})
