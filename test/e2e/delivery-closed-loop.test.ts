import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { AgentTrainer } from '../../src/agent/agent-trainer.ts'
import { startWorld } from '../world.ts'
import { hookProgram, startAgents } from './agents.ts'
import { operatorOf, type Rollout, registered } from './operator.ts'
import { until } from './service-process.ts'

interface Decision {
  readonly status: string
  readonly reason: string | null
  readonly promotion_rollout_id: string | null
}

/** Trains by writing one number, which the hooks report as the accuracy. */
const trainerOf = (accuracy: number): AgentTrainer => ({
  train: async ({ folder }) => {
    const weights = join(folder, 'update.bin')
    await writeFile(weights, new Float32Array([accuracy]))
    return { weights, report: { numSamples: 1 }, globalModel: null }
  },
})

it.each([
  ['promotes what a round learned when devices measure that it is better', 0.95, 'promoted', '1.1.0'],
  ['rolls back what a round learned when devices measure that it is worse', 0.5, 'rolled_back', '1.0.0'],
])('a policy %s', async (_, accuracy, status, runs) => {
  const service = await startWorld({ isRealTime: true, config: { stragglerGraceSeconds: 1 } })
  const operator = await operatorOf(() => service.baseUrl)
  await operator.upload(new Uint8Array(new Float32Array([0.9]).buffer))
  const names = Array.from({ length: 6 }, (_, n) => `edge-${n}`)
  // Devices differ slightly, like their data.
  const hook = (name: string) =>
    hookProgram(`
      note "$MODEL_VERSION"
      od -An -tf4 "$MODEL_PATH" |
        awk '{ a = $1 + 0.001 * ${Number(name.slice(-1)) % 3}; printf "{\\"accuracy\\":%f,\\"loss\\":%f}\\n", a, 1 - a }'`)
  const trainer = () => trainerOf(accuracy)
  const agents = await startAgents(service.baseUrl, names, hook, { trainer, restateSeconds: 1 })
  await registered(operator, names)
  await operator.ask('POST', '/models/m/rollouts', { version: '1', rollout_percentage: 100 })
  await Promise.all(agents.map((agent) => agent.line('Model m: version 1.0.0 is active (accuracy')))

  const { id: group } = await operator.ask<{ id: string }>('POST', '/device-groups', { org_id: 'acme', name: 'canary' })
  await operator.ask('POST', `/device-groups/${group}/devices`, { device_ids: names.slice(0, 3) })
  const policy = { enabled: true, canary_group: 'canary', canary_percentage: 100, min_reports: 3 }
  const promotion = { increment_step: 50, step_interval_minutes: 1 / 60 }
  await operator.ask('PUT', '/models/m/policy', { ...policy, ...promotion })
  const { id: model } = await operator.ask<{ id: string }>('GET', '/models/m')
  // The starter of the round is selected too, but submits nothing; the round waits for it only during the grace period.
  await operator.ask('POST', '/training/rounds/start', { target_devices: 3, min_devices: 2, global_model_id: model })

  const decisions = async () =>
    (await operator.ask<{ decisions: Decision[] }>('GET', '/models/m/policy/decisions')).decisions
  const [decision] = await until(decisions, ([first]) => first !== undefined && first.status !== 'observing')
  expect(decision).toMatchObject({ status })
  expect(decision!.reason).toMatch(
    status === 'promoted' ? /^No worse than the current version/ : /^Worse than the current/,
  )
  const whatRuns = async () => Promise.all(agents.map(async (agent) => (await agent.notes()).at(-1)))
  await until(whatRuns, (versions) => versions.every((version) => version === runs))
  if (decision!.promotion_rollout_id === null) return
  const rollout = () => operator.ask<Rollout>('GET', `/models/m/rollouts/${decision!.promotion_rollout_id}`)
  expect(await until(rollout, (seen) => seen.status === 'completed' && seen.reports.active === 6)).toMatchObject({
    percentage: 100,
  })
})
