import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Returns the disk space of a folder's files. */
export const bytesIn = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => {
      // The database may delete its own files meanwhile.
      const found = statSync(join(parentPath, name), { throwIfNoEntry: false })
      return sum + 512 * (found?.blocks ?? 0)
    }, 0)
