import { expect } from 'vitest'
import type { DeliveryState } from '../../src/sdk/assignment.ts'
import { initialModel } from '../../src/sdk/trainers/dense-network.ts'
import { encodeModel } from '../../src/sdk/trainers/weights-codec.ts'
import { uploadVersion } from '../fleet-of-models.ts'
import { comeOnce, type FleetDevice, play, SHAPE, startFleet, startJob, uploadModel } from '../training-fleet.ts'
import { formOf, startWorld, type World } from '../world.ts'

interface Started {
  readonly id: string
  readonly rollout_id: string
  readonly deployment_id: string
}

export interface Delivered {
  readonly world: World
  readonly fleet: readonly FleetDevice[]
  readonly key: string
  readonly ask: (method: string, path: string, body?: unknown) => Promise<Started>
  /** Reports the state of each assigned device; `undefined` reports nothing. */
  readonly report: (
    planId: string,
    stateOf: (index: number) => DeliveryState | undefined,
    reason?: string,
  ) => Promise<void>
  readonly modelId: string
  readonly paths: Readonly<Record<string, string>>
}

/** SDK devices that trained a model and run its versions, with one object of every kind in delivery. */
export const startDelivered = async (webFolder: string): Promise<Delivered> => {
  const world = await startWorld({ webFolder })
  const fleet = await startFleet(world, 12, true)
  const { key } = fleet[0]!
  const ask: Delivered['ask'] = async (method, path, body) => {
    const response = await world.request(method, `/api/v1${path}`, { key, body })
    if (response.status >= 300) throw new Error(`${method} ${path} was answered with ${response.status}`)
    return response.body as Started
  }
  const report: Delivered['report'] = async (planId, stateOf, reason) => {
    await Promise.all(
      fleet.map(async ({ device }, index) => {
        const given = (await device.assignments()).find((assignment) => assignment.planId === planId)
        if (given === undefined) return
        const state = stateOf(index)
        if (state === undefined) return
        await device.reportAssignment(planId, { state, version: given.version, ...(state === 'failed' && { reason }) })
      }),
    )
  }

  const rolloutsOf = async (model: string) =>
    ((await ask('GET', `/models/${model}/rollouts`)) as unknown as { rollouts: readonly Started[] }).rollouts
  /** The job may end before the policy's next turn, which creates the canary: returns it once it is there. */
  const canaryAfter = async (earlier: number): Promise<Started> => {
    await world.service.runDueTasks()
    const rollouts = await rolloutsOf('my-model')
    expect(rollouts).toHaveLength(earlier + 1)
    return rollouts[0]!
  }

  const modelId = await uploadModel(world, key, 'my-model')
  const weights = encodeModel(initialModel({ ...SHAPE, hidden: [], seed: 1 }), new Map())
  await ask('POST', '/models/my-model/versions/upload', formOf(weights, { version_label: '1.1.0' }, 'm.safetensors'))
  await ask('PUT', '/models/my-model/aliases/production', { version: '1.0.0' })
  const group = await ask('POST', '/device-groups', { org_id: 'default', name: 'canaries', description: 'In the lab' })
  await ask('POST', `/device-groups/${group.id}/devices`, { device_ids: ['d0', 'd1', 'd2'] })

  const first = await ask('POST', '/models/my-model/rollouts', { version: '1.0.0', rollout_percentage: 100 })
  await report(first.rollout_id, () => 'active')
  const fields = { model: 'my-model', rounds: 2, min_devices: 12, target_devices: 12 }
  const job = (await startJob(world, key, { ...fields, name: 'first try' })).body as Started
  await play(world, job.id, fleet)
  // The policy decides on rounds that end at its time or later.
  await world.advance(1)
  await ask('PUT', '/models/my-model/policy', { enabled: true, canary_percentage: 25, observe_minutes: 30 })
  const second = (await startJob(world, key, { ...fields, rounds: 1 })).body as Started
  await play(world, second.id, fleet)
  await canaryAfter(1)
  await world.advance(31 * 60)

  await ask('POST', '/models', { name: 'vision', framework: 'pytorch', description: 'Finds defects on the line' })
  await uploadVersion(world, key, 'vision', '1.0.0')
  await uploadVersion(world, key, 'vision', '2.0.0')
  const deployment = await ask('POST', '/deploy/execute', {
    model_name: 'vision',
    model_version: '1.0.0',
    group: 'canaries',
    strategy: 'immediate',
  })
  await report(deployment.deployment_id, (index) => (index === 2 ? 'downloading' : 'active'))
  const paused = await ask('POST', '/models/vision/rollouts', { version: '2.0.0', rollout_percentage: 100 })
  await report(paused.rollout_id, (index) => (index < 4 ? 'active' : index < 6 ? 'failed' : undefined), 'out of memory')
  const running = await ask('POST', '/models/my-model/rollouts', {
    version: '1.1.0',
    // Which of the twelve devices are included is random.
    rollout_percentage: 60,
    increment_step: 20,
    step_interval_minutes: 20,
  })
  await world.advance(20 * 60)
  await world.advance(8 * 60)
  await comeOnce(fleet)
  let asked = 0
  await report(running.rollout_id, () => (['active', 'downloading', undefined] as const)[asked++ % 3])
  const outside = await ask('POST', '/deploy/execute', {
    model_name: 'hf:org/thing',
    model_version: '1',
    group: 'canaries',
  })
  const third = (await startJob(world, key, { ...fields, rounds: 1 })).body as Started
  await play(world, third.id, fleet)
  const canary = await canaryAfter(3)
  return {
    world,
    fleet,
    key,
    ask,
    report,
    modelId,
    paths: {
      models: '/models',
      model: '/models/my-model',
      'model-dialog': '/models/my-model',
      rollouts: '/delivery',
      rollout: `/delivery/rollouts/${modelId}/${running.rollout_id}`,
      paused: `/delivery/rollouts/vision/${paused.rollout_id}`,
      deployments: '/delivery/deployments',
      deployment: `/delivery/deployments/${deployment.deployment_id}`,
      policies: '/delivery/policies',
      policy: '/delivery/policies/my-model',
      groups: '/delivery/groups',
      group: `/delivery/groups/${group.id}`,
      pairing: '/delivery/pairing',
      outside: `/delivery/deployments/${outside.deployment_id}`,
      canary: `/delivery/rollouts/${modelId}/${canary.rollout_id}`,
    },
  }
}
