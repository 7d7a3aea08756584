import { describe, expect, it } from 'vitest'
import { type AssignedDevice, assignmentsOf, indexAssignments, shareAt, tagOfAll } from './assignment.ts'
import { bucketOf } from './bucket.ts'
import {
  type DeploymentPlan,
  type ExperimentPlan,
  type Offer,
  type Plan,
  type RolloutPlan,
  type Target,
  targetKey,
} from './delivery-plan.ts'

const M = 'a0000000-0000-4000-8000-000000000001'
const N = 'a0000000-0000-4000-8000-000000000002'

const at = (version: string, modelId = M): Target => ({ modelId, modelName: null, version })
const offerOf = (target: Target): Offer => ({
  modelId: target.modelId,
  modelName: 'm',
  version: target.version,
  versionNumber: Number.parseInt(target.version, 10),
  format: 'onnx',
  size: 10,
  sha256: 'ab'.repeat(32),
})
const UPLOADED = ['1.0.0', '2.0.0', '3.0.0', '4.0.0'].flatMap((version) => [at(version), at(version, N)])
const offers = new Map(UPLOADED.map((target) => [targetKey(target), offerOf(target)]))

const rollout = (
  id: string,
  startedRevision: number,
  version: string,
  more: Partial<RolloutPlan> = {},
): RolloutPlan => ({
  id,
  kind: 'rollout',
  orgId: null,
  startedRevision,
  settled: false,
  target: at(version),
  percentage: 100,
  groupId: null,
  ...more,
})
const deployment = (
  id: string,
  startedRevision: number,
  version: string,
  more: Partial<DeploymentPlan> = {},
): DeploymentPlan => ({
  id,
  kind: 'deployment',
  orgId: null,
  startedRevision,
  settled: false,
  target: at(version),
  deviceIds: new Set(['uuid-phone']),
  activate: true,
  ...more,
})
const experiment = (id: string, startedRevision: number, more: Partial<ExperimentPlan> = {}): ExperimentPlan => ({
  id,
  kind: 'experiment',
  orgId: null,
  startedRevision,
  settled: false,
  groupIds: null,
  variants: [
    { name: 'control', allocation: 0.5, target: at('1.0.0') },
    { name: 'treatment', allocation: 0.5, target: at('2.0.0') },
  ],
  ...more,
})

const phone: AssignedDevice = { id: 'uuid-phone', deviceId: 'phone', orgId: null }
const groups = new Map([['beta', new Set(['uuid-phone'])]])

const given = (plans: Plan[], device = phone, unboundReachAll = true) =>
  assignmentsOf(indexAssignments({ plans, offers, groups, unboundReachAll }), device).map(
    ({ planId, offer }) => `${planId} ${offer.version}`,
  )

describe('an assignment', () => {
  it('states what to run, and because of which plan', () => {
    const index = indexAssignments({ plans: [rollout('r', 1, '2.0.0')], offers, groups, unboundReachAll: true })
    expect(assignmentsOf(index, phone)).toEqual([
      {
        planId: 'r',
        kind: 'rollout',
        offer: offerOf(at('2.0.0')),
        activate: true,
        variant: null,
        tag: expect.stringMatching(/^[0-9a-f]{16}$/),
      },
    ])
  })

  it('is made for each model independently', () => {
    expect(given([rollout('r', 1, '1.0.0'), rollout('s', 2, '3.0.0', { target: at('3.0.0', N) })])).toEqual([
      'r 1.0.0',
      's 3.0.0',
    ])
  })

  it('is not made for a version that has not been uploaded: the earlier plan stays in effect', () => {
    expect(given([rollout('r', 1, '1.0.0', { settled: true }), rollout('s', 2, '9.0.0')])).toEqual(['r 1.0.0'])
  })

  it('passes on the name of a model in another registry, for the device to resolve', () => {
    const target = { modelId: null, modelName: 'hf:org/model', version: '1.2.0' }
    const index = indexAssignments({
      plans: [deployment('d', 1, '', { target })],
      offers,
      groups,
      unboundReachAll: true,
    })
    expect(assignmentsOf(index, phone).map(({ offer }) => offer)).toEqual([
      { ...target, versionNumber: null, format: null, size: null, sha256: null },
    ])
  })
})

describe('among the plans of a model', () => {
  it.each<[string, Plan[], string[]]>([
    [
      'a running deployment goes before newer experiments and rollouts',
      [deployment('d', 1, '1.0.0'), experiment('e', 2), rollout('r', 3, '3.0.0')],
      ['d 1.0.0'],
    ],
    [
      'a running experiment goes before a newer rollout',
      [experiment('e', 1, { variants: [{ name: 'a', allocation: 1, target: at('2.0.0') }] }), rollout('r', 2, '3.0.0')],
      ['e 2.0.0'],
    ],
    ['the newest running rollout wins', [rollout('r', 2, '2.0.0'), rollout('s', 1, '1.0.0')], ['r 2.0.0']],
    ['the newest running deployment wins', [deployment('c', 1, '1.0.0'), deployment('d', 2, '2.0.0')], ['d 2.0.0']],
    [
      'a deployment that does not name the device gives it nothing',
      [deployment('d', 2, '2.0.0', { deviceIds: new Set(['other']) }), rollout('r', 1, '1.0.0')],
      ['r 1.0.0'],
    ],
    [
      'a rollout at 0% reaches nobody',
      [rollout('r', 2, '2.0.0', { percentage: 0 }), rollout('q', 1, '1.0.0', { settled: true })],
      ['q 1.0.0'],
    ],
    [
      'a settled plan stays in force where no newer one covers the device',
      [rollout('r', 1, '1.0.0', { settled: true }), rollout('s', 2, '2.0.0', { groupId: 'gone' })],
      ['r 1.0.0'],
    ],
    [
      'a settled rollout yields to a newer running one',
      [rollout('r', 1, '1.0.0', { settled: true }), rollout('s', 2, '2.0.0')],
      ['s 2.0.0'],
    ],
    [
      'a settled deployment yields to a newer rollout',
      [deployment('d', 1, '1.0.0', { settled: true }), rollout('r', 2, '2.0.0')],
      ['r 2.0.0'],
    ],
    [
      'a settled plan goes before all older ones: what came to its end does not go back by itself',
      [rollout('r', 1, '1.0.0'), deployment('d', 2, '2.0.0', { settled: true }), experiment('e', 1)],
      ['d 2.0.0'],
    ],
    [
      'a settled rollout yields to a newer running one also where it has replaced an unfinished deployment',
      [deployment('d', 1, '1.0.0'), rollout('r', 2, '2.0.0', { settled: true }), rollout('s', 3, '3.0.0')],
      ['s 3.0.0'],
    ],
    [
      'among the running plans that are newer than the newest settled one, deployments and experiments go first',
      [
        deployment('d', 1, '1.0.0'),
        rollout('r', 2, '2.0.0', { settled: true }),
        experiment('e', 3, { variants: [{ name: 'a', allocation: 1, target: at('4.0.0') }] }),
        rollout('s', 4, '3.0.0'),
      ],
      ['e 4.0.0'],
    ],
    [
      'a running rollout between two settled ones is replaced by the newer one',
      [
        rollout('r', 1, '1.0.0', { settled: true }),
        rollout('s', 2, '2.0.0'),
        rollout('t', 3, '3.0.0', { settled: true }),
      ],
      ['t 3.0.0'],
    ],
    [
      'the newest settled plan that covers the device wins',
      [
        rollout('r', 1, '1.0.0', { settled: true }),
        rollout('s', 2, '2.0.0', { settled: true }),
        rollout('t', 3, '3.0.0', { settled: true, groupId: 'gone' }),
      ],
      ['s 2.0.0'],
    ],
    [
      'without the newest plan, the device gets what it got before',
      [rollout('r', 1, '1.0.0', { settled: true })],
      ['r 1.0.0'],
    ],
    ['no plans, nothing', [], []],
  ])('%s', (_title, plans, expected) => {
    expect(given(plans)).toEqual(expected)
    expect(given([...plans].reverse())).toEqual(expected)
  })

  it("only its own organization's plans reach a device, and under open enrollment also plans without an organization", () => {
    const plans = [rollout('own', 1, '1.0.0', { orgId: 'acme' }), rollout('unbound', 2, '2.0.0')]
    const of = (orgId: string | null, unboundReachAll: boolean) => given(plans, { ...phone, orgId }, unboundReachAll)
    expect([of('acme', true), of('other', true), of(null, true)]).toEqual([
      ['unbound 2.0.0'],
      ['unbound 2.0.0'],
      ['unbound 2.0.0'],
    ])
    expect([of('acme', false), of('other', false), of(null, false)]).toEqual([['own 1.0.0'], [], ['unbound 2.0.0']])
  })
})

describe('a rollout', () => {
  const fleet = Array.from({ length: 2000 }, (_, n) => ({ id: `uuid-${n}`, deviceId: `d${n}`, orgId: null }))
  const inside = (percentage: number) =>
    fleet.filter((device) => given([rollout('r', 1, '1.0.0', { percentage })], device).length > 0)

  it('covers the devices whose bucket is below its percentage, so that those at 1% are also covered at 5%', () => {
    expect(inside(5)).toEqual(fleet.filter(({ deviceId }) => bucketOf(deviceId, 'r') < 5))
    expect(inside(5)).toEqual(expect.arrayContaining(inside(1)))
    expect(inside(100)).toEqual(fleet)
  })

  it('limited to a group covers no other devices', () => {
    const limited = [rollout('r', 1, '1.0.0', { groupId: 'beta' })]
    expect(given(limited)).toEqual(['r 1.0.0'])
    expect(given(limited, { ...phone, id: 'uuid-other' })).toEqual([])
  })
})

describe('an experiment', () => {
  const variants = [
    { name: 'a', allocation: 0.2, target: at('1.0.0') },
    { name: 'b', allocation: 0.3, target: at('2.0.0') },
    { name: 'c', allocation: 0.5, target: at('3.0.0', N) },
  ]

  it('gives each device one variant, by its bucket, in proportion to the allocations', () => {
    const index = indexAssignments({ plans: [experiment('e', 1, { variants })], offers, groups, unboundReachAll: true })
    const shares: Record<string, number> = {}
    for (let n = 0; n < 20_000; n++) {
      for (const { variant } of assignmentsOf(index, { id: `u${n}`, deviceId: `d${n}`, orgId: null })) {
        shares[variant!] = (shares[variant!] ?? 0) + 1
      }
    }
    expect(shares.a! + shares.b! + shares.c!).toBe(20_000)
    // Binomial: standard deviations 57, 65 and 71; the limits are four of them.
    expect(Math.abs(shares.a! - 4000)).toBeLessThan(228)
    expect(Math.abs(shares.b! - 6000)).toBeLessThan(260)
    expect(Math.abs(shares.c! - 10_000)).toBeLessThan(284)
  })

  it('reaches only the devices of its groups', () => {
    const only = [experiment('e', 1, { groupIds: ['beta', 'gone'] })]
    expect(given(only)).toHaveLength(1)
    expect(given(only, { ...phone, id: 'uuid-other' })).toEqual([])
  })

  it("gives a device no assignment if its variant's version does not exist", () => {
    const missing = [{ name: 'a', allocation: 1, target: at('9.0.0') }]
    expect(given([experiment('e', 2, { variants: missing }), rollout('r', 1, '1.0.0')])).toEqual(['r 1.0.0'])
  })
})

describe('the share of a bucket', () => {
  it.each([
    [0, [0.5, 0.5], 0],
    [49.999, [0.5, 0.5], 0],
    [50, [0.5, 0.5], 1],
    [99.99999999999, [1 / 3, 1 / 3, 1 / 3], 2],
    [99.9999999999999, [0.1, 0.2, 0.3, 0.4 - 1e-10], 3],
    [99.9999999999999, [0.5, 0.5 - 1e-10, 0], 1],
    [0, [0, 1], 1],
  ])('%d among %j is number %i', (bucket, allocations, index) => {
    expect(shareAt(bucket, allocations)).toBe(index)
  })
})

describe('the tag', () => {
  const tag = (...plans: Plan[]) =>
    tagOfAll(assignmentsOf(indexAssignments({ plans, offers, groups, unboundReachAll: true }), phone))

  it('is equal for equal assignments, regardless of other plans', () => {
    expect(
      tag(rollout('r', 1, '1.0.0', { percentage: 100 }), deployment('d', 2, '2.0.0', { deviceIds: new Set() })),
    ).toBe(tag(rollout('r', 1, '1.0.0')))
    expect(tag()).toBe('none')
  })

  it('differs if any part of an assignment differs', () => {
    const tags = [
      tag(),
      tag(rollout('r', 1, '1.0.0')),
      tag(rollout('s', 1, '1.0.0')),
      tag(rollout('r', 1, '2.0.0')),
      tag(rollout('r', 1, '1.0.0'), rollout('s', 1, '', { target: at('1.0.0', N) })),
      tag(deployment('d', 1, '1.0.0')),
      tag(deployment('d', 1, '1.0.0', { activate: false })),
    ]
    expect(new Set(tags).size).toBe(tags.length)
  })
})
