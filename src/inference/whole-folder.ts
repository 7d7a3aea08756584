import { randomBytes } from 'node:crypto'
import { readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { nullIfMissing } from '../platform/files/missing-file.ts'

// Folders that appear in and disappear from `root` atomically.

const DAY_MS = 24 * 60 * 60 * 1000

/** Returns a temporary path for a folder that is not complete yet. */
export const growingIn = (root: string): string => join(root, `.adding-${randomBytes(6).toString('hex')}`)

/** Removes leftovers of interrupted runs, which are older than a day. */
export const clearLeftovers = async (root: string, now: number): Promise<void> => {
  for (const name of await readdir(root)) {
    if (!/^\.(adding|removed)-/.test(name)) continue
    const age = await stat(join(root, name))
      .then(({ mtimeMs }) => now - mtimeMs)
      .catch(() => 0)
    if (age > DAY_MS) await rm(join(root, name), { recursive: true, force: true })
  }
}

/** Hides a folder in one step, then deletes it. Returns whether it existed. */
export const discard = async (root: string, folder: string): Promise<boolean> => {
  const hidden = join(root, `.removed-${randomBytes(6).toString('hex')}`)
  if ((await nullIfMissing(rename(folder, hidden).then(() => hidden))) === null) return false
  await rm(hidden, { recursive: true, force: true })
  return true
}

/**
 * Renames a complete folder to its final name. Replaces an existing one unless `stays` returns true: another process may have
 * put the same folder there, and it may be in use.
 */
export const replace = async (
  root: string,
  growing: string,
  folder: string,
  stays: () => Promise<boolean> = async () => false,
): Promise<void> => {
  for (let tries = 1; ; tries++) {
    try {
      return await rename(growing, folder)
    } catch (error) {
      const taken = ['ENOTEMPTY', 'EEXIST', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')
      if (!taken || tries === 5) throw error
    }
    if (await stays()) return
    await discard(root, folder)
  }
}
