import { describe, expect, it } from 'vitest'
import { boundOrganizations } from '../../../../test/organizations.ts'
import { isEstimateDue } from '../../../domain/experiment.ts'
import { experimentsOf } from './experiments.fixture.ts'

interface EstimatesBody {
  readonly points: readonly {
    readonly at: string
    readonly variants: readonly { devices: number; mean: number | null; lower: number | null; upper: number | null }[]
    readonly comparisons: readonly { difference: number | null; lower: number | null; upper: number | null }[]
  }[]
}

const openOrganization = boundOrganizations()

/** Starts an experiment on at least so many devices of each variant. */
const openRunning = async (enough: number) => {
  const service = experimentsOf(await openOrganization())
  const { id } = await service.createHalves()
  await service.ask('POST', `/${id}/start`)
  const variants = await service.fill(id, enough)
  const observe = (deviceId: string, accuracy: number) =>
    service.ask('POST', `/${id}/observations`, { device_id: deviceId, metrics: { accuracy, loss: 7 } })
  const estimates = async (query = '') =>
    (await service.ask('GET', `/${id}/estimates${query}`)).body as unknown as EstimatesBody
  return { ...service, id, variants, observe, estimates }
}

describe('the estimates of an experiment over time', () => {
  it('are stored while it runs, with the intervals of each variant and of the difference', async () => {
    const { id, world, variants, observe, estimates, ask } = await openRunning(3)
    expect(await estimates()).toEqual({
      experiment_id: id,
      primary_metric: 'accuracy',
      confidence_level: 0.95,
      points: [],
    })
    const { control, treatment } = variants
    await observe(control![0]!, 1)
    await world.service.runDueTasks()
    const first = world.now().toISOString()
    await world.advance(30)
    for (const [n, accuracy] of [1, 2, 3].entries()) {
      if (n > 0) await observe(control![n]!, accuracy)
      await observe(treatment![n]!, accuracy + 1)
    }
    const { points } = await estimates()
    expect(points.map(({ at }) => at)).toEqual([first, world.now().toISOString()])
    expect(points[0]!.variants).toEqual([
      { name: 'control', devices: 1, mean: 1, lower: null, upper: null },
      { name: 'treatment', devices: 0, mean: null, lower: null, upper: null },
    ])
    // For 1, 2, 3: the standard error is 1/sqrt(3), and t with two degrees of freedom at 0.975 is 4.302653.
    expect(points[1]!.variants).toEqual([
      { name: 'control', devices: 3, mean: 2, lower: expect.closeTo(-0.484138, 6), upper: expect.closeTo(4.484138, 6) },
      {
        name: 'treatment',
        devices: 3,
        mean: 3,
        lower: expect.closeTo(0.515862, 6),
        upper: expect.closeTo(5.484138, 6),
      },
    ])
    const { body } = await ask('GET', `/${id}/analytics`)
    const [compared] = (body as { comparisons: { always_valid_interval: { lower: number; upper: number } }[] })
      .comparisons
    expect(points[1]!.comparisons).toEqual([
      {
        variant: 'treatment',
        difference: 1,
        lower: compared!.always_valid_interval.lower,
        upper: compared!.always_valid_interval.upper,
      },
    ])
  })

  it('have no interval if all devices of a variant measured the same value', async () => {
    const { variants, observe, estimates } = await openRunning(3)
    for (const [name, accuracy] of [
      ['control', 1],
      ['treatment', 2],
    ] as const)
      for (const device of variants[name]!.slice(0, 3)) await observe(device, accuracy)
    const { points } = await estimates()
    expect(points.at(-1)).toMatchObject({
      variants: [
        { devices: 3, mean: 1, lower: null, upper: null },
        { devices: 3, mean: 2, lower: null, upper: null },
      ],
      comparisons: [{ difference: 1, lower: null, upper: null }],
    })
  })

  it('have no point without new measurements, end with the experiment, and are thinned evenly', async () => {
    const { id, world, variants, observe, estimates, ask } = await openRunning(2)
    for (const value of [1, 2, 3, 4, 5]) {
      await observe(variants.control![value % 2]!, value)
      await world.service.runDueTasks()
      await world.advance(30)
      await world.service.runDueTasks()
    }
    const ended = world.now().toISOString()
    await ask('POST', `/${id}/complete`)
    await world.advance(3600)
    const { points } = await estimates()
    expect(points).toHaveLength(6)
    expect(points.at(-1)!.at).toBe(ended)
    expect((await estimates('?limit=3')).points).toHaveLength(2)
    expect((await ask('GET', `/${id}/estimates?limit=1`)).status).toBe(400)
  })
})

it('a curve gets a point every ten seconds at first, and later whenever its age grows by one percent', () => {
  const at = (seconds: number) => new Date(seconds * 1000)
  expect(isEstimateDue(at(0), null, at(0))).toBe(true)
  expect(isEstimateDue(at(0), at(100), at(109))).toBe(false)
  expect(isEstimateDue(at(0), at(100), at(110))).toBe(true)
  expect(isEstimateDue(at(0), at(100_000), at(100_999))).toBe(false)
  expect(isEstimateDue(at(0), at(100_000), at(101_000))).toBe(true)
})
