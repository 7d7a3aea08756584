import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** What the files of a folder take on the disk. */
export const bytesIn = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => {
      // A file may go while the folder is read: the database's own.
      const found = statSync(join(parentPath, name), { throwIfNoEntry: false })
      return sum + 512 * (found?.blocks ?? 0)
    }, 0)
