import { expect, it } from 'vitest'
import { createModel } from '../../../../test/fleet-of-models.ts'
import { apiOf, startWorld } from '../../../../test/world.ts'

const nowhere = '00000000-0000-4000-8000-000000000000'

/** A device with a report on a rollout, on a deployment and on an experiment. */
const setUp = async () => {
  const world = await startWorld()
  const { key, deviceId } = await world.register('d0')
  const send = apiOf(world, key)
  const model = await createModel(world, key, 'my-model', ['1.0.0'])
  const other = await createModel(world, key, 'other', ['1.0.0'])
  const report = async (planId: unknown, body: object) => {
    await world.advance(10)
    expect(await send('POST', `/devices/d0/assignments/${planId}/report`, body)).toMatchObject({ status: 200 })
  }
  return { world, key, deviceId, send, model, other, report }
}

it('the reports of a device on each plan are listed with their model, newest first', async () => {
  const { world, send, model, other, report } = await setUp()
  const rollout = await send('POST', `/models/${model}/rollouts`, { version: '1.0.0', rollout_percentage: 100 })
  const variants = (second: string) => [
    { name: 'a', model_id: model, allocation: 0.5, version: '1.0.0' },
    { name: 'b', model_id: second, allocation: 0.5, version: '1.0.0' },
  ]
  const same = await send('POST', '/experiments', { name: 'same', variants: variants(model) })
  const apart = await send('POST', '/experiments', { name: 'apart', variants: variants(other) })
  expect(await send('GET', '/devices/d0/reports')).toEqual({ status: 200, body: { device_id: 'd0', reports: [] } })
  await report(rollout.body.rollout_id, { state: 'failed', version: '1.0.0', reason: 'no space' })
  const failed = world.now().toISOString()
  await send('POST', `/experiments/${same.body.id}/start`)
  await report(same.body.id, { state: 'active', version: '1.0.0', metrics: { accuracy: 0.5 } })
  await send('POST', `/experiments/${same.body.id}/complete`)
  await send('POST', `/experiments/${apart.body.id}/start`)
  await report(apart.body.id, { state: 'ready', version: '1.0.0' })
  const { body } = await send('GET', '/devices/d0/reports')
  const reported = { version: '1.0.0', reason: null, metrics: null, reported_at: expect.any(String) }
  expect(body.reports).toEqual([
    { ...reported, plan_id: apart.body.id, kind: 'experiment', model_id: null, model_name: null, state: 'ready' },
    {
      ...reported,
      plan_id: same.body.id,
      kind: 'experiment',
      model_id: model,
      model_name: 'my-model',
      state: 'active',
      metrics: { accuracy: 0.5 },
    },
    {
      plan_id: rollout.body.rollout_id,
      kind: 'rollout',
      model_id: model,
      model_name: 'my-model',
      state: 'failed',
      version: '1.0.0',
      reason: 'no space',
      metrics: null,
      reported_at: failed,
    },
  ])
  expect((await send('GET', '/devices/d0/reports?limit=1')).body.reports).toHaveLength(1)
  expect((await send('GET', '/devices/nowhere/reports')).status).toBe(404)
})

it('a version that is named by its number or its label is the same: a report without metrics keeps those measured before', async () => {
  const { send, model, report } = await setUp()
  const { body } = await send('POST', `/models/${model}/rollouts`, { version: '1.0.0', rollout_percentage: 100 })
  const planId = body.rollout_id
  const metrics = { accuracy: 0.9 }
  const expected = async (fields: object) => {
    const { reports } = (await send('GET', '/devices/d0/reports')).body as { reports: object[] }
    expect(reports).toMatchObject([{ version: '1.0.0', metrics, ...fields }])
  }
  await report(planId, { state: 'active', version: '1', metrics })
  await expected({ state: 'active' })
  await report(planId, { state: 'active', version: '1.0.0', reason: 'still' })
  await expected({ reason: 'still' })
  await report(planId, { state: 'ready', version: '1' })
  await expected({ state: 'ready' })
  // Reports that the plan no longer asks for continue the earlier ones, by either name.
  await send('POST', `/models/${model}/rollouts/${planId}/rollback`)
  for (const [state, version] of [['failed', '1'] as const, ['active', '1.0.0'] as const]) {
    await report(planId, { state, version })
    await expected({ state })
  }
  await report(planId, { state: 'failed', version: '7' })
  await expected({ state: 'active' })
})

it('a report on an experiment names its model, whether the variant and the report name the version by label or number', async () => {
  const { send, model, report } = await setUp()
  for (const [at, version] of ['1', '1.0.0'].entries()) {
    const variants = ['a', 'b'].map((name) => ({ name, model_id: model, allocation: 0.5, version }))
    const { body } = await send('POST', '/experiments', { name: `e${at}`, variants })
    await send('POST', `/experiments/${body.id}/start`)
    for (const reported of ['1', '1.0.0']) {
      await report(body.id, { state: 'active', version: reported })
      const { reports } = (await send('GET', '/devices/d0/reports?limit=1')).body as { reports: object[] }
      expect(reports).toMatchObject([{ plan_id: body.id, model_id: model, model_name: 'my-model' }])
    }
    await send('POST', `/experiments/${body.id}/complete`)
  }
})

it('the groups of a device are listed in the order of their creation', async () => {
  const { send } = await setUp()
  const groups = []
  for (const name of ['first', 'second', 'third']) {
    const { body } = await send('POST', '/device-groups', { org_id: 'default', name })
    groups.push(body)
  }
  expect(await send('GET', '/devices/d0/groups')).toEqual({ status: 200, body: { device_id: 'd0', groups: [] } })
  for (const at of [2, 0]) await send('POST', `/device-groups/${groups[at]!.id}/devices`, { device_ids: ['d0'] })
  const { body } = await send('GET', '/devices/d0/groups')
  expect(body).toEqual({
    device_id: 'd0',
    groups: [
      { ...groups[0], device_count: 1 },
      { ...groups[2], device_count: 1 },
    ],
  })
  expect((await send('GET', `/devices/${nowhere}/groups`)).status).toBe(404)
})
