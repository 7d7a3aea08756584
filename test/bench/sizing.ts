// The resources that fleets of several sizes need; every device sends one heartbeat per minute.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { buildProgram } from './built-program.ts'
import { withCleanUps } from './clean-ups.ts'
import { printTable, quantile } from './figures.ts'
import { heartbeatOf, registerFleet } from './fleet.ts'
import { bytesIn } from './folder-size.ts'
import { startLoadGenerator } from './load.ts'
import { startProgram } from './service-under-test.ts'

const SIZES = [1_000, 10_000, 100_000]
const SECONDS = 60
const CONNECTIONS = 64

/** Prints CPU time, memory, and disk space of the service with the embedded database, over one minute for each fleet. */
export const benchSizing = async (): Promise<void> => {
  const program = buildProgram()
  const rows: string[][] = []
  for (const size of SIZES) {
    await withCleanUps(async (cleanUps) => {
      const load = startLoadGenerator(cleanUps)
      const folder = join(cleanUps.folder('data'), 'data')
      const settings = { SERVICE_DATA_DIR: folder }
      const service = await startProgram(cleanUps, { name: `${size}`, program: program.service, settings })
      const empty = bytesIn(folder)
      const fleet = await registerFleet(load, service, size)
      await sleep(5000)
      service.forgetPeak()
      const cpu = service.cpuSeconds()
      const { seconds, latenciesMs } = await load.run({
        port: service.port,
        connections: CONNECTIONS,
        calls: fleet.map(heartbeatOf),
        seconds: SECONDS,
        perSecond: size / SECONDS,
      })
      const used = (service.cpuSeconds() - cpu) / seconds
      rows.push([
        `${size}`,
        (latenciesMs.length / seconds).toFixed(0),
        `${(100 * used).toFixed(1)}%`,
        (service.peakBytes() / 1e6).toFixed(0),
        ((bytesIn(folder) - empty) / 1e6).toFixed(0),
        quantile(latenciesMs, 0.5).toFixed(1),
        quantile(latenciesMs, 0.99).toFixed(1),
      ])
    })
  }
  printTable(['devices', 'heartbeats/s', 'of one core', 'peak resident MB', 'more disk MB', 'p50 ms', 'p99 ms'], rows)
}
