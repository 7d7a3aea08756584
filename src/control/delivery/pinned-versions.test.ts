import { describe, expect, it } from 'vitest'
import { formOf, type World } from '../../../test/world.ts'
import { startWithApprovals } from '../access/sign-in/two-admins.fixture.ts'

/** As an earlier release let a key do: another upload of the model takes the label that stands for version 1. */
const usurp = async (world: World, model: string): Promise<void> => {
  const { sql } = world.database!
  const row = await sql.selectFrom('model_versions').selectAll().where('model_id', '=', model).executeTakeFirstOrThrow()
  const { version_count } = await sql
    .updateTable('models')
    .set((models) => ({ version_count: models('version_count', '+', 1) }))
    .where('id', '=', model)
    .returning('version_count')
    .executeTakeFirstOrThrow()
  const rest = { version: version_count, version_label: '1.0.0', metrics: null, metadata: '{}' }
  await sql
    .insertInto('model_versions')
    .values({ ...row, ...rest })
    .execute()
  await sql
    .updateTable('delivery_revision')
    .set((of) => ({ revision: of('revision', '+', 1) }))
    .execute()
  await world.advance(1)
}

const start = async () => {
  const started = await startWithApprovals()
  const { world, ada, bob, model, decide } = started
  const given = async (device: string) => {
    const { body } = await ada.call('GET', `/devices/${device}/assignments`)
    return (body.assignments as { kind: string; version_number: number }[]).map((one) => [one.kind, one.version_number])
  }
  const approveAll = async () => {
    const { body } = await bob.call('GET', '/approvals?status=pending')
    const decided = []
    for (const { id } of body.approvals as { id: string }[]) decided.push(await decide(bob, id))
    await world.advance(1)
    return decided
  }
  const rollOut = (more: object = {}) =>
    ada.call('POST', `/models/${model}/rollouts`, { version: '1.0.0', rollout_percentage: 100, ...more })
  return { ...started, given, approveAll, rollOut }
}

describe('a plan delivers the version that it was created for', () => {
  it('whatever is uploaded after it was approved, by any key', async () => {
    const { world, byKey, ada, model, given, approveAll, rollOut } = await start()
    expect((await rollOut()).status).toBe(201)
    expect(await approveAll()).toMatchObject([{ status: 200 }])
    expect(await given('a')).toEqual([['rollout', 1]])
    const form = formOf(Uint8Array.of(9), { version_label: '1.0.0' })
    expect((await byKey('POST', `/models/${model}/versions/upload`, form)).status).toBe(409)
    await usurp(world, model)
    expect(await given('a')).toEqual([['rollout', 1]])
    const uses = async (version: string) => (await ada.call('GET', `/models/${model}/versions/${version}`)).body
    expect(JSON.stringify(await uses('1'))).toContain('"kind":"rollout"')
    expect(JSON.stringify(await uses('3'))).not.toContain('"kind":"rollout"')
  })

  it('and so do deployments and experiments', async () => {
    const { world, ada, model, given, approveAll } = await start()
    const deployed = await ada.call('POST', '/deploy/execute', {
      model_name: 'm',
      model_version: '1.0.0',
      devices: ['a'],
    })
    expect(deployed.body).toMatchObject({ status: 'started' })
    const variants = ['1.0.0', '2.0.0'].map((version, n) => ({
      name: `v${n}`,
      model_id: model,
      version,
      allocation: 1 - n,
    }))
    const { body: experiment } = await ada.call('POST', '/experiments', { name: 'e', variants })
    expect((await ada.call('POST', `/experiments/${String(experiment.id)}/start`)).status).toBe(200)
    const wide = await ada.call('POST', '/deploy/execute', { model_name: 'm', model_version: '1', devices: ['b', 'c'] })
    expect(wide.body).toMatchObject({ status: 'pending_approval' })
    await usurp(world, model)
    expect([await given('a'), await given('b')]).toEqual([[['deployment', 1]], [['experiment', 1]]])
    // The label is that of another upload now; what was requested is the same all the same.
    expect(await approveAll()).toMatchObject([{ status: 200 }])
    expect(await given('b')).toEqual([['deployment', 1]])
  })

  it('and an approval covers that upload only', async () => {
    const { world, ada, model, given, approveAll, rollOut } = await start()
    const { body } = await rollOut()
    await usurp(world, model)
    expect(await approveAll()).toMatchObject([{ status: 200 }])
    expect(await given('a')).toEqual([['rollout', 1]])
    await ada.call('POST', `/models/${model}/rollouts/${String(body.rollout_id)}/rollback`)

    // One of an earlier release, which knows its version by the label alone.
    const old = await rollOut({ start_immediately: false })
    const of = world.database!.sql.updateTable('rollouts').where('id', '=', String(old.body.rollout_id))
    await of.set({ version_number: null }).execute()
    const path = `/models/${model}/rollouts/${String(old.body.rollout_id)}`
    expect((await ada.call('POST', `${path}/start`)).body).toMatchObject({ status: 'pending' })
    const { sql } = world.database!
    // When it was requested, the label was that of version 3; now it stands for version 1 alone.
    await sql.updateTable('model_versions').set({ version_label: '1.0.0-was' }).where('version', '=', 3).execute()
    expect(await approveAll()).toMatchObject([{ status: 200 }])
    expect(await given('a')).toEqual([['rollout', 3]])
  })

  it('and a request that names another upload, or none as those of earlier releases, is not carried out', async () => {
    const { world, ada, bob, model, rollOut, decide, given } = await start()
    const { body } = await rollOut()
    const { sql } = world.database!
    for (const [versionNumber, message] of [
      [2, 'is not the upload that was requested'],
      [undefined, 'Request it again.'],
    ] as const) {
      const pending = (await bob.call('GET', '/approvals?status=pending')).body.approvals as { id: string }[]
      const { id } = pending[0]!
      const row = await sql.selectFrom('approvals').select('payload').where('id', '=', id).executeTakeFirstOrThrow()
      const payload = JSON.stringify({ ...row.payload, versionNumber })
      await sql.updateTable('approvals').set({ payload }).where('id', '=', id).execute()
      const refused = await decide(bob, id)
      expect(refused).toMatchObject({ status: 409, body: { message: expect.stringContaining(message) } })
      await ada.call('POST', `/models/${model}/rollouts/${String(body.rollout_id)}/start`)
    }
    expect(await given('a')).toEqual([])
  })

  it('or, where none was uploaded then, the one that carries the label first', async () => {
    const { byKey, ada, model, given } = await start()
    const group = await ada.call('POST', '/device-groups', { name: 'lab', org_id: 'acme' })
    await ada.call('POST', `/device-groups/${String(group.body.id)}/devices`, { device_ids: ['a'] })
    const waiting = { version: '3.0.0', rollout_percentage: 100, group: 'lab' }
    expect((await ada.call('POST', `/models/${model}/rollouts`, waiting)).body).toMatchObject({ status: 'active' })
    expect(await given('a')).toEqual([])
    await byKey('POST', `/models/${model}/versions/upload`, formOf(Uint8Array.of(9)))
    expect(await given('a')).toEqual([['rollout', 3]])
    const late = formOf(Uint8Array.of(8), { version_label: '3.0.0' })
    expect((await byKey('POST', `/models/${model}/versions/upload`, late)).status).toBe(409)
    expect(await given('a')).toEqual([['rollout', 3]])
  })
})
