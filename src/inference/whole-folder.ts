import { randomBytes } from 'node:crypto'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { nullIfMissing } from '../platform/files/missing-file.ts'
import { removeLeftovers } from '../platform/files/temporary-folder.ts'

// Folders that appear in and disappear from `root` atomically.

/** Returns a temporary path for a folder that is not complete yet. */
export const growingIn = (root: string): string => join(root, `.adding-${randomBytes(6).toString('hex')}`)

export const clearLeftovers = (root: string): Promise<void> =>
  removeLeftovers(root, (name) => /^\.(adding|removed)-/.test(name))

/** Hides a folder in one step, then deletes it. Returns whether it existed. */
export const discard = async (root: string, folder: string): Promise<boolean> => {
  const hidden = join(root, `.removed-${randomBytes(6).toString('hex')}`)
  if ((await nullIfMissing(rename(folder, hidden).then(() => hidden))) === null) return false
  await rm(hidden, { recursive: true, force: true })
  return true
}

/**
 * Renames a complete folder to its final name. Replaces an existing one unless `stays` returns true: another process may have
 * put the same folder there, and it may be in use. Returns whether it replaced one.
 */
export const replace = async (
  root: string,
  growing: string,
  folder: string,
  stays: () => Promise<boolean> = async () => false,
): Promise<boolean> => {
  let isReplacement = false
  for (let tries = 1; ; tries++) {
    try {
      await rename(growing, folder)
      return isReplacement
    } catch (error) {
      const taken = ['ENOTEMPTY', 'EEXIST', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')
      if (!taken || tries === 5) throw error
    }
    if (await stays()) return false
    if (await discard(root, folder)) isReplacement = true
  }
}
