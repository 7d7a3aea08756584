import { randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { hostname, uptime } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { addPathToError } from './durable-file.ts'
import { nullIfMissing } from './missing-file.ts'

/**
 * For locks from other machines or containers, whose processes cannot be checked: a lock is renewed while it is held. A process of
 * this machine may be stopped for longer, and keeps its lock.
 */
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
  readonly pids: string
  readonly changedAt: number
}

/** Where process ids are unique: one boot of a machine, and one PID namespace in it. Empty on systems without these. */
const PID_SCOPE = (() => {
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}:${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return ''
  }
})()

/** The texts of this process's locks, to exclude locks left by an earlier process with the same id. */
const heldHere = new Set<string>()

/** Null if there is no lock. A process that dies while creating the file leaves it empty. */
const find = async (path: string): Promise<Found | null> => {
  const text = await nullIfMissing(readFile(path, 'utf8'))
  const state = await nullIfMissing(stat(path))
  if (text === null || state === null) return null
  const [pid = '', host = '', , pids = ''] = text.split(' ')
  return { text, pid: Number(pid), host, pids, changedAt: state.mtimeMs }
}

/** Whether a process has ended, but its parent has not asked for its exit status. False on systems without /proc. */
const isZombie = (pid: number): boolean => {
  try {
    // The name before it, in parentheses, may contain anything.
    return /\) Z [^)]*$/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** Whether this machine, or this container, has such a process. */
export const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0) && !isZombie(pid)
  } catch (error) {
    // EPERM: it belongs to another user.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

const bootedAt = (): number => Date.now() - uptime() * 1000

/** By the ids of the boots, if there are any: clocks are often wrong until some time after a boot. */
const isOfEarlierBoot = ({ pids, changedAt }: Found): boolean => {
  if (pids === '' || PID_SCOPE === '') return changedAt < bootedAt()
  return pids.split(':')[0] !== PID_SCOPE.split(':')[0]
}

const isDead = (found: Found): boolean => {
  const { text, pid, host, changedAt } = found
  if (heldHere.has(text)) return false
  if (host !== hostname()) return Date.now() - changedAt >= DEAD_AFTER_MS
  if (pid === process.pid) return true
  // After a reboot another process may have this id.
  return isOfEarlierBoot(found) || !isRunning(pid)
}

/**
 * Returns `running` or `dead` (also if there is no lock) if this is certain, independent of any clock. If the holder cannot be
 * examined from here, for example in another container: the time of its last renewal, by its own clock.
 */
export const examineLock = async (path: string): Promise<'running' | 'dead' | number> => {
  const found = await find(path)
  if (found === null) return 'dead'
  const { text, pid, host, pids, changedAt } = found
  if (heldHere.has(text)) return 'running'
  if (pids !== PID_SCOPE || (pids === '' && host !== hostname())) return changedAt
  if (pid === process.pid || !isRunning(pid)) return 'dead'
  return pids === '' && changedAt < bootedAt() ? changedAt : 'running'
}

const create = async (path: string, text: string): Promise<boolean> => {
  try {
    await writeFile(path, text, { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return false
    // The disk is full: the file was created, but is empty.
    if (syscall === 'write') await rm(path, { force: true })
    return addPathToError(path)(error)
  }
}

/** False while another process holds it. */
const take = async (path: string, text: string): Promise<boolean> => {
  if (await create(path, text)) return true
  const found = await find(path)
  if (found === null) return create(path, text)
  if (!isDead(found)) return false
  await rm(path, { force: true })
  if (!(await create(path, text))) return false
  // Another process may have found the same dead lock and replaced ours: the last one wins.
  await sleep(TAKEOVER_MS)
  return (await nullIfMissing(readFile(path, 'utf8'))) === text
}

/**
 * Makes the caller the only holder of `path`, which is created, among all processes that share its folder. Takes over the lock
 * of a dead process.
 * @throws the result of `refusal` for the holder, such as `process 12 on host`; null if the holder is unknown
 */
export const lockFile = async (path: string, refusal: (holder: string | null) => Error): Promise<FileLock> => {
  const text = `${process.pid} ${hostname()} ${randomUUID()} ${PID_SCOPE}`
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
      if ((await nullIfMissing(readFile(path, 'utf8'))) === text) await rm(path, { force: true })
      heldHere.delete(text)
    },
  }
}
