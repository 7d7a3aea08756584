import { describe, expect, it } from 'vitest'
import { hasPostgres } from '../../../../test/databases.ts'
import { boundOrganizations } from '../../../../test/organizations.ts'
import { formOf } from '../../../../test/world.ts'
import {
  type Decision,
  decisions,
  given,
  measure,
  startFleet,
  trainOnce,
  uuid,
  versionsOf,
} from './policy-calls.fixture.ts'

const POLICY = { enabled: true, canary_percentage: 50, observe_minutes: 30, min_reports: 3 }
// Enough devices for both the canary and the current version, whatever the canary's id is.
const FLEET = 30

const openOrganization = boundOrganizations()

const start = async (policy: object, size = FLEET) => startFleet(await openOrganization(), policy, size)

describe.each((['embedded', 'postgres'] as const).filter((kind) => kind === 'embedded' || hasPostgres()))(
  'a policy on the %s database',
  (database) => {
    const openIn = boundOrganizations({ database })

    it('tries the result of a round on a canary, and promotes it if it is no worse', async () => {
      const started = await startFleet(await openIn(), POLICY, FLEET)
      const { world, fleet, key, at } = started
      const aggregate = await trainOnce(started)
      expect(await decisions(world, key)).toEqual([
        {
          id: uuid,
          round_id: uuid,
          round_number: 1,
          aggregate_model_id: aggregate,
          version: '1.1.0',
          status: 'observing',
          reason: null,
          canary_rollout_id: uuid,
          promotion_rollout_id: null,
          comparisons: [],
          created_at: at,
          decided_at: null,
        },
      ])
      const model = (await world.request('GET', '/api/v1/models/m', { key })).body
      const learned = (await world.request('GET', `/api/v1/models/${aggregate}`, { key })).body
      expect(model).toMatchObject({ model_hash: (learned as { model_hash: string }).model_hash })
      const canaries = async () => {
        const versions = await Promise.all(fleet.map(async (device) => (await given(world, device)).version))
        return fleet.filter((_, n) => versions[n] === '1.1.0')
      }
      const before = await canaries()
      expect(await versionsOf(world, fleet)).toEqual(['1.0.0', '1.1.0'])
      const { rollouts } = (await world.request('GET', '/api/v1/models/m/rollouts', { key })).body as {
        rollouts: unknown[]
      }
      expect(rollouts[0]).toMatchObject({ version: '1.1.0', status: 'active', next_step_at: null })

      await measure(world, fleet, (version, n) => (version === '1.1.0' ? 0.95 : 0.9) + 0.001 * (n % 3))
      const [decision] = await decisions(world, key)
      expect(decision).toMatchObject({ status: 'promoted', decided_at: at, promotion_rollout_id: uuid })
      expect(decision!.reason).toMatch(/^No worse than the current version\. accuracy 0\.95\d* on \d+ canary devices /)
      expect(decision!.promotion_rollout_id).toBe(decision!.canary_rollout_id)
      const path = `/api/v1/models/m/rollouts/${decision!.canary_rollout_id}`
      expect((await world.request('GET', path, { key })).body).toMatchObject({
        status: 'active',
        version: '1.1.0',
        percentage: 50,
        target_percentage: 100,
        increment_step: 10,
        step_interval_minutes: 60,
        ended_at: null,
      })
      expect(await canaries()).toEqual(before)
      await world.advance(5 * 3600)
      await world.advance(3600)
      for (let hour = 0; hour < 4; hour++) await world.advance(3600)
      expect(await versionsOf(world, fleet)).toEqual(['1.1.0'])
    })

    it('rolls back a worse version: every device gets its previous one', async () => {
      const started = await startFleet(await openIn(), POLICY, FLEET)
      const { world, fleet, key } = started
      await trainOnce(started)
      await measure(world, fleet, (version, n) => (version === '1.1.0' ? 0.7 : 0.9) + 0.001 * (n % 3))
      const [decision] = await decisions(world, key)
      expect(decision).toMatchObject({ status: 'rolled_back', promotion_rollout_id: null })
      expect(decision!.reason).toMatch(/^Worse than the current version\./)
      expect(await versionsOf(world, fleet)).toEqual(['1.0.0'])
    })
  },
)

describe('a policy', () => {
  it('is disabled by default, and can be read and deleted', async () => {
    const started = await start({}, 1)
    const { world, org, key, modelId, at } = started
    const expected = {
      model_id: modelId,
      org_id: org,
      enabled: false,
      canary_percentage: 10,
      canary_group_id: null,
      observe_minutes: 60,
      min_reports: 20,
      max_accuracy_drop: 0.02,
      max_loss_increase: 0.05,
      metric_margins: {},
      confidence_level: 0.95,
      increment_step: 10,
      step_interval_minutes: 60,
      created_at: at,
      updated_at: at,
      warnings: [],
    }
    const path = '/api/v1/models/m/policy'
    expect((await world.request('GET', path, { key })).body).toEqual(expected)
    expect((await world.request('GET', '/api/v1/policies', { key })).body).toEqual({
      policies: [{ ...expected, model_name: 'm' }],
    })
    await trainOnce(started)
    expect(await decisions(world, key)).toEqual([])
    expect((await world.request('DELETE', path, { key })).body).toEqual(expected)
    expect((await world.request('GET', path, { key })).status).toBe(404)
    expect((await world.request('DELETE', path, { key })).status).toBe(404)
  })

  it('decides nothing about its canary while it is disabled', async () => {
    const started = await start(POLICY)
    const { world, fleet, key } = started
    await trainOnce(started)
    const enable = (enabled: boolean) =>
      world.request('PUT', '/api/v1/models/m/policy', { key, body: { ...POLICY, enabled } })
    await enable(false)
    await measure(world, fleet, (version, n) => (version === '1.1.0' ? 0.95 : 0.9) + 0.001 * (n % 3))
    await world.advance(3600)
    expect(await decisions(world, key)).toMatchObject([{ status: 'observing' }])
    expect(await versionsOf(world, fleet)).toEqual(['1.0.0', '1.1.0'])
    await enable(true)
    expect(await decisions(world, key)).toMatchObject([{ status: 'promoted' }])
  })

  it('promotes a version that measures exactly what the current one does', async () => {
    const started = await start({ ...POLICY, max_accuracy_drop: 0 })
    const { world, fleet, key } = started
    await trainOnce(started)
    // The sums of many values of 0.01 round: averages of different numbers of them differ, and have a variance.
    await measure(world, fleet, () => 0.01, { ofEach: FLEET })
    expect(await decisions(world, key)).toMatchObject([
      {
        status: 'promoted',
        comparisons: [{ metric: 'accuracy', interval: { lower: 0, upper: 0 }, finding: 'no_worse' }],
      },
    ])
  })

  it('can compare any metric that devices report with a version', async () => {
    const started = await start({ ...POLICY, metric_margins: { latency_ms: 0.1 } })
    const { world, fleet, key } = started
    await trainOnce(started)
    await measure(world, fleet, (version, n) => (version === '1.1.0' ? 140 : 100) + 0.1 * (n % 3), {
      metric: 'latency_ms',
    })
    const [decision] = await decisions(world, key)
    expect(decision).toMatchObject({ status: 'rolled_back', comparisons: [{ metric: 'latency_ms', finding: 'worse' }] })
    expect(decision!.reason).toMatch(/^Worse than the current version\. latency_ms 140\.\d* on \d+ canary devices /)
  })

  it('ignores what was measured before the canary, even if it was reported again since', async () => {
    const started = await start(POLICY)
    const { world, fleet, key } = started
    await measure(world, fleet, (_version, n) => 0.5 + 0.001 * (n % 3), { ofEach: FLEET })
    await world.advance(60)
    await trainOnce(started)
    const reportAgain = async (metrics?: object) => {
      for (const device of fleet) {
        const { plan_id, version } = await given(world, device)
        const path = `/api/v1/devices/${device.deviceId}/assignments/${plan_id}/report`
        const isCanary = version === '1.1.0'
        const body = { state: 'active', version, ...(isCanary ? { metrics: { accuracy: 0.9 } } : { metrics }) }
        expect((await world.request('POST', path, { key: device.key, body })).status).toBe(200)
      }
    }
    await reportAgain()
    expect(await decisions(world, key)).toMatchObject([{ status: 'observing', comparisons: [] }])
    const path = `/api/v1/devices/${fleet[0]!.deviceId}/reports`
    const { reports } = (await world.request('GET', path, { key: fleet[0]!.key })).body as { reports: object[] }
    expect(reports).toContainEqual(expect.objectContaining({ metrics: { accuracy: expect.any(Number) } }))
    await reportAgain({ accuracy: 0.91 })
    expect(await decisions(world, key)).toMatchObject([{ status: 'promoted' }])
  })

  it('does not compare the version with itself where other plans deliver it, too', async () => {
    const started = await start(POLICY)
    const { world, fleet, key } = started
    await trainOnce(started)
    const versions = await Promise.all(fleet.map(async (device) => (await given(world, device)).version))
    const others = fleet.filter((_, n) => versions[n] === '1.0.0')
    const deploy = (devices: readonly { readonly deviceId: string }[]) =>
      world.request('POST', '/api/v1/deploy/execute', {
        key,
        body: { model_name: 'm', model_version: '1.1.0', devices: devices.map(({ deviceId }) => deviceId) },
      })
    const deployed = others.slice(4)
    await deploy(deployed)
    // First, because the decision may be made before all devices have measured.
    const inOrder = [...deployed, ...fleet.filter((device) => !deployed.includes(device))]
    await measure(world, inOrder, (version, n) => (version === '1.1.0' ? 0.7 : 0.9) + 0.001 * (n % 3), {
      ofEach: FLEET,
    })
    const [{ status, comparisons }] = (await decisions(world, key)) as [Decision]
    expect(status).toBe('rolled_back')
    const [{ current }] = comparisons as [{ current: { devices: number } }]
    expect(current.devices).toBeLessThanOrEqual(4)
  })

  it('promotes nothing without evidence', async () => {
    const started = await start(POLICY)
    const { world, fleet, key } = started
    await trainOnce(started)
    await measure(world, fleet, (_version, n) => (n % 2 === 0 ? 0.1 : 0.9))
    expect(await decisions(world, key)).toMatchObject([{ status: 'observing', comparisons: [{ finding: 'unclear' }] }])
    await world.advance(29 * 60)
    expect(await decisions(world, key)).toMatchObject([{ status: 'observing' }])
    await world.advance(60)
    const [decision] = await decisions(world, key)
    expect(decision).toMatchObject({ status: 'rolled_back', decided_at: world.now().toISOString() })
    expect(decision!.reason).toMatch(/^Inconclusive after 30 minutes/)
    expect(await versionsOf(world, fleet)).toEqual(['1.0.0'])
  })

  it('rolls back without any measurement too, and then tries the newest of the rounds since then', async () => {
    const started = await start(POLICY, 1)
    const { world, key } = started
    const first = await trainOnce(started)
    const second = await trainOnce(started, first, 5)
    await trainOnce(started, second, 6)
    expect(await decisions(world, key)).toMatchObject([{ round_number: 1, status: 'observing' }])
    await world.advance(30 * 60)
    expect(await decisions(world, key)).toMatchObject([
      { round_number: 3, status: 'observing', version: '1.2.0' },
      {
        round_number: 1,
        status: 'rolled_back',
        reason: 'Inconclusive after 30 minutes, so nothing was promoted. No device measured accuracy or loss.',
      },
    ])
  })

  it('reports that the canary group was deleted', async () => {
    const started = await start(POLICY, 1)
    const { world, fleet, key, org } = started
    const post = (path: string, body: object) => world.request('POST', `/api/v1/device-groups${path}`, { key, body })
    const { id } = (await post('', { org_id: org, name: 'early' })).body as { id: string }
    await post(`/${id}/devices`, { device_ids: [fleet[0]!.deviceId] })
    await world.request('PUT', '/api/v1/models/m/policy', { key, body: { ...POLICY, canary_group: 'early' } })
    await trainOnce(started)
    await world.request('DELETE', `/api/v1/device-groups/${id}`, { key })
    await world.advance(30 * 60)
    expect(await decisions(world, key)).toMatchObject([
      {
        status: 'rolled_back',
        reason: 'Inconclusive after 30 minutes, so nothing was promoted. The canary group was deleted: set another.',
      },
    ])
  })

  it('tries no result while its canary group is deleted, and says so', async () => {
    const started = await start(POLICY, 1)
    const { world, key, org } = started
    const group = { org_id: org, name: 'early' }
    const { body } = await world.request('POST', '/api/v1/device-groups', { key, body: group })
    const { id } = body as { id: string }
    const set = (canary_group?: string) =>
      world.request('PUT', '/api/v1/models/m/policy', { key, body: { ...POLICY, canary_group } })
    expect(await set('early')).toMatchObject({ status: 200, body: { canary_group_id: id, warnings: [] } })
    await world.request('DELETE', `/api/v1/device-groups/${id}`, { key })
    await trainOnce(started)
    expect(await decisions(world, key)).toEqual([])
    const warned = {
      canary_group_id: id,
      warnings: [
        'The canary group was deleted: no result is tried until the policy is set with another group, or with none.',
      ],
    }
    expect((await world.request('GET', '/api/v1/models/m/policy', { key })).body).toMatchObject(warned)
    expect((await world.request('GET', '/api/v1/policies', { key })).body).toMatchObject({ policies: [warned] })
    expect(await set()).toMatchObject({ status: 200, body: { canary_group_id: null, warnings: [] } })
  })

  it('rolls back as soon as the version fails on its devices', async () => {
    const started = await start(POLICY)
    const { world, fleet, key } = started
    await trainOnce(started)
    const failed: string[] = []
    for (const device of fleet) {
      const { plan_id, version } = await given(world, device)
      if (version !== '1.1.0') continue
      failed.push(device.deviceId)
      const body = { state: 'failed', version, reason: 'cannot be loaded' }
      const path = `/api/v1/devices/${device.deviceId}/assignments/${plan_id}/report`
      await world.request('POST', path, { key: device.key, body })
    }
    const [decision] = await decisions(world, key)
    expect(decision).toMatchObject({ status: 'rolled_back' })
    expect(decision!.reason).toMatch(/failed .*Most often: cannot be loaded$/)
    expect(await versionsOf(world, fleet)).toEqual(['1.0.0'])
    for (const deviceId of failed)
      await world.request('POST', `/api/v1/devices/${deviceId}/erase`, { key, body: { confirm: deviceId } })
    expect((await decisions(world, key))[0]!.reason).toMatch(/failed .*Most often: \(erased\)$/)
  })

  it.each([
    ['POST', '/advance', {}, 50],
    ['PUT', '/percentage', { percentage: 60 }, 60],
  ] as const)(
    'starts a rollout to all devices for a good version whose canary an operator completes by %s %s, which keeps its devices',
    async (method, action, body, percentage) => {
      const started = await start({ ...POLICY, min_reports: 2 })
      const { world, fleet, key, at, org } = started
      const post = async (to: string, sent: object) =>
        (await world.request('POST', `/api/v1${to}`, { key, body: sent })).body as { id: string }
      const group = await post('/device-groups', { org_id: org, name: 'half' })
      // Leaves enough devices that the experiment does not reach, whatever the ids of the plans are.
      const half = fleet.slice(0, 12)
      await post(`/device-groups/${group.id}/devices`, { device_ids: half.map(({ deviceId }) => deviceId) })
      const variants = ['a', 'b'].map((name) => ({ name, model_id: 'm', version: '1', allocation: 0.5 }))
      const experiment = await post('/experiments', { name: 'e', variants, target_groups: [group.id] })
      await post(`/experiments/${experiment.id}/start`, {})
      const first = await trainOnce(started)
      const id = (await decisions(world, key))[0]!.canary_rollout_id
      const path = `/api/v1/models/m/rollouts/${id}`
      const completed = await world.request(method, `${path}${action}`, { key, body })
      expect(completed).toMatchObject({ status: 200, body: { status: 'completed', percentage } })
      const versions = () => Promise.all(half.map(async (device) => (await given(world, device)).version))
      const before = await versions()
      expect(new Set(before)).toEqual(new Set(['1.0.0', '1.1.0']))

      await measure(world, fleet, (version, n) => (version === '1.1.0' ? 0.95 : 0.9) + 0.001 * (n % 3), {
        ofEach: FLEET,
      })
      const [decision] = await decisions(world, key)
      expect(decision).toMatchObject({ status: 'promoted', decided_at: at, promotion_rollout_id: uuid })
      expect((await world.request('GET', path, { key })).body).toMatchObject({ status: 'completed', percentage })
      const promotion = `/api/v1/models/m/rollouts/${decision!.promotion_rollout_id}`
      const promoted = { status: 'active', percentage: 10, target_percentage: 100, version: '1.1.0' }
      expect((await world.request('GET', promotion, { key })).body).toMatchObject(promoted)
      // The experiment, which is older than the canary, does not get its devices back.
      expect(await versions()).toEqual(before)
      await trainOnce(started, first, 5)
      expect(await decisions(world, key)).toMatchObject([{ round_number: 2, status: 'observing' }, { round_number: 1 }])
    },
  )

  it('leaves a canary that an operator has completed on all devices', async () => {
    const started = await start(POLICY)
    const { world, fleet, key } = started
    await trainOnce(started)
    const id = (await decisions(world, key))[0]!.canary_rollout_id
    await world.request('PUT', `/api/v1/models/m/rollouts/${id}/percentage`, { key, body: { percentage: 100 } })
    await world.advance(30 * 60)
    expect(await decisions(world, key)).toMatchObject([
      {
        status: 'promoted',
        promotion_rollout_id: id,
        reason: 'An operator completed the canary on all devices, so there was nothing left to compare or promote.',
      },
    ])
    expect(await versionsOf(world, fleet)).toEqual(['1.1.0'])
    const { body } = await world.request('GET', `/api/v1/models/m/rollouts/${id}`, { key })
    expect(body).toMatchObject({ status: 'completed' })
  })

  it('rolls back a worse version even if an operator has completed its canary', async () => {
    const started = await start(POLICY)
    const { world, fleet, key } = started
    await trainOnce(started)
    const id = (await decisions(world, key))[0]!.canary_rollout_id
    await world.request('POST', `/api/v1/models/m/rollouts/${id}/advance`, { key, body: {} })
    await measure(world, fleet, (version, n) => (version === '1.1.0' ? 0.7 : 0.9) + 0.001 * (n % 3))
    expect(await decisions(world, key)).toMatchObject([{ status: 'rolled_back', promotion_rollout_id: null }])
    expect(await versionsOf(world, fleet)).toEqual(['1.0.0'])
  })

  it('examines the rounds of another model once', async () => {
    const started = await start(POLICY, 1)
    const { world, key, modelId } = started
    const other = (
      (await world.request('POST', '/api/v1/models', { key, body: { name: 'other' } })).body as { id: string }
    ).id
    const file = formOf(new Uint8Array(new Float32Array([1, 2]).buffer))
    await world.request('POST', '/api/v1/models/other/versions/upload', { key, body: file })
    await trainOnce(started, other)
    expect(await decisions(world, key)).toEqual([])
    // Never happens, and would be noticed if the round were read again.
    const rounds = world.database!.sql.updateTable('rounds').set({ global_model_id: modelId })
    await rounds.where('global_model_id', '=', other).execute()
    expect(await decisions(world, key)).toEqual([])
    await trainOnce(started)
    expect(await decisions(world, key)).toMatchObject([{ round_number: 2, status: 'observing' }])
  })

  it('with invalid fields is refused, naming the field; for a model that does not exist it is 404', async () => {
    const { world, key } = await start({}, 1)
    for (const [body, field] of [
      [{ canary_percentage: 0 }, 'canary_percentage'],
      [{ canary_percentage: 100 }, 'canary_percentage: a canary of the whole fleet'],
      [{ canary_group: 'nobody' }, 'canary_group'],
      [{ observe_minutes: 0 }, 'observe_minutes'],
      [{ min_reports: 1 }, 'min_reports'],
      [{ max_accuracy_drop: 2 }, 'max_accuracy_drop'],
      [{ metric_margins: { f1: -1 } }, 'metric_margins'],
      [{ metric_margins: { loss: 1 } }, 'max_loss_increase'],
      [{ metric_margins: { 'no name': 1 } }, 'metric_margins'],
      [{ metric_margins: { constructor: -1 } }, 'metric_margins.constructor'],
      [{ confidence_level: 1 }, 'confidence_level'],
      [{ enabled: 'yes' }, 'enabled'],
    ] as const) {
      const response = await world.request('PUT', '/api/v1/models/m/policy', { key, body })
      expect(response).toMatchObject({ status: 400, body: { error: 'bad_request' } })
      expect((response.body as { message: string }).message).toContain(field)
      expect((await world.request('PUT', '/api/v1/models/ghost/policy', { key, body })).status).toBe(404)
    }
  })
})
