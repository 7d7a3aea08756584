import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CleanUps } from './clean-ups.ts'

export interface ServiceUnderTest {
  readonly name: string
  readonly port: number
  /** CPU seconds used so far by all threads. */
  cpuSeconds(): number
  residentBytes(): number
  /** Peak resident memory since the last call of `forgetPeak`. */
  peakBytes(): number
  forgetPeak(): void
}

const CLOCK_TICKS_PER_SECOND = 100
const START_MS = 120_000

/**
 * Starts a program that prints "listening on <address>", in a separate process with its log in a file, as users do. Set
 * BENCH_CPU_PROFILES to a folder to save CPU profiles of its threads.
 */
export const startProgram = async (
  cleanUps: CleanUps,
  options: { name: string; program: string; settings?: Readonly<Record<string, string>> },
): Promise<ServiceUnderTest> => {
  const folder = cleanUps.folder('service')
  const logFile = join(folder, 'log')
  const log = openSync(logFile, 'a')
  const profiles = process.env.BENCH_CPU_PROFILES
  const profiled = profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profiles}`]
  const child = spawn(process.execPath, [...profiled, options.program], {
    env: {
      PATH: process.env.PATH,
      SERVICE_DATA_DIR: join(folder, 'data'),
      SERVICE_PORT: '0',
      SERVICE_RATE_LIMIT_PER_MINUTE: '1000000000',
      ...options.settings,
    },
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  const ended = once(child, 'exit')
  cleanUps.add(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const deadline = Date.now() + START_MS
  let port: string | undefined
  while (port === undefined) {
    const output = readFileSync(logFile, 'utf8')
    port = /listening on http:\/\/[^:]+:(\d+)/.exec(output)?.[1]
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`${options.name} does not start:\n${output}`)
    await sleep(50)
  }

  const status = (field: string): number =>
    1024 * Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1])
  return {
    name: options.name,
    port: Number(port),
    cpuSeconds: () => {
      // proc(5): utime and stime are the 12th and 13th fields after the command in its parentheses.
      const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
      return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_SECOND
    },
    residentBytes: () => status('VmRSS'),
    peakBytes: () => status('VmHWM'),
    forgetPeak: () => writeFileSync(`/proc/${child.pid}/clear_refs`, '5'),
  }
}
