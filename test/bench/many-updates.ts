// One round with 20, 1,000, and 10,000 updates of 1 MB: aggregation time, memory, and how fast the round is shown.
// BENCH_UPDATES=20,1000 BENCH_UPDATE_MB=100 sets other sizes; above 10 MB, stored files become sparse (Linux, `fallocate`).
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { buildProgram } from './built-program.ts'
import { withCleanUps } from './clean-ups.ts'
import { median, printTable } from './figures.ts'
import { heartbeatOf, registerFleet } from './fleet.ts'
import { startLoadGenerator } from './load.ts'
import { startProgram } from './service-under-test.ts'
import { runUpdateRound } from './update-round.ts'

const SIZES = (process.env.BENCH_UPDATES ?? '20,1000,10000').split(',').map(Number)
const MEGABYTES = Number(process.env.BENCH_UPDATE_MB ?? 1)
const SPARSE_ABOVE_MB = 10

/** Makes the files stored since the last call sparse: they keep their length, but zeros take no disk space. */
const sparsely = (blobs: string) => {
  const done = new Set<string>()
  return (): void => {
    for (const name of readdirSync(blobs)) {
      for (const file of readdirSync(join(blobs, name))) {
        if (done.has(file)) continue
        done.add(file)
        spawnSync('fallocate', ['--dig-holes', join(blobs, name, file)])
      }
    }
  }
}

const measured = async (size: number): Promise<string[]> => {
  let row: string[] = []
  await withCleanUps(async (cleanUps) => {
    const load = startLoadGenerator(cleanUps)
    const data = join(cleanUps.folder('data'), 'data')
    const settings = { SERVICE_CONVERSIONS: 'off', SERVICE_DATA_DIR: data }
    const service = await startProgram(cleanUps, { name: `${size}`, program: buildProgram().service, settings })
    const fleet = await registerFleet(load, service, size)
    await load.run({ port: service.port, connections: 64, calls: fleet.map(heartbeatOf) })
    const files = MEGABYTES > SPARSE_ABOVE_MB ? { uploaded: sparsely(join(data, 'blobs/sha256')) } : {}
    const round = await runUpdateRound(service, fleet, MEGABYTES * 1e6, files)
    row = [
      `${size}`,
      round.uploadSeconds.toFixed(1),
      round.aggregateSeconds.toFixed(2),
      ((1000 * round.aggregateSeconds) / size).toFixed(2),
      (round.bytesBefore / 1e6).toFixed(0),
      (round.peakBytes / 1e6).toFixed(0),
      median(round.looksMs).toFixed(0),
    ]
  })
  return row
}

export const benchManyUpdates = async (): Promise<void> => {
  const rows: string[][] = []
  for (const size of SIZES) rows.push(await measured(size))
  printTable(
    [
      `updates of ${MEGABYTES} MB`,
      'upload s',
      'aggregate s',
      'ms each',
      'MB before',
      'MB at most',
      "the round's page ms",
    ],
    rows,
  )
}
