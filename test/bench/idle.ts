// CPU time and memory of the built service (npm run build) until it is ready, and when idle.

import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { withCleanUps } from './clean-ups.ts'
import { median, printTable } from './figures.ts'
import { startProgram } from './service-under-test.ts'

const PROGRAM = fileURLToPath(new URL('../../dist/main.js', import.meta.url))
const ROUNDS = 5
const IDLE_MS = 10_000

/**
 * Prints the cost of a start with a new data folder and an existing one, the latter also with the memory setting of `svc up`.
 * Alternates between them.
 */
export const benchIdle = (): Promise<void> =>
  withCleanUps(async (data) => {
    const ways: Readonly<Record<string, Readonly<Record<string, string>>>> = {
      'new folder': {},
      'existing folder': {},
      'as `svc up` does': { MALLOC_TRIM_THRESHOLD_: '131072' },
    }
    const measured = new Map(Object.keys(ways).map((name): [string, number[][]] => [name, []]))
    for (let round = 0; round < ROUNDS; round++) {
      const folder = join(data.folder('data'), 'data')
      for (const [name, rows] of measured) {
        await withCleanUps(async (cleanUps) => {
          const began = performance.now()
          const settings = { SERVICE_DATA_DIR: folder, ...ways[name] }
          const service = await startProgram(cleanUps, { name, program: PROGRAM, settings })
          const ready = [performance.now() - began, service.cpuSeconds(), service.residentBytes() / 1e6]
          await sleep(IDLE_MS)
          rows.push([...ready, service.residentBytes() / 1e6])
        })
      }
    }
    printTable(
      ['medians', 'ready ms', 'CPU s', 'resident MB when ready', 'idle'],
      [...measured].map(([name, rows]) => [
        name,
        ...[0, 2, 0, 0].map((digits, at) => median(rows.map((row) => row[at]!)).toFixed(digits)),
      ]),
    )
  })
