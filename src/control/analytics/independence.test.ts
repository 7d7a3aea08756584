import { sql } from 'kysely'
import { beforeAll, expect, it } from 'vitest'
import { startWorld, type World } from '../../../test/world.ts'
import { near, openClinic } from './clinic.fixture.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})

/** Tests a fleet with this many devices for each cell of a table, which report their row and column. */
const openSurvey = async (table: readonly (readonly number[])[], variable = 'federation_member') => {
  const { acme, beta, add, ask } = await openClinic(world)
  const { sql: db } = world.database!
  for (const [row, counts] of table.entries()) {
    for (const [column, count] of counts.entries()) {
      if (count === 0) continue
      // Registers the first device of a cell; the others are copies with other names.
      const first = await add({ org_id: [acme, beta][row], capabilities: { party: column } })
      await sql`insert into devices (id, device_id, org_id, platform, capabilities, status, metrics, last_heartbeat,
          created_at, updated_at)
        select gen_random_uuid(), device_id || '-' || n, org_id, platform, capabilities, status, metrics, last_heartbeat,
          created_at, updated_at
        from devices, generate_series(2, ${count}::int) n where device_id = ${first}`.execute(db)
    }
  }
  return (await ask('chi-square', { variable_1: variable, variable_2: 'capabilities.party' })).body
}

it('a chi-square test of reports from 2,757 devices matches the result of R for its table of party and gender', async () => {
  expect(
    await openSurvey([
      [762, 327, 468],
      [484, 239, 477],
    ]),
  ).toMatchObject({
    status: 'completed',
    chi_square_statistic: near(30.0701490958),
    p_value: near(2.95358918321e-7),
    degrees_of_freedom: 2,
    cramers_v: near(0.104435802356),
    significant: true,
    sample_size: 2757,
    warnings: [],
  })
})

it('a chi-square test keeps the digits of a p-value of 1e-108', async () => {
  // If each column is in only one row, the statistic is the number of devices; R: pchisq(500, 3, lower.tail = FALSE).
  expect(
    await openSurvey([
      [100, 150, 0, 0],
      [0, 0, 120, 130],
    ]),
  ).toMatchObject({
    chi_square_statistic: near(500),
    p_value: near(4.77167203191276e-108),
    degrees_of_freedom: 3,
    cramers_v: near(1),
    significant: true,
    sample_size: 500,
    warnings: [],
  })
})

it('a chi-square test leaves out values that few devices report, which its figures would reveal', async () => {
  const of = async (table: number[][]) => openSurvey(table)
  const small = await of([
    [10, 20, 1],
    [20, 10, 2],
  ])
  const { warnings, ...figures } = await of([
    [10, 20],
    [20, 10],
  ])
  expect(small).toMatchObject({ chi_square_statistic: figures.chi_square_statistic, sample_size: 60 })
  expect([warnings, small.warnings]).toEqual([
    [],
    ["One value of 'capabilities.party' left out: fewer than 5 devices of one member report it."],
  ])
  expect(await of([[6], [2]])).toMatchObject({
    chi_square_statistic: null,
    sample_size: 6,
    warnings: [
      "One value of 'federation_member' left out: fewer than 5 devices of one member report it.",
      'No test was run: each variable needs at least two different values.',
    ],
  })
  expect(
    await of([
      [3, 1],
      [1, 3],
    ]),
  ).toMatchObject({ chi_square_statistic: null, sample_size: null })
})

it('a chi-square test warns if few devices are expected in a cell', async () => {
  expect(
    await openSurvey([
      [5, 0],
      [5, 6],
    ]),
  ).toMatchObject({
    chi_square_statistic: near(4.363636363636363),
    p_value: near(0.036713856362704134),
    sample_size: 16,
    warnings: ['The smallest expected count is 1.88: below 5 the p-value is unreliable.'],
  })
})

it('a chi-square test leaves out values that few devices report apart from those of one member', async () => {
  const leftOut = (variable: string, reason: string) =>
    `One value of '${variable}' left out: fewer than 5 devices ${reason}`
  const table = [
    [36, 4],
    [59, 1],
  ]
  expect(await openSurvey(table)).toMatchObject({
    chi_square_statistic: null,
    sample_size: 95,
    warnings: [
      leftOut('capabilities.party', 'of one member report it.'),
      'No test was run: each variable needs at least two different values.',
    ],
  })
  expect(await openSurvey(table, 'status')).toMatchObject({
    sample_size: 95,
    warnings: [leftOut('capabilities.party', 'report it apart from those of one member.'), expect.any(String)],
  })
  // Without any device of the other member, there is nothing to subtract from.
  for (const shown of [
    [[36, 5], [60]],
    [
      [30, 10],
      [50, 10],
    ],
  ]) {
    expect((await openSurvey(shown, 'status')).sample_size).toBe(shown.flat().reduce((sum, count) => sum + count))
  }
})
