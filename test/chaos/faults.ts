import { rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { seededRandom } from '../../src/sdk/trainers/random.ts'
import type { Installation } from './installation.ts'
import type { StoreFault } from './proxies.ts'

interface Kind {
  /** How often it is drawn, relative to the others. */
  readonly weight: number
  /** Its maximum duration. */
  readonly holdMs: number
  /** Whether it kills processes. */
  readonly kills: boolean
}

const KINDS = {
  'kill service': { weight: 16, holdMs: 1500, kills: true },
  'stop service': { weight: 4, holdMs: 22_000, kills: false },
  'kill PostgreSQL backend': { weight: 3, holdMs: 0, kills: true },
  'stop PostgreSQL immediately': { weight: 2, holdMs: 1500, kills: true },
  'restart PostgreSQL': { weight: 2, holdMs: 500, kills: false },
  'kill store': { weight: 2, holdMs: 1500, kills: true },
  'store away': { weight: 1, holdMs: 5000, kills: false },
  'store slow': { weight: 1, holdMs: 6000, kills: false },
  'store errors': { weight: 1, holdMs: 6000, kills: false },
  'store torn': { weight: 2, holdMs: 6000, kills: false },
  'kill balancer': { weight: 1, holdMs: 500, kills: true },
  'reset database connections': { weight: 2, holdMs: 0, kills: false },
  'reset client connections': { weight: 2, holdMs: 0, kills: false },
  'clock jump': { weight: 2, holdMs: 10_000, kills: false },
  'full disk': { weight: 1, holdMs: 4000, kills: false },
} as const satisfies Readonly<Record<string, Kind>>

type FaultKind = keyof typeof KINDS

export interface Fault {
  readonly step: number
  readonly kind: FaultKind
  /** Selects the service among those that can be hit; in [0, 1). */
  readonly target: number
  readonly holdMs: number
  /** The jump of a clock. */
  readonly seconds: number
  /** Pause until the next fault. */
  readonly pauseMs: number
}

/** The largest jump of a clock, in seconds. */
export const MAX_JUMP_SECONDS = 120

export const isKill = ({ kind }: Fault): boolean => KINDS[kind].kills

/** Yields the sequence of faults and their times, determined by the seed alone. */
export function* scheduleOf(seed: number): Generator<Fault, never> {
  const random = seededRandom(seed)
  const kinds = Object.entries(KINDS) as [FaultKind, Kind][]
  const total = kinds.reduce((sum, [, { weight }]) => sum + weight, 0)
  for (let step = 1; ; step++) {
    let at = random.uniform() * total
    const [kind, { holdMs }] = kinds.find(([, { weight }]) => (at -= weight) < 0)!
    yield {
      step,
      kind,
      target: random.uniform(),
      holdMs: Math.round(holdMs * random.uniform()),
      seconds: Math.round((2 * random.uniform() - 1) * MAX_JUMP_SECONDS),
      pauseMs: Math.round(300 + 3700 * random.uniform()),
    }
  }
}

const killBackend = async (databaseUrl: string, target: number): Promise<void> => {
  const client = new pg.Client(databaseUrl)
  client.on('error', () => undefined)
  await client.connect()
  const { rows } = await client.query<{ pid: number }>(
    `select pid from pg_stat_activity where application_name = 'tributary' order by pid`,
  )
  const hit = rows[Math.floor(target * rows.length)]
  if (hit !== undefined) process.kill(hit.pid, 'SIGKILL')
  await client.end().catch(() => undefined)
}

const fillDisk = async (folder: string, holdMs: number): Promise<void> => {
  const path = join(folder, 'ballast')
  const file = await open(path, 'w')
  try {
    const block = Buffer.alloc(1 << 20)
    for (;;) await file.write(block)
  } catch {
    await wait(holdMs)
  } finally {
    await file.close()
    rmSync(path, { force: true })
  }
}

/** Injects a fault and resolves when it is over. Returns false if this installation does not support it. */
export const inject = async (to: Installation, { kind, target, holdMs, seconds }: Fault): Promise<boolean> => {
  const service = to.services[Math.floor(target * to.services.length)]!
  const fault = async (name: StoreFault): Promise<boolean> => {
    if (to.store === null) return false
    to.store.proxy.fault = name
    await wait(holdMs)
    to.store.proxy.fault = 'none'
    return true
  }
  const done = async (work: Promise<unknown> | undefined): Promise<boolean> => {
    await work
    return work !== undefined
  }
  switch (kind) {
    case 'kill service':
      return done(service.endBy('SIGKILL', holdMs))
    case 'stop service':
      service.signal('SIGSTOP')
      await wait(holdMs)
      service.signal('SIGCONT')
      return true
    case 'kill PostgreSQL backend':
      return done(to.postgres === null ? undefined : killBackend(to.databaseUrl, target).catch(() => undefined))
    case 'stop PostgreSQL immediately':
      return done(to.postgres?.endBy('SIGQUIT', holdMs))
    case 'restart PostgreSQL':
      return done(to.postgres?.endBy('SIGINT', holdMs))
    case 'kill store':
      return done(to.store?.program.endBy('SIGKILL', holdMs))
    case 'store away':
      return fault('away')
    case 'store slow':
      return fault('slow')
    case 'store errors':
      return fault('errors')
    case 'store torn':
      return fault('torn')
    case 'kill balancer':
      return done(to.balancer?.endBy('SIGKILL', holdMs))
    case 'reset database connections':
      to.toDatabase.reset()
      return true
    case 'reset client connections':
      to.toService.reset()
      return true
    case 'clock jump':
      if (!to.hasClocks) return false
      service.setClock(seconds)
      await wait(holdMs)
      service.setClock(0)
      return true
    case 'full disk':
      return to.disk === null ? false : done(fillDisk(to.disk, holdMs))
  }
}
