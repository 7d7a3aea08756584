import { randomUUID } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { examineLock, type FileLock, lockFile } from '../files/file-lock.ts'
import { makeFolder } from '../files/make-folder.ts'
import { exists } from '../files/missing-file.ts'

const REMOVED_EVERY_MS = 60_000
/** For a process that cannot be examined: checks are counted, because clocks may be set or stop while a machine sleeps. */
const LOOKS_WITHOUT_RENEWAL = 10
/** The id of the process at the beginning of a name. Version 1.0.0 named its files, and its caches, without one. */
const OWNER = /^[0-9a-f-]{36}(?=-)/

/** The id of the process that an entry belongs to; undefined for one of version 1.0.0, which may be running beside this one. */
export const ownerOf = (name: string): string | undefined => OWNER.exec(name)?.[0]

export interface ProcessFiles {
  /** The names of this process's entries in the folders begin with `<id>-`. */
  readonly id: string
  /** Call this before creating an entry. The first call deletes those of dead processes; a timer then does so every minute. */
  ensureLock(): Promise<void>
  /** Registers what to do after another process assumed that this one was dead and deleted its entries. */
  onLost(recover: () => Promise<void>): void
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

  let recover = async (): Promise<void> => undefined
  const renewals = new Map<string, { readonly at: number; readonly looks: number }>()

  const removeOf = async (isOver: (owner: string) => boolean | Promise<boolean>): Promise<void> => {
    const owners = new Map<string, string[]>()
    const add = (owner: string, path: string) => owners.set(owner, [...(owners.get(owner) ?? []), path])
    for (const folder of folders) {
      for (const name of await readdir(folder)) {
        const owner = ownerOf(name)
        if (owner !== undefined) add(owner, join(folder, name))
      }
    }
    // Last, so that a lock remains until the entries are gone.
    for (const name of await readdir(locks)) add(name, join(locks, name))
    for (const [owner, paths] of owners) {
      if (!(await isOver(owner))) continue
      for (const path of paths) await rm(path, { recursive: true, force: true })
    }
  }

  const isDead = async (owner: string): Promise<boolean> => {
    const state = await examineLock(join(locks, owner))
    if (typeof state === 'string') return state === 'dead'
    const last = renewals.get(owner)
    const looks = last?.at === state ? last.looks + 1 : 0
    renewals.set(owner, { at: state, looks })
    return looks >= LOOKS_WITHOUT_RENEWAL
  }
  const removeDead = (): Promise<void> =>
    removeOf(async (owner) => owner !== id && (await isDead(owner))).catch(() => undefined)

  /** Called before the first entry is created: an entry without a lock belongs to a dead process. */
  const take = (): Promise<FileLock> => lockFile(join(locks, id), () => new Error(`The id ${id} is in use.`))
  const ensureLock = async (): Promise<FileLock> => {
    await makeFolder(locks, 0o700)
    // First, because the disk may be full of them.
    await removeDead()
    const lock = await take()
    clearInterval(removing)
    removing = setInterval(
      () =>
        void renew()
          .then(removeDead)
          .catch(() => undefined),
      REMOVED_EVERY_MS,
    ).unref()
    return lock
  }
  const retake = async (lost: FileLock): Promise<FileLock> => {
    await lost.release()
    const lock = await take()
    await recover()
    return lock
  }
  const begin = (taking: Promise<FileLock>): Promise<FileLock> => {
    entering = taking
    taking.catch(() => {
      if (entering === taking) entering = null
    })
    return taking
  }
  const renew = async (): Promise<void> => {
    const current = entering ?? begin(ensureLock())
    const lock = await current
    if (await exists(join(locks, id))) return
    await (entering === current ? begin(retake(lock)) : entering)
  }

  return {
    id,
    ensureLock: renew,
    onLost(by) {
      recover = by
    },
    async close() {
      clearInterval(removing)
      const lock = await entering?.catch(() => undefined)
      if (lock === undefined) return
      await removeOf((owner) => owner === id).catch(() => undefined)
      await lock.release().catch(() => undefined)
    },
  }
}
