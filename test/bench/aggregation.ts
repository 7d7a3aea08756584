// Aggregates 20 updates of 25 million float32 from files to a file, compared with a plain C loop over the same files.
// Run alone: node --import tsx test/bench/aggregation.ts
import { spawnSync } from 'node:child_process'
import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { crc32 } from 'node:zlib'
import { AggregationWorkers } from '../../src/aggregation/aggregation-workers.ts'
import { openFile, readFully } from '../../src/aggregation/files.ts'
import { writePieces } from '../../src/tensors/container-plan.ts'
import { seal } from '../../src/tensors/patch.ts'
import { planWeightFile } from '../../src/tensors/plan-weight-file.ts'
import { peakDuring } from './peak-memory.ts'

const FILES = 20
const COLUMNS = 25_000_000
const REPEATS = 5
const MIB = 1024 * 1024

interface Sample {
  readonly path: string
  /** The byte offset of the float32 values. */
  readonly offset: number
  readonly numSamples: number
}

const writeSamples = (folder: string, format: 'safetensors' | 'torch-zip', values: Float32Array): Sample[] =>
  Array.from({ length: FILES }, (_, k) => {
    const path = join(folder, `update-${k}`)
    const plan = planWeightFile(format, [{ name: 'weight', dtype: 'f32', shape: [5000, COLUMNS / 5000] }])
    const file = openFile(path, 'w+')
    ftruncateSync(file.fd, plan.size)
    writePieces(file, plan)
    const { byteOffset } = plan.file.tensors[0]!
    // Every file has the same values, rotated by a different distance: different data at low cost.
    const bytes = new Uint8Array(values.buffer)
    const cut = (k * 4_999_999 * 4) % bytes.length
    file.write(byteOffset, bytes.subarray(cut))
    file.write(byteOffset + bytes.length - cut, bytes.subarray(0, cut))
    const written = { ...file, size: plan.size }
    seal(written, plan.file, crc32)
    file.close()
    return { path, offset: byteOffset, numSamples: 100 + 7 * k }
  })

const randomValues = (): Float32Array => {
  const values = new Float32Array(COLUMNS)
  let state = 1
  for (let i = 0; i < COLUMNS; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0
    values[i] = state / 2 ** 33
  }
  return values
}

const compileBaseline = (folder: string): string | null => {
  const source = fileURLToPath(new URL('aggregation/mean.c', import.meta.url))
  const program = join(folder, 'mean')
  return spawnSync('cc', ['-O3', '-o', program, source]).status === 0 ? program : null
}

const runYardstick = (program: string, samples: readonly Sample[], output: string): number => {
  const inputs = samples.flatMap(({ path, offset, numSamples }) => [path, String(offset), String(numSamples)])
  const { status, stdout } = spawnSync(program, [output, String(COLUMNS), ...inputs], { encoding: 'utf8' })
  if (status !== 0) throw new Error('The plain C loop failed.')
  return Number(stdout)
}

/** Returns the 99th percentile of request latency in ms, for a server in this thread, while `work` runs. */
const p99During = async (work: () => Promise<unknown>): Promise<number> => {
  const server = createServer((_, response) => response.end('ok')).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  const times: number[] = []
  let running = true
  const finished = work().then(() => (running = false))
  while (running) {
    const start = performance.now()
    await new Promise<void>((resolve, reject) =>
      get({ port, host: '127.0.0.1' }, (response) => response.resume().on('end', resolve)).on('error', reject),
    )
    times.push(performance.now() - start)
    await sleep(1)
  }
  await finished
  server.close()
  return times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0
}

const sameValues = (a: string, aOffset: number, b: string): boolean => {
  const [left, right] = [openSync(a, 'r'), openSync(b, 'r')]
  const [x, y] = [Buffer.alloc(MIB), Buffer.alloc(MIB)]
  let same = true
  for (let at = 0; same && at < COLUMNS * 4; at += MIB) {
    const length = Math.min(MIB, COLUMNS * 4 - at)
    readFully(left, x.subarray(0, length), aOffset + at)
    readFully(right, y.subarray(0, length), at)
    same = x.equals(y)
  }
  closeSync(left)
  closeSync(right)
  return same
}

const seconds = (values: readonly number[]): string =>
  `${median(values).toFixed(3)} s (best ${best(values).toFixed(3)})`

const best = (values: readonly number[]): number => Math.min(...values)
const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!

/** Prints CPU and wall time in seconds, the ratio to the C loop, peak memory above idle, and request latencies. */
export const benchAggregation = async (): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), 'bench-aggregation-'))
  try {
    const baseline = compileBaseline(folder)
    if (baseline === null) console.log('no C compiler: the ratio is left out')
    for (const format of ['safetensors', 'torch-zip'] as const) await benchFormat(format, folder, baseline)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const benchFormat = async (
  format: 'safetensors' | 'torch-zip',
  folder: string,
  baseline: string | null,
): Promise<void> => {
  const samples = writeSamples(folder, format, randomValues())
  ;(globalThis as { gc?: () => void }).gc?.()
  await sleep(500)
  const idle = process.memoryUsage.rss()
  const workers = new AggregationWorkers()
  const outputPath = join(folder, 'aggregate')
  const plain = join(folder, 'plain')
  const aggregate = () =>
    workers.aggregate({
      strategy: { name: 'fedavg', options: {} },
      globalPath: null,
      updates: samples.map(({ path, numSamples }, k) => ({ id: String(k).padStart(2, '0'), path, numSamples })),
      statePath: null,
      stateOutputPath: null,
      controlOutputPath: null,
      population: null,
      privacy: null,
      outputPath,
    })
  const ours: number[] = []
  const walls: number[] = []
  const theirs: number[] = []
  // The first run starts the worker thread; it counts for memory, not for time.
  const peak = await peakDuring(aggregate)
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    if (baseline !== null) theirs.push(runYardstick(baseline, samples, plain))
    const cpu = process.cpuUsage()
    const wall = performance.now()
    await aggregate()
    const { user, system } = process.cpuUsage(cpu)
    walls.push((performance.now() - wall) / 1000)
    ours.push((user + system) / 1e6)
  }
  if (baseline !== null && !sameValues(outputPath, samples[0]!.offset, plain))
    throw new Error('The aggregate differs from what the C loop computed.')
  const quiet = await p99During(() => sleep(3000))
  const busy = await p99During(async () => {
    for (let i = 0; i < 4; i++) await aggregate()
  })
  await workers.close()
  const line = [
    `${format}: ${FILES} x ${COLUMNS / 1e6} M float32`,
    `CPU ${seconds(ours)}`,
    `wall ${seconds(walls)}`,
    baseline === null
      ? 'C loop: not compiled'
      : `C loop ${seconds(theirs)}, ratio ${(median(ours) / median(theirs)).toFixed(2)} (best ${(best(ours) / best(theirs)).toFixed(2)})`,
    `peak ${Math.round((peak - idle) / MIB)} MB above idle`,
    `request p99 ${quiet.toFixed(2)} ms idle, ${busy.toFixed(2)} ms while aggregating`,
  ]
  console.log(line.join('; '))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await benchAggregation()
