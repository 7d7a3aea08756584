// Heartbeats per second with the durable write, compared with the same server responding from memory.
import { buildProgram } from './built-program.ts'
import { withCleanUps } from './clean-ups.ts'
import { median, pairwise, printTable, quantile } from './figures.ts'
import { type FleetDevice, heartbeatOf, registerFleet } from './fleet.ts'
import { startLoadGenerator } from './load.ts'
import { startCluster } from './postgres-cluster.ts'
import { type ServiceUnderTest, startProgram } from './service-under-test.ts'

const CONNECTIONS = 256
/** Ten devices take turns on each connection, so that keys are looked up repeatedly, as in a fleet. */
const DEVICES = 10 * CONNECTIONS
const ROUNDS = 7
const SECONDS = 4

interface Candidate {
  readonly service: ServiceUnderTest
  readonly fleet: readonly FleetDevice[]
  readonly perSecond: number[]
  readonly p50: number[]
  readonly p99: number[]
  readonly cpuMicroseconds: number[]
}

/** Prints requests per second, the ratio to the baseline, latencies, and CPU time of the service's process. */
export const benchHeartbeats = (): Promise<void> =>
  withCleanUps(async (cleanUps) => {
    const program = buildProgram()
    const cluster = await startCluster(cleanUps)
    const load = startLoadGenerator(cleanUps)
    const services = [
      await startProgram(cleanUps, { name: 'no database', program: program.baseline }),
      await startProgram(cleanUps, { name: 'embedded', program: program.service }),
    ]
    if (cluster !== null) {
      const settings = { SERVICE_DATABASE_URL: await cluster.newDatabase() }
      services.push(await startProgram(cleanUps, { name: 'PostgreSQL', program: program.service, settings }))
    }
    const candidates: Candidate[] = []
    for (const service of services) {
      const fleet = await registerFleet(load, service, DEVICES)
      candidates.push({ service, fleet, perSecond: [], p50: [], p99: [], cpuMicroseconds: [] })
    }

    // The first round is a warm-up.
    for (let round = 0; round <= ROUNDS; round++) {
      for (const contestant of candidates) {
        const { service, fleet } = contestant
        const cpu = service.cpuSeconds()
        const { seconds, latenciesMs } = await load.run({
          port: service.port,
          connections: CONNECTIONS,
          calls: fleet.map(heartbeatOf),
          seconds: SECONDS,
        })
        if (round === 0) continue
        contestant.perSecond.push(latenciesMs.length / seconds)
        contestant.p50.push(quantile(latenciesMs, 0.5))
        contestant.p99.push(quantile(latenciesMs, 0.99))
        contestant.cpuMicroseconds.push((1e6 * (service.cpuSeconds() - cpu)) / latenciesMs.length)
      }
    }

    const baseline = candidates[0]!
    printTable(
      ['heartbeats, 256 connections', 'requests/s', 'ratio', 'from', 'to', 'p50 ms', 'p99 ms', 'CPU us/request'],
      candidates.map(({ service, perSecond, p50, p99, cpuMicroseconds }) => {
        const ratios = pairwise(perSecond, baseline.perSecond)
        return [
          service.name,
          median(perSecond).toFixed(0),
          median(ratios).toFixed(2),
          Math.min(...ratios).toFixed(2),
          Math.max(...ratios).toFixed(2),
          median(p50).toFixed(1),
          median(p99).toFixed(1),
          median(cpuMicroseconds).toFixed(0),
        ]
      }),
    )
  })
