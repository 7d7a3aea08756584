// How fast assignments are computed, and how much they add to a heartbeat.
import { type AssignedDevice, assignmentsOf, indexAssignments } from '../../src/domain/assignment.ts'
import { type Offer, type Plan, targetKey } from '../../src/domain/delivery-plan.ts'
import { buildProgram } from './built-program.ts'
import { withCleanUps } from './clean-ups.ts'
import { median, pairwise, printTable } from './figures.ts'
import { type FleetDevice, heartbeatOf, registerFleet } from './fleet.ts'
import { type LoadGenerator, startLoadGenerator } from './load.ts'
import { type ServiceUnderTest, startProgram } from './service-under-test.ts'

const FLEET = 100_000
const ROLLOUTS = 20
const CONNECTIONS = 256
const DEVICES = 10 * CONNECTIONS
const ROUNDS = 7
const SECONDS = 3

const uuid = (n: number): string => `00000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`

/** Rollouts at 5%, 10%, ... 100%, of the given number of models. */
const indexOf = (models: number) => {
  const plans: Plan[] = []
  const offers = new Map<string, Offer>()
  for (let n = 0; n < ROLLOUTS; n++) {
    const target = { modelId: uuid(n % models), modelName: null, version: `${n + 1}.0.0` }
    const percentage = ((n + 1) * 100) / ROLLOUTS
    plans.push({
      id: uuid(100 + n),
      kind: 'rollout',
      orgId: null,
      startedRevision: ROLLOUTS - n,
      settled: false,
      target,
      percentage,
      groupId: null,
    })
    offers.set(targetKey(target), {
      ...target,
      modelName: 'm',
      versionNumber: n + 1,
      format: 'onnx',
      size: 1,
      sha256: '',
    })
  }
  return indexAssignments({ plans, offers, groups: new Map(), unboundReachAll: true })
}

const decisionsPerSecond = (models: number): number => {
  const index = indexOf(models)
  const fleet: AssignedDevice[] = Array.from({ length: FLEET }, (_, n) => ({
    id: uuid(n),
    deviceId: `device-${n}`,
    orgId: null,
  }))
  const perSecond: number[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const started = process.cpuUsage()
    let given = 0
    for (const device of fleet) given += assignmentsOf(index, device).length
    if (given === 0) throw new Error('No device was given anything.')
    const { user, system } = process.cpuUsage(started)
    if (round > 0) perSecond.push((1e6 * FLEET) / (user + system))
  }
  return median(perSecond)
}

const call = async (load: LoadGenerator, service: ServiceUnderTest, key: string, path: string, body: object) => {
  const { bodies } = await load.run({
    port: service.port,
    connections: 1,
    keepBodies: true,
    calls: [{ method: 'POST', path: `/api/v1${path}`, key, body }],
  })
  return JSON.parse(bodies[0]!) as { id: string; rollout_id: string }
}

/** Creates a model with one uploaded version and rolls it out. */
const rollOut = async (load: LoadGenerator, service: ServiceUnderTest, key: string, n: number): Promise<void> => {
  const name = `model-${n}`
  await call(load, service, key, '/models', { name })
  const form = new FormData()
  form.set('file', new Blob([`weights ${n}`]), 'weights.bin')
  const headers = { authorization: `Bearer ${key}` }
  const url = `http://127.0.0.1:${service.port}/api/v1/models/${name}/versions/upload`
  const uploaded = await fetch(url, { method: 'POST', headers, body: form })
  if (uploaded.status !== 201) throw new Error(await uploaded.text())
  const percentage = ((n + 1) * 100) / ROLLOUTS
  const body = { version: '1.0.0', rollout_percentage: percentage, step_interval_minutes: 1440 }
  await call(load, service, key, `/models/${name}/rollouts`, body)
}

const tagsOf = async (
  load: LoadGenerator,
  service: ServiceUnderTest,
  fleet: readonly FleetDevice[],
): Promise<string[]> => {
  const { bodies } = await load.run({
    port: service.port,
    connections: CONNECTIONS,
    keepBodies: true,
    calls: fleet.map(heartbeatOf),
  })
  return bodies.map((body) => (JSON.parse(body) as { assignments_tag?: string }).assignments_tag ?? 'none')
}

/** Prints decisions per CPU second, and the CPU time and rate of heartbeats with and without assignments. */
export const benchAssignments = (): Promise<void> =>
  withCleanUps(async (cleanUps) => {
    printTable(
      [`${FLEET} devices, ${ROLLOUTS} active rollouts`, 'devices decided per CPU second'],
      [
        ['of one model', decisionsPerSecond(1).toFixed(0)],
        [`of ${ROLLOUTS} models`, decisionsPerSecond(ROLLOUTS).toFixed(0)],
      ],
    )
    const { service: program } = buildProgram()
    const load = startLoadGenerator(cleanUps)
    const cases = [
      { name: 'no rollouts', rollouts: 0, tells: false },
      { name: `${ROLLOUTS} rollouts, the device knows them`, rollouts: ROLLOUTS, tells: true },
      { name: 'one rollout, told every time', rollouts: 1, tells: false },
      { name: `${ROLLOUTS} rollouts, all told every time`, rollouts: ROLLOUTS, tells: false },
    ]
    const candidates = []
    for (const { name, rollouts, tells } of cases) {
      const service = await startProgram(cleanUps, { name, program })
      const fleet = await registerFleet(load, service, DEVICES)
      // The last ones include every device.
      for (let n = ROLLOUTS - rollouts; n < ROLLOUTS; n++) await rollOut(load, service, fleet[0]!.key, n)
      const tags = tells ? await tagsOf(load, service, fleet) : []
      const calls = fleet.map((device, n) => {
        const sendHeartbeats = heartbeatOf(device)
        return tells
          ? { ...sendHeartbeats, path: `${sendHeartbeats.path}?known_assignments=${tags[n]}` }
          : sendHeartbeats
      })
      candidates.push({ name, service, calls, perSecond: [] as number[], cpuMicroseconds: [] as number[] })
    }
    for (let round = 0; round <= ROUNDS; round++) {
      for (const { service, calls, perSecond, cpuMicroseconds } of candidates) {
        const cpu = service.cpuSeconds()
        const { seconds, latenciesMs } = await load.run({
          port: service.port,
          connections: CONNECTIONS,
          calls,
          seconds: SECONDS,
        })
        if (round === 0) continue
        perSecond.push(latenciesMs.length / seconds)
        cpuMicroseconds.push((1e6 * (service.cpuSeconds() - cpu)) / latenciesMs.length)
      }
    }
    const without = candidates[0]!
    printTable(
      ['heartbeats, embedded database', 'requests/s', 'CPU us/request', 'CPU ratio', 'from', 'to'],
      candidates.map(({ name, perSecond, cpuMicroseconds }) => {
        const ratios = pairwise(cpuMicroseconds, without.cpuMicroseconds)
        return [
          name,
          median(perSecond).toFixed(0),
          median(cpuMicroseconds).toFixed(0),
          median(ratios).toFixed(2),
          Math.min(...ratios).toFixed(2),
          Math.max(...ratios).toFixed(2),
        ]
      }),
    )
  })
