import { randomBytes } from 'node:crypto'
import { open, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** Adds the path to errors of open files, which lack it. */
export const addPathToError =
  (path: string) =>
  (error: unknown): never => {
    const { code, path: named } = error as NodeJS.ErrnoException
    throw code !== undefined && named === undefined ? Object.assign(error as Error, { path }) : error
  }

/** A new name is durable only once its folder is synced. Windows cannot open folders, and does not need this. */
export const syncFolder = async (folder: string): Promise<void> => {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Windows returns these while a virus scanner or a reader briefly has the file open. */
const TRANSIENT = new Set(['EPERM', 'EACCES', 'EBUSY'])
const TRIES = process.platform === 'win32' ? 10 : 1

/** Renames a file, replacing an existing one, or a folder; on Windows also if something briefly has it open. */
export const renameWithRetries = async (from: string, to: string): Promise<void> => {
  for (let left = TRIES - 1; ; left--) {
    try {
      return await rename(from, to)
    } catch (error) {
      if (left <= 0 || !TRANSIENT.has((error as NodeJS.ErrnoException).code ?? '')) throw error
      await sleep(50)
    }
  }
}

/** Renames a finished file, replacing an existing one, so that the result survives a power failure. */
export const renameDurably = async (from: string, to: string): Promise<void> => {
  const file = await open(from, 'r+')
  try {
    await file.sync().catch(addPathToError(from))
  } finally {
    await file.close()
  }
  await renameWithRetries(from, to)
  await syncFolder(dirname(to))
}

/** Replaces a small file atomically: readers see the old or the new text, even after a crash. Owner-only access. */
export const writeDurably = async (path: string, text: string): Promise<void> => {
  const growing = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    await writeFile(growing, text, { flag: 'wx', mode: 0o600 }).catch(addPathToError(path))
    await renameDurably(growing, path)
  } catch (error) {
    await rm(growing, { force: true })
    throw error
  }
}
