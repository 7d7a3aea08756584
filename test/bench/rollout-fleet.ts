// Runs a rollout to completion over a fleet of agents, and then another while many of them restart at random.
import { setTimeout as sleep } from 'node:timers/promises'
import { buildProgram } from './built-program.ts'
import { withCleanUps } from './clean-ups.ts'
import { printTable, quantile } from './figures.ts'
import { registerFleet } from './fleet.ts'
import { startLoadGenerator } from './load.ts'
import { type ServiceUnderTest, startProgram } from './service-under-test.ts'
import { openSockets, type SimulatedAgent, startAgent } from './simulated-agents.ts'

const AGENTS = 2000
const RESTARTING = 0.3
const STEP_SECONDS = 4
const FILE_BYTES = 64 * 1024
const AT_MOST_MS = 300_000

const SMALL_ROLLOUT = { rollout_percentage: 10, increment_step: 10, step_interval_minutes: STEP_SECONDS / 60 }

interface Rollout {
  readonly rollout_id: string
  readonly status: string
  readonly reason: string | null
  readonly reports: { readonly active: number; readonly failed: number }
}

const ask = async <T>(
  service: ServiceUnderTest,
  key: string,
  method: string,
  path: string,
  body?: object,
): Promise<T> => {
  const isForm = body instanceof FormData
  const response = await fetch(`http://127.0.0.1:${service.port}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body && !isForm ? { 'content-type': 'application/json' } : {}) },
    ...(body && { body: isForm ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path} was answered with ${response.status}: ${text}`)
  return JSON.parse(text) as T
}

const upload = (service: ServiceUnderTest, key: string, version: string) => {
  const form = new FormData()
  form.set('version_label', version)
  form.set('file', new Blob([Buffer.alloc(FILE_BYTES, version)]), 'weights.bin')
  return ask(service, key, 'POST', '/models/m/versions/upload', form)
}

/** Rolls a version out and waits until every agent reports it as active; each agent to be restarted restarts once. */
const rollOut = async (
  service: ServiceUnderTest,
  agents: readonly SimulatedAgent[],
  version: string,
  restarting: number,
) => {
  const { key } = agents[0]!.device
  await upload(service, key, version)
  const started = performance.now()
  const cpu = service.cpuSeconds()
  const body = { ...SMALL_ROLLOUT, version }
  const { rollout_id: id } = await ask<Rollout>(service, key, 'POST', '/models/m/rollouts', body)
  const duration = 10 * STEP_SECONDS * 1000
  const restarts = agents
    .filter(() => Math.random() < restarting)
    .map(async (agent) => {
      await sleep(Math.random() * duration)
      agent.restart()
    })
  const activatedAfter = new Map<SimulatedAgent, number>()
  for (;;) {
    for (const agent of agents) {
      if (agent.disk.version === version && !activatedAfter.has(agent))
        activatedAfter.set(agent, performance.now() - started)
    }
    const rollout = await ask<Rollout>(service, key, 'GET', `/models/m/rollouts/${id}`)
    if (rollout.status === 'completed' && rollout.reports.active === agents.length) break
    if (performance.now() - started > AT_MOST_MS || ['paused', 'rolled_back'].includes(rollout.status)) {
      throw new Error(`${version} did not reach everybody: ${JSON.stringify(rollout)}, ${activatedAfter.size} run it`)
    }
    await sleep(250)
  }
  const seconds = (performance.now() - started) / 1000
  await Promise.all(restarts)
  const wrong = agents.filter(({ disk }) => disk.version !== version).length
  const twice = agents.reduce((sum, { disk }) => sum + disk.activations, 0) - agents.length
  return {
    seconds,
    wrong,
    restarts: restarts.length,
    twice,
    cpu: service.cpuSeconds() - cpu,
    lag: [...activatedAfter.values()],
  }
}

/** Prints the durations of two rollouts, and verifies that no agent is lost or has a wrong version. */
export const benchRolloutFleet = (): Promise<void> =>
  withCleanUps(async (cleanUps) => {
    const { service: program } = buildProgram()
    const load = startLoadGenerator(cleanUps)
    const service = await startProgram(cleanUps, { name: 'service', program })
    const fleet = await registerFleet(load, service, AGENTS)
    await ask(service, fleet[0]!.key, 'POST', '/models', { name: 'm' })
    const sockets = openSockets()
    const errors: unknown[] = []
    const agents = fleet.map((device) => startAgent(service.port, sockets, device, (error) => errors.push(error)))
    cleanUps.add(async () => {
      await Promise.all(agents.map((agent) => agent.stop()))
      sockets.destroy()
    })
    const rows: string[][] = []
    for (const [version, restarting] of [
      ['1.0.0', 0],
      ['2.0.0', RESTARTING],
    ] as const) {
      for (const { disk } of agents) disk.activations = 0
      const done = await rollOut(service, agents, version, restarting)
      rows.push([
        restarting === 0 ? 'undisturbed' : `${100 * restarting}% restart`,
        String(done.restarts),
        done.seconds.toFixed(1),
        (quantile(done.lag, 0.5) / 1000).toFixed(1),
        String(done.wrong),
        String(done.twice),
        String(errors.length),
        done.cpu.toFixed(1),
      ])
    }
    const ideal = (9 * STEP_SECONDS).toFixed(0)
    printTable(
      [
        `${AGENTS} agents, 10 steps, ${ideal} s at least`,
        'restarts',
        'seconds',
        'median s to run it',
        'wrong version',
        'downloads for nothing',
        'errors seen',
        'CPU s',
      ],
      rows,
    )
    if (errors.length > 0) console.log(`The first error: ${errors[0]}`)
  })
