import { randomBytes } from 'node:crypto'
import { readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

// Folders that appear in `root` whole or not at all, and disappear in one step.

const DAY_MS = 24 * 60 * 60 * 1000

/** Where a folder grows before it has its name. */
export const growingIn = (root: string): string => join(root, `.adding-${randomBytes(6).toString('hex')}`)

/** Removes what an interrupted run left: nothing grows for a whole day. */
export const clearLeftovers = async (root: string, now: number): Promise<void> => {
  for (const name of await readdir(root)) {
    if (!/^\.(adding|removed)-/.test(name)) continue
    const age = await stat(join(root, name))
      .then(({ mtimeMs }) => now - mtimeMs)
      .catch(() => 0)
    if (age > DAY_MS) await rm(join(root, name), { recursive: true, force: true })
  }
}

/** Takes a folder out of sight in one step, then deletes it. Whether it was there. */
export const discard = async (root: string, folder: string): Promise<boolean> => {
  const hidden = join(root, `.removed-${randomBytes(6).toString('hex')}`)
  try {
    await rename(folder, hidden)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
  await rm(hidden, { recursive: true, force: true })
  return true
}

/**
 * Gives what has grown its name, in place of what is there, unless `stays` says that this may stay: another process may
 * have put the same folder there meanwhile, and somebody may be reading it.
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
