// A round of 20 updates of 100 MB with files in S3 (Swift over loopback), alternating with the same round with local files, and
// with plain GETs of the whole objects, eight at a time. The service's copies are deleted first, so that all are fetched.
import { spawnSync } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { GetObjectCommand, paginateListObjectsV2 } from '@aws-sdk/client-s3'
import { buildProgram } from './built-program.ts'
import { type CleanUps, withCleanUps } from './clean-ups.ts'
import { median, pairwise, printTable } from './figures.ts'
import { heartbeatOf, registerFleet } from './fleet.ts'
import { startLoadGenerator } from './load.ts'
import { startProgram } from './service-under-test.ts'
import { type SwiftStore, startSwiftStore } from './swift-store.ts'
import { runUpdateRound } from './update-round.ts'

const UPDATES = 20
const BYTES = 100_000_000
const TURNS = 5
const GETS_AT_ONCE = 8

const updateObjects = async ({ client, bucket }: SwiftStore): Promise<string[]> => {
  const keys: string[] = []
  for await (const { Contents } of paginateListObjectsV2({ client }, { Bucket: bucket })) {
    for (const { Key, Size } of Contents ?? []) if (Size === BYTES) keys.push(Key!)
  }
  return keys.slice(0, UPDATES)
}

/** Flushes uploads to the disk before the measurement, so that writing them does not compete for it. */
const writeOut = (): void => void spawnSync('sync')

/** Returns the seconds to download all objects to files. */
const plainGets = async (
  { client, bucket }: SwiftStore,
  keys: readonly string[],
  cleanUps: CleanUps,
): Promise<number> => {
  const folder = cleanUps.folder('gets')
  const waiting = [...keys.entries()]
  const began = performance.now()
  const worker = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: next[1] }))
      await pipeline(Body as Readable, createWriteStream(join(folder, `${next[0]}`)))
    }
  }
  await Promise.all(Array.from({ length: GETS_AT_ONCE }, worker))
  return (performance.now() - began) / 1000
}

/** Requires Swift and 15 GB of disk space. */
export const benchStaging = (): Promise<void> =>
  withCleanUps(async (cleanUps) => {
    const store = await startSwiftStore(cleanUps)
    const program = buildProgram().service
    const quiet = { SERVICE_CONVERSIONS: 'off' }
    const started = async (name: string, settings: Readonly<Record<string, string>>) => {
      const service = await startProgram(cleanUps, { name, program, settings: { ...quiet, ...settings } })
      const load = startLoadGenerator(cleanUps)
      const fleet = await registerFleet(load, service, UPDATES)
      // A round selects active devices, and the other turns last minutes.
      const sendHeartbeats = () => load.run({ port: service.port, connections: UPDATES, calls: fleet.map(heartbeatOf) })
      return { service, fleet, sendHeartbeats }
    }
    const folder = await started('folder', {})
    const s3 = await started('s3', { ...store.settings, SERVICE_CACHE_BYTES: '0' })
    const seconds = { folder: [] as number[], s3: [] as number[], gets: [] as number[] }
    const above = { folder: 0, s3: 0 }
    for (let turn = 0; turn < TURNS; turn++) {
      for (const name of ['folder', 's3'] as const) {
        const { service, fleet, sendHeartbeats } = name === 's3' ? s3 : folder
        await sendHeartbeats()
        const round = await runUpdateRound(service, fleet, BYTES, { beforeLast: writeOut })
        seconds[name].push(round.aggregateSeconds)
        above[name] = Math.max(above[name], round.peakBytes - round.bytesBefore)
      }
      writeOut()
      await withCleanUps(async (own) => {
        seconds.gets.push(await plainGets(store, await updateObjects(store), own))
      })
    }
    const together = seconds.gets.map((gets, turn) => gets + seconds.folder[turn]!)
    printTable(
      [`${UPDATES} updates of 100 MB`, 'seconds', 'MB above before'],
      [
        ['files in the folder', median(seconds.folder).toFixed(2), (above.folder / 1e6).toFixed(0)],
        ['plain GETs into files', median(seconds.gets).toFixed(2), ''],
        ['files in S3', median(seconds.s3).toFixed(2), (above.s3 / 1e6).toFixed(0)],
      ],
    )
    const ratios = pairwise(seconds.s3, together)
    console.log(`S3 to GETs and folder together: ${ratios.map((ratio) => ratio.toFixed(2)).join(', ')} (goal 1.2)`)
  })
