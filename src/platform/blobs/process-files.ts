import { randomUUID } from 'node:crypto'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type FileLock, isLockHeld, lockFile } from '../transfer/file-lock.ts'

const REMOVED_EVERY_MS = 60_000
/** The id of the process at the beginning of a name. Version 1.0.0 named its files, and its caches, without one. */
const OWNER = /^[0-9a-f-]{36}(?=-)/

/** The id of the process that an entry belongs to; undefined for one of version 1.0.0, which may be running beside this one. */
export const ownerOf = (name: string): string | undefined => OWNER.exec(name)?.[0]

export interface ProcessFiles {
  /** The names of this process's entries in the folders begin with `<id>-`. */
  readonly id: string
  /** Call this before creating an entry. The first call deletes those of dead processes, which then continues every minute. */
  enter(): Promise<void>
  /** Deletes this process's entries. Errors are ignored: the next process deletes what is left. */
  close(): Promise<void>
}

/**
 * In each of the folders, every process that shares `root` has entries of its own: they are deleted when it closes, or by
 * another process once it is dead. Locks in `<root>/processes` tell which processes are running.
 */
export const createProcessFiles = (root: string, folders: readonly string[]): ProcessFiles => {
  const locks = join(root, 'processes')
  const id = randomUUID()
  let entering: Promise<FileLock> | null = null
  let removing: NodeJS.Timeout | undefined

  const removeOf = async (isOver: (owner: string) => boolean | Promise<boolean>): Promise<void> => {
    for (const folder of [...folders, locks]) {
      for (const name of await readdir(folder)) {
        const owner = folder === locks ? name : ownerOf(name)
        if (owner !== undefined && (await isOver(owner))) await rm(join(folder, name), { recursive: true, force: true })
      }
    }
  }
  const removeDead = (): Promise<void> =>
    removeOf(async (owner) => owner !== id && !(await isLockHeld(join(locks, owner)))).catch(() => undefined)

  const enter = async (): Promise<FileLock> => {
    await mkdir(locks, { recursive: true, mode: 0o700 })
    // Before the first entry: one without a lock belongs to a dead process.
    const lock = await lockFile(join(locks, id), () => new Error(`The id ${id} is in use.`))
    await removeDead()
    removing = setInterval(() => void removeDead(), REMOVED_EVERY_MS).unref()
    return lock
  }

  return {
    id,
    async enter() {
      entering ??= enter().catch((error: unknown) => {
        entering = null
        throw error
      })
      await entering
    },
    async close() {
      const lock = await entering?.catch(() => undefined)
      if (lock === undefined) return
      clearInterval(removing)
      await removeOf((owner) => owner === id).catch(() => undefined)
      await lock.release().catch(() => undefined)
    },
  }
}
