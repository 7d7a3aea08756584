import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { type Fault, inject, isKill, scheduleOf } from './faults.ts'
import { type Installation, startInstallation } from './installation.ts'
import { checkInvariants } from './invariants.ts'
import { type Records, violation } from './records.ts'
import { startWorkload } from './workload.ts'

/** Long faults overlap with the next ones. */
const AT_ONCE = 2

export interface RunOptions {
  readonly seed: number
  readonly processes: number
  readonly agents: number
  /** Ends after this many kills or minutes, whichever comes first. */
  readonly kills: number
  readonly minutes: number
  /** An existing database; see `startInstallation`. */
  readonly databaseUrl?: string
  /** The maximum duration of a fault. */
  readonly maxHoldMs?: number
  /** The number of rounds to replay at the end. */
  readonly replays: number
  /** Runs the workload without faults. */
  readonly isQuiet?: boolean
  /** Ends the run without checks. */
  readonly signal?: AbortSignal
  readonly log: (line: string) => void
  /** Called every ten seconds while faults are injected. */
  readonly onTick?: (installation: Installation) => void
}

export interface RunResult {
  readonly kills: number
  readonly faults: ReadonlyMap<string, number>
  readonly violations: readonly string[]
  readonly counts: ReadonlyMap<string, number>
  /** The number of times that a process exited by itself. */
  readonly exits: number
}

/** The runtime's messages about uncaught errors. */
const crashesIn = ({ services }: Installation): string[] =>
  services.flatMap(({ name, log }) => {
    const lines = readFileSync(log, 'utf8').split('\n')
    return lines.flatMap((line, at) =>
      /^Node\.js v\d/.test(line) ? [`${name}: ${lines.slice(Math.max(0, at - 12), at).join(' | ')}`] : [],
    )
  })

/** Errors in the services' logs, with their counts. */
const errorsIn = (installation: Installation): ReadonlyMap<string, number> => {
  const errors = new Map<string, number>()
  for (const { log } of installation.services) {
    for (const line of readFileSync(log, 'utf8').split('\n')) {
      if (!/^{"level":"(error|fatal)"/.test(line)) continue
      const { msg = '', err } = JSON.parse(line) as { msg?: string; err?: { message?: string } }
      const text = `${msg}: ${err?.message ?? ''}`.replace(/[0-9a-f-]{32,}|\d+/g, '…').slice(0, 200)
      errors.set(text, (errors.get(text) ?? 0) + 1)
    }
  }
  return errors
}

const injectAll = async (
  installation: Installation,
  records: Records,
  { seed, kills, minutes, maxHoldMs = Number.POSITIVE_INFINITY, isQuiet = false, signal, log, onTick }: RunOptions,
) => {
  const faults = new Map<string, number>()
  const schedule = scheduleOf(seed)
  const deadline = Date.now() + minutes * 60_000
  const running = new Set<Promise<void>>()
  let killed = 0
  let reported = 0
  let ticked = Date.now()
  const tell = (step: string): void => {
    for (; reported < records.violations.length; reported++)
      log(`VIOLATION seed ${seed}, ${step}: ${records.violations[reported]}`)
  }
  const run = async (fault: Fault): Promise<void> => {
    if (!(await inject(installation, fault))) return
    faults.set(fault.kind, (faults.get(fault.kind) ?? 0) + 1)
    if (isKill(fault)) killed++
  }
  while (killed < kills && Date.now() < deadline && signal?.aborted !== true) {
    if (Date.now() - ticked >= 10_000) {
      ticked = Date.now()
      onTick?.(installation)
    }
    if (isQuiet) {
      await wait(1000)
      tell('undisturbed')
      continue
    }
    const drawn: Fault = schedule.next().value
    const fault = { ...drawn, holdMs: Math.min(drawn.holdMs, maxHoldMs) }
    const work = run(fault).finally(() => running.delete(work))
    running.add(work)
    if (running.size >= AT_ONCE) await Promise.race(running)
    await wait(fault.pauseMs)
    tell(`step ${fault.step} (${fault.kind})`)
  }
  await Promise.all(running)
  return { faults, killed, tell }
}

/** One seeded run: an installation, its workload, faults, and at the end the checks of all invariants. */
export const runChaos = async (options: RunOptions): Promise<RunResult> => {
  const { seed, processes, agents, replays, databaseUrl, log } = options
  const installation = await startInstallation({ processes, seed, databaseUrl })
  try {
    for (const { what, why } of installation.lacking) log(`NOT INJECTED: ${what} (${why})`)
    await installation.ready()
    const workload = await startWorkload(installation.url, seed, { agents })
    const { records } = workload
    try {
      const { faults, killed, tell } = await injectAll(installation, records, options)
      options.signal?.throwIfAborted()
      await installation.ready()
      await workload.settle()
      await checkInvariants(installation, workload, replays)
      for (const crash of crashesIn(installation)) violation(records, 'no process crashes', crash)
      tell('at the end')
      for (const [text, times] of errorsIn(installation)) log(`logged ${times} times: ${text}`)
      const exits = installation.services.reduce((sum, service) => sum + service.exits(), 0)
      const { violations, counts } = records
      return { kills: killed, faults, violations: [...violations], counts, exits }
    } finally {
      await workload.close()
    }
  } finally {
    await installation.close()
  }
}
