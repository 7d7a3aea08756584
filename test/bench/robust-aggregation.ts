// Median, trimmed mean, and Krum over 20 updates of 25 million float32, from files to a file, compared with Flower's own code
// on the same files. Flower runs if FLWR_PYTHON (default: python3) can import flwr; otherwise, a message says so.
// Run alone: node --import tsx test/bench/robust-aggregation.ts
import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { AggregationWorkers } from '../../src/aggregation/aggregation-workers.ts'
import { readFully } from '../../src/aggregation/files.ts'
import { strategySettings } from '../../src/domain/strategy-settings.ts'
import { peakDuring } from './peak-memory.ts'
import { type Sample, writeSamples } from './robust-aggregation/samples.ts'

const FILES = 20
const COLUMNS = 25_000_000
const REPEATS = 3
const MIB = 1024 * 1024

const RULES = [
  { rule: 'fedmedian', options: {} },
  { rule: 'fedtrimmedavg', options: { trim: 0.2 } },
  { rule: 'krum', options: { byzantine: 4 } },
] as const

const PYTHON = process.env.FLWR_PYTHON ?? 'python3'

const flowerIsThere = (): boolean =>
  spawnSync(PYTHON, ['-c', 'import numpy, flwr.server.strategy.aggregate']).status === 0

const runFlower = (rule: string, samples: readonly Sample[], output: string): { cpu: number; peak: number } => {
  const program = fileURLToPath(new URL('robust-aggregation/flower.py', import.meta.url))
  const inputs = samples.flatMap(({ path, offset }) => [path, String(offset)])
  const { status, stdout } = spawnSync(PYTHON, [program, rule, output, String(COLUMNS), ...inputs], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (status !== 0) throw new Error("Flower's aggregation failed.")
  return JSON.parse(stdout)
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!

/** Returns the largest difference between our values and Flower's, reading the files in pieces. */
const largestDifference = (ours: string, offset: number, theirs: string): number => {
  const [a, b] = [openSync(ours, 'r'), openSync(theirs, 'r')]
  const [x, y] = [new Float32Array(MIB / 4), new Float32Array(MIB / 4)]
  let largest = 0
  for (let at = 0; at < COLUMNS; at += x.length) {
    const length = Math.min(x.length, COLUMNS - at)
    readFully(a, new Uint8Array(x.buffer, 0, length * 4), offset + at * 4)
    readFully(b, new Uint8Array(y.buffer, 0, length * 4), at * 4)
    for (let i = 0; i < length; i++) largest = Math.max(largest, Math.abs(x[i]! - y[i]!))
  }
  closeSync(a)
  closeSync(b)
  return largest
}

/** Prints CPU and wall time in seconds, peak memory of each rule, and the ratios to Flower: medians of alternating runs. */
export const benchRobustAggregation = async (): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), 'bench-robust-'))
  const withFlower = flowerIsThere()
  if (!withFlower) console.log(`${PYTHON} has no numpy and flwr: Flower's figures are left out`)
  const workers = new AggregationWorkers()
  try {
    const samples = writeSamples(folder, COLUMNS, FILES)
    await sleep(500)
    const idle = process.memoryUsage.rss()
    for (const { rule, options } of RULES) {
      const outputPath = join(folder, 'aggregate')
      const aggregate = () =>
        workers.aggregate({
          strategy: strategySettings(rule, options),
          globalPath: null,
          updates: samples.map(({ path }, k) => ({ id: String(k).padStart(2, '0'), path, numSamples: 1 })),
          statePath: null,
          stateOutputPath: null,
          controlOutputPath: null,
          population: null,
          privacy: null,
          outputPath,
        })
      // The first run starts the thread and compiles; it counts for memory, not for time.
      const peak = await peakDuring(aggregate)
      const plain = join(folder, 'flower')
      const runs: { cpu: number; wall: number; flower: number; flowerPeak: number }[] = []
      for (let repeat = 0; repeat < REPEATS; repeat++) {
        const cpu = process.cpuUsage()
        const wall = performance.now()
        await aggregate()
        const { user, system } = process.cpuUsage(cpu)
        const ours = { cpu: (user + system) / 1e6, wall: (performance.now() - wall) / 1000 }
        const theirs = withFlower ? runFlower(rule, samples, plain) : { cpu: 0, peak: 0 }
        runs.push({ ...ours, flower: theirs.cpu, flowerPeak: theirs.peak })
      }
      const ratios = runs.map((run) => run.flower / run.cpu)
      const best = (of: 'cpu' | 'flower') => Math.min(...runs.map((run) => run[of]))
      const line = [
        `${rule}: ${FILES} x ${COLUMNS / 1e6} M float32`,
        `CPU ${median(runs.map((run) => run.cpu)).toFixed(2)} s`,
        `wall ${median(runs.map((run) => run.wall)).toFixed(2)} s`,
        `peak ${Math.round((peak - idle) / MIB)} MB above idle`,
      ]
      if (withFlower) {
        line.push(
          `Flower CPU ${median(runs.map((run) => run.flower)).toFixed(1)} s`,
          `${median(ratios).toFixed(1)} (${Math.min(...ratios).toFixed(1)} to ${Math.max(...ratios).toFixed(1)}) times as much, ${(best('flower') / best('cpu')).toFixed(1)} the best runs`,
          `peak ${Math.round(Math.max(...runs.map((run) => run.flowerPeak)))} MB`,
          `largest difference ${largestDifference(outputPath, samples[0]!.offset, plain)}`,
        )
      }
      console.log(line.join('; '))
    }
  } finally {
    await workers.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await benchRobustAggregation()
