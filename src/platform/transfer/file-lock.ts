import { randomUUID } from 'node:crypto'
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
/** Before the files of such a process are deleted: its clock may differ, and it may have been suspended. */
const SURELY_DEAD_AFTER_MS = 600_000
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

/** The texts of this process's locks, to exclude locks left by an earlier process with the same id. */
const heldHere = new Set<string>()

/** Null if there is no lock. A process that dies while creating the file leaves it empty. */
const find = async (path: string): Promise<Found | null> => {
  const text = await nullIfMissing(readFile(path, 'utf8'))
  const state = await nullIfMissing(stat(path))
  if (text === null || state === null) return null
  const [pid = '', host = ''] = text.split(' ')
  return { text, pid: Number(pid), host, changedAt: state.mtimeMs }
}

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // EPERM: it belongs to another user.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

const isDead = ({ text, pid, host, changedAt }: Found, afterMs: number): boolean => {
  if (heldHere.has(text)) return false
  if (host !== hostname()) return Date.now() - changedAt >= afterMs
  if (pid === process.pid) return true
  // After a reboot another process may have this id.
  return changedAt < Date.now() - uptime() * 1000 || !isRunning(pid)
}

/** False only if there is no lock, or its holder is surely dead. */
export const isLockHeld = async (path: string): Promise<boolean> => {
  const found = await find(path)
  return found !== null && !isDead(found, SURELY_DEAD_AFTER_MS)
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
  if (!isDead(found, DEAD_AFTER_MS)) return false
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
      if ((await nullIfMissing(readFile(path, 'utf8'))) === text) await rm(path, { force: true })
      heldHere.delete(text)
    },
  }
}
