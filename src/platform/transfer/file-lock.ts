import { randomUUID } from 'node:crypto'
import { readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { hostname, uptime } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

/** Of a lock of another machine or container, whose processes cannot be looked up: it is renewed while it is held. */
const DEAD_AFTER_MS = 120_000
const RENEWED_EVERY_MS = 10_000
const TAKEOVER_MS = 200

export interface FileLock {
  release(): Promise<void>
}

interface Found {
  readonly text: string
  readonly pid: number
  readonly host: string
  readonly changedAt: number
}

/** Texts of the locks of this process: one that it left in an earlier life with the same number is not among them. */
const heldHere = new Set<string>()

const orNull = <T>(looking: Promise<T>): Promise<T | null> =>
  looking.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })

/** Null if there is none. A process that dies while it creates the file leaves it empty. */
const find = async (path: string): Promise<Found | null> => {
  const text = await orNull(readFile(path, 'utf8'))
  const state = await orNull(stat(path))
  if (text === null || state === null) return null
  const [pid = '', host = ''] = text.split(' ')
  return { text, pid: Number(pid), host, changedAt: state.mtimeMs }
}

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // EPERM: it is another user's.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

const isDead = ({ text, pid, host, changedAt }: Found): boolean => {
  if (host !== hostname()) return Date.now() - changedAt >= DEAD_AFTER_MS
  if (pid === process.pid) return !heldHere.has(text)
  // After a restart of the machine another process may have the number.
  return changedAt < Date.now() - uptime() * 1000 || !isRunning(pid)
}

const create = async (path: string, text: string): Promise<boolean> => {
  try {
    await writeFile(path, text, { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** False while another holds it. */
const take = async (path: string, text: string): Promise<boolean> => {
  if (await create(path, text)) return true
  const found = await find(path)
  if (found === null) return create(path, text)
  if (!isDead(found)) return false
  await rm(path, { force: true })
  if (!(await create(path, text))) return false
  // Another may have found the same dead lock and replaced ours: the last one stays.
  await sleep(TAKEOVER_MS)
  return (await orNull(readFile(path, 'utf8'))) === text
}

/**
 * Makes this the only holder of `path`, which is made, among all processes that share its folder. The lock of a dead process
 * is taken over.
 * @throws what `refusal` makes of the holder, such as `process 12 on host`; null: there was none any more
 */
export const lockFile = async (path: string, refusal: (holder: string | null) => Error): Promise<FileLock> => {
  const text = `${process.pid} ${hostname()} ${randomUUID()}`
  heldHere.add(text)
  const taken = await take(path, text).catch((error: unknown) => {
    heldHere.delete(text)
    throw error
  })
  if (!taken) {
    heldHere.delete(text)
    const found = await find(path)
    throw refusal(found === null || found.host === '' ? null : `process ${found.pid} on ${found.host}`)
  }
  const renewing = setInterval(() => {
    const now = new Date()
    utimes(path, now, now).catch(() => undefined)
  }, RENEWED_EVERY_MS).unref()
  return {
    release: async () => {
      clearInterval(renewing)
      if ((await orNull(readFile(path, 'utf8'))) === text) await rm(path, { force: true })
      heldHere.delete(text)
    },
  }
}
