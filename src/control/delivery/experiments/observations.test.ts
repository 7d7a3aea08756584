import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { hasPostgres } from '../../../../test/databases.ts'
import { boundOrganizations } from '../../../../test/organizations.ts'
import { formOf } from '../../../../test/world.ts'
import { type ExperimentBody, experimentsOf, startExperimentService } from './experiments.fixture.ts'

// Student's sleep data. Expected values from SciPy 1.17 (ttest_ind with equal_var=False).
const CONTROL = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
const TREATMENT = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2]

interface VariantBody {
  readonly name: string
  readonly sample_size: number
  readonly metrics: Readonly<Record<string, { devices: number; observations: number; mean: number }>>
}
interface AnalyticsBody {
  readonly variants: readonly VariantBody[]
  readonly p_value: number | null
  readonly warnings: readonly string[]
}

const openOrganization = boundOrganizations()
const openExperiments = async () => experimentsOf(await openOrganization())

/** Starts an experiment, and returns the devices of each variant: at least so many. */
const openRunning = async (enough: number, experiments = openExperiments()) => {
  const service = await experiments
  const { id } = await service.createHalves()
  await service.ask('POST', `/${id}/start`)
  const variants = await service.fill(id, enough)
  const observe = (body: object) => service.ask('POST', `/${id}/observations`, body)
  const analytics = async () => (await service.ask('GET', `/${id}/analytics`)).body as AnalyticsBody
  return { ...service, id, variants, observe, analytics }
}

describe('the analytics of an experiment', () => {
  it('compare the variants as SciPy does, one value for each device', async () => {
    const { id, variants, observe, analytics } = await openRunning(10)
    const observations = [...CONTROL.entries()].flatMap(([n, value]) => [
      { device_id: variants.control![n]!, metrics: { accuracy: value, loss: 2 } },
      { device_id: variants.treatment![n]!, metrics: { accuracy: TREATMENT[n]!, latency_ms: n } },
    ])
    expect(await observe({ observations })).toEqual({
      status: 200,
      body: { experiment_id: id, accepted: 20, skipped: [] },
    })
    const close = (value: number, digits = 9) => expect.closeTo(value, digits)
    const metric = (devices: number, mean: number, stdDev: number) => ({
      devices,
      observations: devices,
      mean: close(mean),
      std_dev: close(stdDev),
    })
    expect(await analytics()).toEqual({
      experiment_id: id,
      status: 'running',
      variants: [
        {
          name: 'control',
          sample_size: 10,
          failed_devices: 0,
          accuracy: close(2.33),
          loss: 2,
          allocation: 0.5,
          metrics: { accuracy: metric(10, 2.33, 2.0022487358), loss: metric(10, 2, 0) },
        },
        {
          name: 'treatment',
          sample_size: 10,
          failed_devices: 0,
          accuracy: close(0.75),
          loss: null,
          allocation: 0.5,
          metrics: { accuracy: metric(10, 0.75, 1.7890096578), latency_ms: metric(10, 4.5, 3.0276503541) },
        },
      ],
      p_value: close(0.0793941401874, 11),
      significant: false,
      confidence_level: 0.95,
      primary_metric: 'accuracy',
      metric: 'accuracy',
      comparisons: [
        {
          variant: 'treatment',
          baseline: 'control',
          difference: close(-1.58),
          t_statistic: close(-1.86081346749),
          degrees_of_freedom: close(17.7764735162),
          p_value: close(0.0793941401874, 11),
          adjusted_p_value: close(0.0793941401874, 11),
          effect_size: close(-0.83218108135),
          confidence_interval: { lower: close(-3.36548323071), upper: close(0.205483230712), level: 0.95 },
          always_valid_interval: { lower: expect.any(Number), upper: expect.any(Number), level: 0.95 },
          decided: false,
        },
      ],
      sample_ratio: { chi_square_statistic: 0, degrees_of_freedom: 1, p_value: 1, mismatch: false },
      warnings: [],
    })
  })

  it('compare the variants in any metric that is asked for', async () => {
    const { ask, id, variants, observe } = await openRunning(10)
    const measured = (names: readonly string[], battery: number) =>
      names.map((device_id, at) => ({ device_id, metrics: { accuracy: at, battery: battery + (at % 2) } }))
    const [control, treatment] = [variants.control!.slice(0, 10), variants.treatment!.slice(0, 10)]
    await observe({ observations: [...measured(control, 0), ...measured(treatment, 10)] })
    const compare = async (query: string) => ask('GET', `/${id}/analytics${query}`)
    expect((await compare('?metric=battery')).body).toMatchObject({
      primary_metric: 'accuracy',
      metric: 'battery',
      significant: true,
      comparisons: [{ difference: expect.closeTo(10, 9), decided: true }],
      warnings: [],
    })
    expect((await compare('')).body).toMatchObject({ metric: 'accuracy', significant: false })
    expect((await compare('?metric=unknown')).body).toMatchObject({
      significant: false,
      warnings: [expect.stringContaining("has reported 'unknown'"), expect.stringContaining('treatment')],
    })
    expect(await compare(`?metric=${'x'.repeat(200)}`)).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('metric') },
    })
  })

  it('are nulls with the reason before anything is measured', async () => {
    const { ask, createHalves } = await openExperiments()
    const { id } = await createHalves({ primary_metric: 'loss', confidence_level: 0.9 })
    const none = { sample_size: 0, failed_devices: 0, accuracy: null, loss: null, allocation: 0.5, metrics: {} }
    expect(await ask('GET', `/${id}/analytics`)).toEqual({
      status: 200,
      body: {
        experiment_id: id,
        status: 'draft',
        variants: [
          { name: 'control', ...none },
          { name: 'treatment', ...none },
        ],
        p_value: null,
        significant: false,
        confidence_level: 0.9,
        primary_metric: 'loss',
        metric: 'loss',
        comparisons: [
          {
            variant: 'treatment',
            baseline: 'control',
            difference: null,
            t_statistic: null,
            degrees_of_freedom: null,
            p_value: null,
            adjusted_p_value: null,
            effect_size: null,
            confidence_interval: null,
            always_valid_interval: null,
            decided: false,
          },
        ],
        sample_ratio: null,
        warnings: [
          "No device of variant 'control' has reported 'loss': at least 2 are needed to compare it.",
          "No device of variant 'treatment' has reported 'loss': at least 2 are needed to compare it.",
        ],
      },
    })
  })

  it('find no variation, and no significance, in equal values whose sums round', async () => {
    const { variants, observe, analytics } = await openRunning(10)
    const all = (names: string[], accuracy: number) => names.map((device_id) => ({ device_id, metrics: { accuracy } }))
    await observe({ observations: [...all(variants.control!, 0.58), ...all(variants.treatment!, 0.58)] })
    const found = await analytics()
    expect(found.p_value).toBeNull()
    expect(found.variants.map(({ metrics }) => metrics.accuracy!.mean)).toEqual([0.58, 0.58])
    expect(found.warnings.join()).toContain('there is no variation to test against')
  })

  it('weigh devices equally, however often they report', async () => {
    const { variants, observe, analytics } = await openRunning(2)
    const [quiet, talkative] = variants.control as [string, string]
    await observe({ device_id: quiet, metrics: { accuracy: 0.5 } })
    for (const accuracy of [0.8, 0.9, 1]) await observe({ device_id: talkative, metrics: { accuracy } })
    await observe({
      observations: [0.8, 0.9, 1].map((accuracy) => ({ device_id: talkative, metrics: { accuracy } })),
    })
    const [control] = (await analytics()).variants
    expect(control).toMatchObject({ sample_size: 2, accuracy: expect.closeTo(0.7, 12) })
    expect(control?.metrics).toEqual({
      accuracy: {
        devices: 2,
        observations: 7,
        mean: expect.closeTo(0.7, 12),
        std_dev: expect.closeTo(Math.SQRT2 / 5, 12),
      },
    })
  })

  it('stay correct far from zero, where sums of squares would cancel, and at the limits of the accepted range', async () => {
    const { variants, observe, analytics } = await openRunning(8)
    const shifted = (values: readonly number[], devices: readonly string[]) =>
      values.slice(0, 8).map((value, n) => ({ device_id: devices[n]!, metrics: { accuracy: 1e9 + value } }))
    await observe({
      observations: [...shifted(CONTROL, variants.control!), ...shifted(TREATMENT, variants.treatment!)],
    })
    const far = await analytics()
    // The p-value before the shift, which costs doubles the digits after these.
    expect(far.p_value).toBeCloseTo(0.2369364622, 6)
    for (const extreme of [3.4e38, -3.4e38, 1e-300, -5e-324, 0]) {
      const response = await observe({ device_id: variants.control![0], metrics: { extreme } })
      expect([extreme, response.status]).toEqual([extreme, 200])
      expect(await observe({ device_id: variants.control![1], metrics: { extreme: -extreme } })).toMatchObject({
        status: 200,
      })
    }
    expect((await analytics()).variants[0]?.metrics.extreme).toMatchObject({ devices: 2, observations: 10 })
  })
})

describe('an observation', () => {
  it('is accepted from devices that take part; others are skipped in a batch, and are errors on their own', async () => {
    const { id, world, org, send, create, ask, observe, variants } = await openRunning(1)
    await world.register('foreign', { org_id: 'umbrella' })
    const [busy] = variants.control as [string]
    const rival = await create({
      name: 'rival',
      variants: [
        { name: 'a', model_id: 'old', allocation: 0 },
        { name: 'b', model_id: 'old', allocation: 1 },
      ],
      target_groups: [await groupOf(org, send, busy)],
    })
    await ask('POST', `/${rival.id}/start`)
    const overridden = `Its variant is 'control', but experiment ${rival.id} takes precedence and assigns version 1.0.0.`
    const missing = 'It does not exist, or this key has no access to it.'
    const metrics = { accuracy: 0.5 }
    const [free] = variants.treatment as [string]
    expect(
      await observe({ observations: [busy, free, 'ghost', free].map((device_id) => ({ device_id, metrics })) }),
    ).toEqual({
      status: 200,
      body: {
        experiment_id: id,
        accepted: 2,
        skipped: [
          { device_id: busy, reason: overridden },
          { device_id: 'ghost', reason: missing },
        ],
      },
    })
    expect(await observe({ device_id: busy, metrics })).toEqual({
      status: 409,
      body: {
        error: 'conflict',
        message: `Observations of device '${busy}' are not accepted. ${overridden}`,
        status_code: 409,
      },
    })
    expect(await observe({ device_id: 'ghost', metrics })).toMatchObject({
      status: 404,
      body: { message: `Device 'ghost' does not exist, or this key has no access to it.` },
    })
    expect(await ask('POST', `/${rival.id}/observations`, { device_id: free, metrics })).toMatchObject({
      status: 409,
      body: {
        message: `Observations of device '${free}' are not accepted. It is in none of the experiment's target groups.`,
      },
    })
    const { body } = await ask('POST', `/${rival.id}/observations`, { device_id: busy, metrics })
    expect(body).toEqual({ experiment_id: rival.id, accepted: 1, skipped: [] })
  })

  it('is refused until the version of the variant is uploaded', async () => {
    const { send, ask, create, addModel, fleet } = await openExperiments()
    const [device] = await fleet(1)
    const modelId = await addModel('net')
    const { id } = await create({
      name: 'next',
      variants: [
        { name: 'now', model_id: modelId, allocation: 0 },
        { name: 'next', model_id: modelId, version: '2.0.0', allocation: 1 },
      ],
    })
    await ask('POST', `/${id}/start`)
    const observe = () => ask('POST', `/${id}/observations`, { device_id: device!.deviceId, metrics: { accuracy: 1 } })
    const message =
      "Observations of device 'd0' are not accepted. Version 2.0.0 of variant 'next' has not been uploaded yet."
    expect(await observe()).toMatchObject({ status: 409, body: { message } })
    await send('POST', `/models/${modelId}/versions/upload`, formOf('net 2', { version: '2.0.0' }))
    expect(await observe()).toMatchObject({ status: 200, body: { accepted: 1 } })
  })

  it('is accepted only while the experiment runs', async () => {
    const { ask, create, halves, id, observe, analytics } = await openRunning(1)
    const observation = { device_id: 'd0', metrics: { accuracy: 1 } }
    const refused = (status: string) => ({
      status: 409,
      body: {
        error: 'conflict',
        message: `The experiment is ${status}; observations are accepted only while it is running.`,
        status_code: 409,
      },
    })
    const draft: ExperimentBody = await create(halves({ name: 'draft' }))
    expect(await ask('POST', `/${draft.id}/observations`, observation)).toEqual(refused('draft'))
    expect(await observe(observation)).toMatchObject({ status: 200 })
    for (const [event, status] of [
      ['pause', 'paused'],
      ['complete', 'completed'],
    ] as const) {
      await ask('POST', `/${id}/${event}`)
      expect(await observe(observation)).toEqual(refused(status))
    }
    const sizes = (await analytics()).variants.map(({ sample_size }) => sample_size)
    expect(sizes.sort()).toEqual([0, 1])
  })

  it('is refused with invalid fields, and the error names the field', async () => {
    const { observe } = await openRunning(1)
    const one = (metrics: unknown) => ({ device_id: 'd0', metrics })
    const many = (observations: unknown) => ({ observations })
    const either = 'either device_id and metrics, or observations'
    const table: readonly [object, string][] = [
      [{}, either],
      [{ device_id: 'd0' }, either],
      [{ metrics: { accuracy: 1 } }, either],
      [{ ...one({ accuracy: 1 }), ...many([one({ accuracy: 1 })]) }, either],
      [one({}), 'metrics'],
      [one({ accuracy: '1' }), 'accuracy'],
      [one({ '': 1 }), 'metrics'],
      [one({ ['x'.repeat(101)]: 1 }), 'metrics'],
      [{ device_id: '', metrics: { accuracy: 1 } }, 'device_id'],
      [many([]), 'observations'],
      [many([{ device_id: 'd0' }]), 'metrics'],
      [many(Array.from({ length: 1001 }, () => one({ accuracy: 1 }))), 'observations'],
    ]
    for (const [body, field] of table) {
      expect([field, await observe(body)]).toEqual([
        field,
        {
          status: 400,
          body: { error: 'bad_request', message: expect.stringContaining(field), status_code: 400 },
        },
      ])
    }
  })

  it('ignores numbers that are null or out of range, with a warning', async () => {
    const { world, key, id, variants, analytics } = await openRunning(1)
    const [device] = variants.control!
    const response = await world.request('POST', `/api/v1/experiments/${id}/observations`, {
      key,
      body: { device_id: device, metrics: { accuracy: 0.5, loss: 1e39, other: null } },
    })
    expect([response.status, response.body, response.headers.get('x-service-warning')]).toEqual([
      200,
      { experiment_id: id, accepted: 1, skipped: [] },
      "metrics: 'loss' became null; numbers from -3.4e38 to 3.4e38 are kept",
    ])
    expect((await analytics()).variants[0]!.metrics).toEqual({
      accuracy: { devices: 1, observations: 1, mean: 0.5, std_dev: null },
    })
  })

  it('may come in a batch of 1000', async () => {
    const { observe, variants, analytics } = await openRunning(3)
    const names = [...variants.control!, ...variants.treatment!]
    const observations = Array.from({ length: 1000 }, (_, n) => ({
      device_id: names[n % names.length]!,
      metrics: { accuracy: n / 1000 },
    }))
    expect(await observe({ observations })).toMatchObject({ status: 200, body: { accepted: 1000, skipped: [] } })
    const counts = (await analytics()).variants.map(({ metrics }) => metrics.accuracy?.observations ?? 0)
    expect(counts[0]! + counts[1]!).toBe(1000)
  })

  describe.each(['embedded', 'postgres'] as const)('of the same devices made concurrently (%s)', (database) => {
    it.skipIf(database === 'postgres' && !hasPostgres())('is never lost', async () => {
      const { observe, variants, analytics } = await openRunning(3, startExperimentService({ database }))
      const names = [...variants.control!, ...variants.treatment!]
      const responses = await Promise.all(
        Array.from({ length: 24 }, (_, n) => {
          const turned = [...names.slice(n % 6), ...names.slice(0, n % 6)]
          return observe({
            observations: turned.map((device_id) => ({ device_id, metrics: { accuracy: n, loss: -n } })),
          })
        }),
      )
      expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]))
      for (const { metrics, sample_size } of (await analytics()).variants) {
        const devices = sample_size
        const all = { devices, observations: 24 * devices, std_dev: devices < 2 ? null : expect.closeTo(0, 9) }
        expect(metrics).toEqual({
          accuracy: { ...all, mean: expect.closeTo(11.5, 9) },
          loss: { ...all, mean: expect.closeTo(-11.5, 9) },
        })
      }
    })
  })
})

describe('a report of a device', () => {
  it('is an observation if the device runs its variant and sends metrics', async () => {
    const { id, send, ask, variants, analytics, world, key } = await openRunning(2)
    const [first, second] = variants.control as [string, string]
    const [other] = variants.treatment as [string]
    const report = async (deviceId: string, body: object) =>
      (await send('POST', `/devices/${deviceId}/assignments/${id}/report`, { version: '1.0.0', ...body })).body
    await report(first, { state: 'downloading', metrics: { accuracy: 9 } })
    await report(first, { state: 'active' })
    expect(await report(first, { state: 'active', metrics: { accuracy: 0.5, latency_ms: 3 } })).toMatchObject({
      current: true,
    })
    await report(first, { state: 'active', metrics: { accuracy: 0.7, loss: null } })
    await report(second, { state: 'active', metrics: { accuracy: 0.8 } })
    expect(await report(second, { version: '9.0.0', state: 'active', metrics: { accuracy: 9 } })).toMatchObject({
      current: false,
    })
    await report(other, { state: 'failed', reason: 'no space', metrics: { accuracy: 9 } })
    const long = randomBytes(3000).toString('hex')
    const path = `/api/v1/devices/${first}/assignments/${id}/report`
    const metrics = { [long]: 1, '': 1, 'two\nlines': 1, ['x'.repeat(101)]: 1 }
    const invalid = await world.request('POST', path, { key, body: { version: '1.0.0', state: 'active', metrics } })
    expect(invalid.status).toBe(200)
    expect(invalid.headers.get('x-service-warning')).toMatch(
      /left out; a name has 1 to 100 characters and no line break$/,
    )
    const metric = (devices: number, observations: number, mean: number) => ({
      devices,
      observations,
      mean: expect.closeTo(mean, 12),
      std_dev: expect.toSatisfy((value) => value === null || value > 0),
    })
    const expected = [
      {
        name: 'control',
        sample_size: 2,
        failed_devices: 0,
        metrics: { accuracy: metric(2, 3, 0.7), latency_ms: metric(1, 1, 3) },
      },
      { name: 'treatment', sample_size: 0, failed_devices: 1, metrics: {} },
    ]
    const found = await analytics()
    expect(found.variants).toMatchObject(expected)
    expect(found.warnings[0]).toBe(
      "Variant 'treatment' failed on 1 device, which its figures leave out (one of them: no space).",
    )
    await ask('POST', `/${id}/pause`)
    await report(second, { state: 'active', metrics: { accuracy: 9 } })
    expect((await analytics()).variants).toMatchObject(expected)
  })
})

describe('the update of a round', () => {
  it('is an observation if the round distributes exactly the version that the experiment gives the device', async () => {
    const { org, send, ask, create, fleet } = await openExperiments()
    const devices = await fleet(5)
    const { body } = await send('POST', '/models', { name: 'net' })
    const { id: modelId } = body as { id: string }
    const floats = (...values: number[]) => new Uint8Array(new Float32Array(values).buffer)
    for (const values of [floats(1, 2), floats(3, 4)]) {
      await send('POST', `/models/${modelId}/versions/upload`, formOf(values))
    }
    const startGiving = async (version: string, ...deviceIds: string[]): Promise<string> => {
      const { id } = await create({
        name: `version ${version}`,
        variants: [
          { name: 'given', model_id: modelId, version, allocation: 1 },
          { name: 'nobody', model_id: modelId, version, allocation: 0 },
        ],
        target_groups: [await groupOf(org, send, ...deviceIds)],
      })
      await ask('POST', `/${id}/start`)
      return id
    }
    const first = await startGiving('1', 'd3')
    const second = await startGiving('2', 'd0', 'd1', 'd2')
    const started = await send('POST', '/training/rounds/start', {
      target_devices: 6,
      min_devices: 5,
      global_model_id: modelId,
    })
    const round = (started.body as { id: string }).id
    const reports = [
      { local_accuracy: 0.5, local_loss: 2 },
      { local_accuracy: 0.7 },
      {},
      { local_accuracy: 0.1, local_loss: 9 },
      { local_accuracy: 0.1, local_loss: 9 },
    ]
    for (const [n, device] of devices.entries()) {
      const submit = () =>
        send(
          'POST',
          `/training/rounds/${round}/updates`,
          formOf(floats(n, n), { num_samples: 1, ...reports[n] }),
          device.key,
        )
      expect((await submit()).status).toBe(201)
      expect((await submit()).status).toBe(409)
    }
    const variantsOf = async (id: string) => ((await ask('GET', `/${id}/analytics`)).body as AnalyticsBody).variants
    const nobody = {
      name: 'nobody',
      sample_size: 0,
      failed_devices: 0,
      accuracy: null,
      loss: null,
      allocation: 0,
      metrics: {},
    }
    expect(await variantsOf(first)).toEqual([{ ...nobody, name: 'given', allocation: 1 }, nobody])
    expect(await variantsOf(second)).toEqual([
      {
        name: 'given',
        sample_size: 2,
        failed_devices: 0,
        accuracy: expect.closeTo(0.6, 12),
        loss: 2,
        allocation: 1,
        metrics: {
          accuracy: {
            devices: 2,
            observations: 2,
            mean: expect.closeTo(0.6, 12),
            std_dev: expect.closeTo(Math.SQRT2 / 10, 12),
          },
          loss: { devices: 1, observations: 1, mean: 2, std_dev: null },
        },
      },
      nobody,
    ])
  })
})

const groupOf = async (
  org_id: string,
  send: Awaited<ReturnType<typeof startExperimentService>>['send'],
  ...device_ids: readonly string[]
): Promise<string> => {
  const { body } = await send('POST', '/device-groups', { org_id, name: `with ${device_ids}` })
  const { id } = body as { id: string }
  await send('POST', `/device-groups/${id}/devices`, { device_ids })
  return id
}
