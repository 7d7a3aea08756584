import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../../test/world.ts'
import { missing, openFederation, refused, uuid } from '../federations/federation.fixture.ts'
import { near, openClinic, PLANTS, SLEEP, SPRAYS } from './clinic.fixture.ts'

const at = '2026-01-01T00:00:00.000Z'

let world: World
beforeAll(async () => {
  world = await startWorld()
})

// The expected values were computed by R and SciPy from R's datasets.
describe('statistics over reported data', () => {
  it('describe groups of devices', async () => {
    const { id, groupOf, ask } = await openClinic(world)
    const two = await groupOf('two', 'sleep', SLEEP[1])
    const one = await groupOf('one', 'sleep', SLEEP[0])
    const second = {
      group_id: two,
      count: 10,
      mean: near(2.33),
      std_dev: near(2.002248735796829),
      median: 1.75,
      min: -0.1,
      max: 5.5,
      percentiles: { p25: near(0.875), p50: 1.75, p75: near(4.15) },
    }
    const heading = {
      query_id: uuid,
      federation_id: id,
      query_type: 'descriptive',
      variable: 'sleep',
      status: 'completed',
      created_at: at,
    }
    expect(await ask('descriptive', { variable: 'sleep', group_ids: [two] })).toEqual({
      status: 200,
      body: { ...heading, groups: [second], warnings: [] },
    })
    const all = await ask('descriptive', { variable: 'metrics.sleep', include_percentiles: false })
    expect(all.body.groups).toEqual([
      { ...second, percentiles: null },
      expect.objectContaining({ group_id: one, count: 10, mean: near(0.75), percentiles: null }),
    ])
  })

  it('compare two groups by Welch’s t-test', async () => {
    const { id, groupOf, ask } = await openClinic(world)
    const [a, b] = [await groupOf('a', 'sleep', SLEEP[0]), await groupOf('b', 'sleep', SLEEP[1])]
    expect(await ask('t-test', { variable: 'sleep', group_a: a, group_b: 'b' })).toEqual({
      status: 200,
      body: {
        query_id: uuid,
        federation_id: id,
        query_type: 't-test',
        variable: 'sleep',
        status: 'completed',
        created_at: at,
        t_statistic: near(-1.8608134674868526),
        p_value: near(0.07939414018735821),
        degrees_of_freedom: near(17.776473516178495),
        confidence_interval: { lower: near(-3.365483230711683), upper: near(0.205483230711683), level: 0.95 },
        significant: false,
        effect_size: near(-0.8321810813530152),
        groups: [
          { group_id: a, count: 10, mean: near(0.75), std_dev: near(1.7890096577591625) },
          { group_id: b, count: 10, mean: near(2.33), std_dev: near(2.002248735796829) },
        ],
        warnings: [],
      },
    })
    expect(
      (await ask('t-test', { variable: 'sleep', group_a: a, group_b: b, confidence_level: 0.9 })).body,
    ).toMatchObject({ significant: true, confidence_interval: { level: 0.9 } })
  })

  it('compare several groups by analysis of variance and in pairs', async () => {
    const { groupOf, ask } = await openClinic(world)
    const ids: string[] = []
    for (const [name, values] of Object.entries(PLANTS)) ids.push(await groupOf(name, 'weight', values))
    const [ctrl, trt1, trt2] = ids as [string, string, string]
    const { body } = await ask('anova', { variable: 'weight', group_by: 'device_group', group_ids: ids })
    expect(body).toMatchObject({
      f_statistic: near(4.846087862380135),
      p_value: near(0.015909958325622912),
      degrees_of_freedom_between: 2,
      degrees_of_freedom_within: 27,
      significant: true,
      effect_size: near(0.2641482968321116),
      warnings: [],
    })
    expect(body.post_hoc_pairs).toEqual([
      { group_a: ctrl, group_b: trt1, mean_difference: near(0.371), p_value: near(0.3908711442), significant: false },
      { group_a: ctrl, group_b: trt2, mean_difference: near(-0.494), p_value: near(0.1979959913), significant: false },
      {
        group_a: trt1,
        group_b: trt2,
        mean_difference: near(-0.865),
        p_value: near(0.0120064239795),
        significant: true,
      },
    ])
    expect((await ask('anova', { variable: 'weight', post_hoc: false })).body).toMatchObject({
      f_statistic: near(4.846087862380135),
      post_hoc_pairs: [],
    })
  })

  it('keep the digits of tiny p-values', async () => {
    const { groupOf, ask } = await openClinic(world)
    for (const [name, values] of Object.entries(SPRAYS)) await groupOf(name, 'insects', values)
    expect((await ask('anova', { variable: 'insects' })).body).toMatchObject({
      f_statistic: near(34.702282055491715),
      p_value: near(3.182583726145106e-17),
      degrees_of_freedom_between: 5,
      degrees_of_freedom_within: 66,
    })
    const count = (from: number) => Array.from({ length: 10 }, (_, n) => from + n)
    const [few, many] = [await groupOf('few', 'count', count(1)), await groupOf('many', 'count', count(101))]
    expect((await ask('t-test', { variable: 'count', group_a: few, group_b: many })).body).toMatchObject({
      t_statistic: near(-73.8548945875996),
      p_value: near(8.368872570703174e-24),
      degrees_of_freedom: near(18),
    })
  })

  it('keep small differences between large values', async () => {
    const { groupOf, ask } = await openClinic(world)
    // The pattern of NIST's SmLs07, with steps that a double represents exactly: F depends only on the steps.
    const steps = Array.from({ length: 5 }, (_, group) => Array.from({ length: 8 }, (_, n) => (n % 3) + (group % 2)))
    for (const [at, values] of steps.entries()) {
      await groupOf(`small ${at}`, 'small', values)
      await groupOf(
        `large ${at}`,
        'large',
        values.map((value) => 1e15 + value),
      )
    }
    const small = (await ask('anova', { variable: 'small' })).body
    const large = (await ask('anova', { variable: 'large' })).body
    expect(small.f_statistic).toBeGreaterThan(1)
    expect([large.f_statistic, large.p_value]).toEqual([
      near(small.f_statistic as number),
      near(small.p_value as number),
    ])
  })

  it('test whether two variables are independent', async () => {
    const { acme, beta, id, add, ask } = await openClinic(world)
    const table = { gpu: [20, 5], none: [10, 15] } as const
    for (const [accelerator, counts] of Object.entries(table)) {
      for (const [at, platform] of (['android', 'ios'] as const).entries()) {
        const orgs = Array.from({ length: counts[at]! }, (_, n) => (n % 2 === 0 ? acme : beta))
        await Promise.all(orgs.map((org_id) => add({ org_id, platform, capabilities: { accelerator } })))
      }
    }
    expect(await ask('chi-square', { variable_1: 'platform', variable_2: 'capabilities.accelerator' })).toEqual({
      status: 200,
      body: {
        query_id: uuid,
        federation_id: id,
        query_type: 'chi-square',
        variable: 'platform, capabilities.accelerator',
        status: 'completed',
        created_at: at,
        chi_square_statistic: near(25 / 3),
        p_value: near(0.003892417122778637),
        degrees_of_freedom: 1,
        cramers_v: near(Math.sqrt(1 / 6)),
        significant: true,
        sample_size: 50,
        warnings: [],
      },
    })
    expect((await ask('chi-square', { variable_1: 'platform', variable_2: 'status' })).body).toMatchObject({
      chi_square_statistic: null,
      p_value: null,
      sample_size: 50,
      warnings: ['No test was run: each variable needs at least two different values.'],
    })
    expect(
      (
        await ask('chi-square', {
          variable_1: 'platform',
          variable_2: 'federation_member',
          filters: { platform: 'ios' },
        })
      ).body,
    ).toMatchObject({ sample_size: 20, chi_square_statistic: null })
  })

  it('group devices by the member that they belong to', async () => {
    const { acme, beta, add, ask } = await openClinic(world)
    for (const [at, values] of SLEEP.entries()) {
      await Promise.all(values.map((sleep) => add({ org_id: [acme, beta][at] }, { sleep })))
    }
    for (let n = 0; n < 6; n++) await add({ org_id: 'stranger' }, { sleep: 1000 })
    for (let n = 0; n < 6; n++) await add({}, { sleep: 1000 })
    const described = await ask('descriptive', { variable: 'sleep', group_by: 'federation_member' })
    expect(described.body.groups).toEqual([
      expect.objectContaining({ group_id: acme, count: 10, mean: near(0.75) }),
      expect.objectContaining({ group_id: beta, count: 10, mean: near(2.33) }),
    ])
    expect((await ask('t-test', { variable: 'sleep', group_a: acme, group_b: beta })).body).toMatchObject({
      p_value: near(0.07939414018735821),
    })
    expect(
      await ask('descriptive', { variable: 'sleep', group_by: 'federation_member', group_ids: ['stranger'] }),
    ).toMatchObject({
      status: 400,
      body: { message: "group_ids[0]: 'stranger' is not an active member of this federation." },
    })
  })

  it('read capabilities, and prefer metrics to capabilities of the same name', async () => {
    const { acme, add, ask } = await openClinic(world)
    for (let n = 0; n < 5; n++) await add({ org_id: acme, capabilities: { memory_gb: 8, level: 1 } }, { level: 2 })
    for (let n = 0; n < 5; n++) await add({ org_id: acme, capabilities: { memory_gb: 16, level: 1 } })
    const mean = async (variable: string) =>
      ((await ask('descriptive', { variable, group_by: 'federation_member' })).body.groups as { mean: number }[])[0]
        ?.mean
    expect(await mean('capabilities.memory_gb')).toBe(12)
    expect(await mean('memory_gb')).toBe(12)
    expect(await mean('level')).toBe(1.5)
    expect(await mean('metrics.level')).toBe(2)
    expect(await mean('capabilities.level')).toBe(1)
  })

  it('count only what the filters select', async () => {
    const world = await startWorld()
    const { acme, add, ask } = await openClinic(world)
    for (let n = 0; n < 5; n++) await add({ org_id: acme, platform: 'ios' }, { load: 1 })
    await world.advance(3600)
    for (let n = 0; n < 5; n++) await add({ org_id: acme, platform: 'android' }, { load: 3 })
    const described = async (filters: object) =>
      (await ask('descriptive', { variable: 'load', group_by: 'federation_member', group_ids: [acme], filters })).body
    const mean = async (filters: object) => ((await described(filters)).groups as { mean: number }[])[0]?.mean
    expect(await mean({})).toBe(2)
    expect(await mean({ platform: 'ios' })).toBe(1)
    expect(await mean({ platform: ['ios', 'android'] })).toBe(2)
    expect(await mean({ platform: 'linux' })).toBe(undefined)
    expect(await mean({ start_time: '2026-01-01T00:30:00Z' })).toBe(3)
    expect(await mean({ end_time: '2026-01-01T00:00:00Z' })).toBe(1)
    expect(await mean({ time_range: { start: at, end: '2026-01-01T00:30:00Z' } })).toBe(1)
    expect(await mean({ min_sample_count: 10 })).toBe(2)
    expect(await mean({ min_sample_count: 11 })).toBe(undefined)
    expect((await described({ color: 'red' })).warnings).toEqual(["The filter 'color' is not known: it was ignored."])
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`${n}-${'x'.repeat(200)}`, 1]))
    const [warning, ...rest] = (await described(many)).warnings as string[]
    expect(rest).toEqual([])
    expect(warning).toMatch(/^The filters '0-x+', ('\d-x+',? ){9}and others are not known: they were ignored\.$/)
    expect(warning!.length).toBeLessThan(1200)
    expect(await described({ start_time: '2026-01-02T00:00:00Z', end_time: at })).toMatchObject({
      error: 'bad_request',
    })
  })

  it('withhold groups that are too small to hide a device, and continue without them', async () => {
    const { groupOf, ask } = await openClinic(world)
    const big = await groupOf('big', 'x', [1, 2, 3, 4, 5])
    const other = await groupOf('other', 'x', [2, 3, 4, 5, 7])
    const small = await groupOf('small', 'x', [1, 2, 3, 4])
    const withheld = `Group '${small}' is withheld: fewer than 5 devices report 'x'.`
    const described = await ask('descriptive', { variable: 'x' })
    expect(described.body).toMatchObject({ groups: [{ group_id: big }, { group_id: other }], warnings: [withheld] })
    expect(JSON.stringify(described.body.groups)).not.toContain(small)
    expect((await ask('t-test', { variable: 'x', group_a: big, group_b: small })).body).toMatchObject({
      t_statistic: null,
      p_value: null,
      degrees_of_freedom: null,
      confidence_interval: null,
      significant: false,
      effect_size: null,
      groups: [{ group_id: big }],
      warnings: [withheld],
    })
    const anova = await ask('anova', { variable: 'x' })
    expect(anova.body).toMatchObject({
      degrees_of_freedom_between: 1,
      degrees_of_freedom_within: 8,
      warnings: [withheld],
    })
    expect((await ask('anova', { variable: 'x', group_ids: [big, small] })).body).toMatchObject({
      f_statistic: null,
      post_hoc_pairs: [],
      warnings: [withheld, 'No test was run: it needs at least two groups.'],
    })
    expect((await ask('chi-square', { variable_1: 'x', variable_2: 'nothing' })).body).toMatchObject({
      chi_square_statistic: null,
      sample_size: null,
      warnings: ['Withheld: fewer than 5 devices report both variables.'],
    })
  })

  it('withhold a group that would reveal the few other devices of a larger one', async () => {
    const { acme, add, group, ask } = await openClinic(world)
    const ids: string[] = []
    for (const x of [1, 2, 3, 4, 5, 6, 7, 90]) ids.push(await add({ org_id: acme }, { x }))
    const all = await group('all', acme, ids)
    const most = await group('most', acme, ids.slice(0, 7))
    const withheld = `Group '${most}' is withheld: its figures minus those of other groups could depend on fewer than 5 devices.`
    const described = await ask('descriptive', { variable: 'x' })
    expect(described.body).toMatchObject({ groups: [{ group_id: all, count: 8 }], warnings: [withheld] })
    expect((await ask('t-test', { variable: 'x', group_a: most, group_b: all })).body).toMatchObject({
      t_statistic: null,
      groups: [{ group_id: all }],
      warnings: [
        'Some devices are in more than one of the groups; the test assumes that groups are independent.',
        withheld,
      ],
    })
    expect((await ask('descriptive', { variable: 'x', group_ids: [most] })).body).toMatchObject({
      groups: [{ group_id: most, count: 7 }],
      warnings: [],
    })
  })

  it('never let the value of one device be computed from overlapping groups', async () => {
    const { beta, add, group, ask } = await openClinic(world)
    const ids: string[] = []
    for (let n = 1; n <= 13; n++) ids.push(await add({ org_id: beta }, n <= 11 ? { x: n, y: n } : { y: n }))
    const groupOf = (name: string, ...numbers: number[]) =>
      group(
        name,
        beta,
        numbers.map((n) => ids[n - 1]!),
      )
    const whole = await groupOf('whole', 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
    const first = await groupOf('first', 1, 2, 3, 4, 5)
    const second = await groupOf('second', 6, 7, 8, 9, 10)
    const trial = await groupOf('trial', 11, 1, 2, 6, 7)
    const shown = async (kind: string, variable: string, groupIds: readonly string[]) => {
      const { groups, warnings } = (await ask(kind, { variable, group_ids: groupIds })).body as {
        groups: { group_id: string }[]
        warnings: string[]
      }
      expect(warnings).toEqual(
        expect.arrayContaining(Array(groupIds.length - groups.length).fill(expect.stringContaining('is withheld'))),
      )
      return groups.map(({ group_id }) => group_id)
    }
    // The whole minus both parts would be device 11.
    const nested = [whole, first, second, trial]
    for (const kind of ['descriptive', 'anova']) {
      const found = await shown(kind, 'x', nested)
      expect(found).toContain(whole)
      expect(found).toHaveLength(2)
    }
    // Both boards minus both regions would be device 13, which is in no region.
    const crossed = [
      await groupOf('east', 1, 2, 3, 4, 5, 6),
      await groupOf('west', 7, 8, 9, 10, 11, 12),
      await groupOf('old board', 1, 2, 3, 7, 8, 9),
      await groupOf('new board', 4, 5, 6, 10, 11, 12, 13),
    ]
    expect(await shown('descriptive', 'y', crossed)).toHaveLength(2)
  })

  it('stay finite at the limits of what devices may report, even for groups that are extremely far apart', async () => {
    const { groupOf, ask } = await openClinic(world)
    const near = await groupOf('near', 'x', [1e-38, 2e-38, 1.5e-38, 0, 1e-38, 1e200])
    const far = await groupOf('far', 'x', [3.4e38, 3.4e38, 3.4e38, 3.4e38, 3.4e38])
    const wide = await groupOf('wide', 'x', [-3.4e38, 3.4e38, -3.4e38, 3.4e38, 0])
    // Ignores values that were stored before numbers had a range.
    await sql`update devices set metrics = '{"x": 1e200}' where metrics = '{"x": null}'`.execute(world.database!.sql)
    const described = await ask('descriptive', { variable: 'x' })
    expect(described).toMatchObject({ status: 200, body: { warnings: [expect.stringContaining("report 'x' as")] } })
    expect(JSON.stringify(described.body.groups)).not.toContain('null')
    for (const [group_a, group_b] of [
      [near, far],
      [near, wide],
      [far, wide],
    ]) {
      const test = await ask('t-test', { variable: 'x', group_a, group_b })
      expect(test).toMatchObject({
        status: 200,
        body: { p_value: expect.any(Number), effect_size: expect.any(Number) },
      })
    }
    // These two are so many standard errors apart that the computation once never ended.
    const anova = await ask('anova', { variable: 'x', group_ids: [near, far] })
    expect(anova).toMatchObject({ status: 200, body: { significant: true, post_hoc_pairs: [{ p_value: 0 }] } })
  })

  it('warn if nothing varies, if values are not numbers, and if groups share devices', async () => {
    const { acme, add, group, groupOf, ask } = await openClinic(world)
    const [a, b] = [await groupOf('a', 'x', [1, 1, 1, 1, 1, 'warm']), await groupOf('b', 'x', [1, 1, 1, 1, 1])]
    expect((await ask('t-test', { variable: 'x', group_a: a, group_b: b })).body).toMatchObject({
      t_statistic: null,
      warnings: [
        "Some devices report 'x' as something other than a number.",
        'No test was run: the values within the groups do not vary.',
      ],
    })
    const ids: string[] = []
    for (const y of [1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1]) ids.push(await add({ org_id: acme }, { y }))
    const [low, high] = [await group('low', acme, ids.slice(0, 7)), await group('high', acme, ids.slice(5))]
    const overlapping = await ask('t-test', { variable: 'y', group_a: low, group_b: high })
    expect(overlapping.body).toMatchObject({
      warnings: ['Some devices are in more than one of the groups; the test assumes that groups are independent.'],
    })
    expect(overlapping.body.p_value).toBeGreaterThan(0.01)
  })

  it('refuse invalid groups and variables', async () => {
    const { acme, beta, groupOf, group, ask } = await openClinic(world)
    const a = await groupOf('a', 'x', [1, 2, 3, 4, 5])
    await group('same', acme, [])
    await group('same', beta, [])
    await group('foreign', 'stranger', [])
    const message = async (kind: string, body: object) => {
      const response = await ask(kind, body)
      expect(response.status).toBe(400)
      return response.body.message
    }
    const test = { variable: 'x', group_a: a }
    expect(await message('t-test', { ...test, group_b: a })).toBe('group_a and group_b are the same group.')
    expect(await message('t-test', { ...test, group_b: 'same' })).toBe(
      "group_b: several members have a device group 'same'. Use its id.",
    )
    expect(await message('t-test', { ...test, group_b: 'foreign' })).toBe(
      "group_b: device group 'foreign' does not exist among those of the members.",
    )
    expect(await message('t-test', { ...test, group_a: 'foreign', group_b: 'same' })).toMatch(/^group_a: /)
    expect(await message('anova', { variable: 'x', group_ids: [a, 'foreign'] })).toMatch(/^group_ids\[1\]: /)
    expect(await message('t-test', test)).toContain('group_b')
    expect(await message('descriptive', {})).toContain('variable')
    expect(await message('descriptive', { variable: 'x', group_by: 'planet' })).toContain('group_by')
    expect(await message('anova', { variable: 'x', confidence_level: 1 })).toContain('confidence_level')
    expect(await message('descriptive', { variable: 'metrics.' })).toBe("variable must name a key after 'metrics.'.")
  })
})

describe('analytics queries', () => {
  it('with a large request are listed without it, and retrieved with it', async () => {
    const { id, send, groupOf, ask } = await openClinic(world)
    const a = await groupOf('a', 'x', [1, 2, 3, 4, 5])
    const request = { variable: 'x', group_ids: [a], remark: 'y'.repeat(10_000) }
    const { query_id } = (await ask('descriptive', request)).body
    expect(await send('GET', `/federations/${id}/analytics/queries`)).toMatchObject({
      body: { queries: [{ id: query_id, variable: 'x', request: {}, omitted: ['request'] }] },
    })
    const whole = (await send('GET', `/federations/${id}/analytics/queries/${query_id}`)).body
    expect(whole).toMatchObject({ request })
    expect(whole).not.toHaveProperty('omitted')
  })

  it('with a large result are listed without it, and retrieved with it', async () => {
    const { acme, id, send, group, ask } = await openClinic(world)
    for (let n = 0; n < 30; n++) await group(`group ${n}`, acme, [])
    const { query_id, groups, warnings } = (await ask('descriptive', { variable: 'x'.repeat(200) })).body
    expect(warnings).toHaveLength(30)
    expect(await send('GET', `/federations/${id}/analytics/queries`)).toMatchObject({
      body: { queries: [{ id: query_id, result: {}, omitted: ['result'] }] },
    })
    const whole = (await send('GET', `/federations/${id}/analytics/queries/${query_id}`)).body
    expect(whole).toMatchObject({ result: { groups, warnings } })
    expect(whole).not.toHaveProperty('omitted')
  })

  it('are recorded, including failed ones, listed newest first, and retrieved', async () => {
    const { id, send, groupOf, ask } = await openClinic(world)
    const a = await groupOf('a', 'x', [1, 2, 3, 4, 5])
    const described = await ask('descriptive', { variable: 'x' })
    expect((await ask('t-test', { variable: 'x', group_a: a, group_b: 'ghost' })).status).toBe(400)
    const failed = {
      id: uuid,
      federation_id: id,
      org_id: null,
      query_type: 't-test',
      variable: 'x',
      request: { variable: 'x', group_a: a, group_b: 'ghost' },
      status: 'failed',
      result: null,
      reason: "group_b: device group 'ghost' does not exist among those of the members.",
      created_at: at,
    }
    const { query_id, groups, warnings } = described.body
    const completed = {
      ...failed,
      id: query_id,
      query_type: 'descriptive',
      request: { variable: 'x' },
      status: 'completed',
      result: { groups, warnings },
      reason: null,
    }
    expect(await send('GET', `/federations/${id}/analytics/queries`)).toEqual({
      status: 200,
      body: { queries: [failed, completed], total: 2, limit: 20, offset: 0 },
    })
    expect(await send('GET', `/federations/${id}/analytics/queries?limit=1&offset=1`)).toEqual({
      status: 200,
      body: { queries: [completed], total: 2, limit: 1, offset: 1 },
    })
    expect(await send('GET', `/federations/${id}/analytics/queries/${query_id}`)).toEqual({
      status: 200,
      body: completed,
    })
    for (const unknown of ['nothing', id]) {
      expect(await send('GET', `/federations/${id}/analytics/queries/${unknown}`)).toEqual(
        missing('Query', unknown, "of federation 'clinic'"),
      )
    }
  })

  it('are for active members, who see aggregates of all members but no devices of others', async () => {
    const { admin, send, keyOf, found } = await openFederation()
    const id = await found(['beta'])
    const [acme, beta, gamma] = [await keyOf('acme'), await keyOf('beta'), await keyOf('gamma')]
    for (let n = 0; n < 5; n++) {
      await send(admin, 'POST', '/devices/register', { device_id: `d${n}`, org_id: 'acme' })
      await send(acme, 'PUT', `/devices/d${n}/heartbeat`, { metrics: { x: n } })
    }
    const path = `/federations/${id}/analytics`
    const body = { variable: 'x', group_by: 'federation_member', group_ids: ['acme'] }
    const requested = await send(beta, 'POST', `${path}/descriptive`, body)
    expect(requested).toMatchObject({ status: 200, body: { groups: [{ group_id: 'acme', count: 5, mean: 2 }] } })
    expect((await send(beta, 'GET', '/devices/d1')).status).toBe(404)
    expect(await send(acme, 'GET', `${path}/queries`)).toMatchObject({
      body: { queries: [{ id: requested.body.query_id, org_id: 'beta' }] },
    })
    expect(await send(gamma, 'POST', `${path}/descriptive`, body)).toEqual(missing('Federation', id))
    expect(await send(gamma, 'POST', `${path}/t-test`, {})).toEqual(missing('Federation', id))
    expect(await send(gamma, 'GET', `${path}/queries`)).toEqual(missing('Federation', id))
    await send(acme, 'POST', `/federations/${id}/invite`, { org_ids: ['gamma'] })
    expect(await send(gamma, 'POST', `${path}/descriptive`, body)).toEqual(
      refused(
        "'gamma' is invited to federation 'league' but has not joined. Join it first: " +
          `POST /api/v1/federations/${id}/join.`,
      ),
    )
    expect((await send(await keyOf('acme', ['models:read']), 'POST', `${path}/descriptive`, body)).status).toBe(403)
  })
})
