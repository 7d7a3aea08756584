import { createHash } from 'node:crypto'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

const NAME = /^[0-9a-f]{16}$/
const KEPT_MS = 7 * 24 * 60 * 60 * 1000

/** The part of a running download, or its lock, changes all the time. */
const isAbandoned = async (folder: string): Promise<boolean> => {
  const inside = await readdir(folder, { recursive: true })
  const found = await Promise.all([folder, ...inside.map((name) => join(folder, name))].map((path) => stat(path)))
  return found.every(({ mtimeMs }) => Date.now() - mtimeMs > KEPT_MS)
}

/**
 * Returns the folder for a download from this source, in which an interrupted one is resumed. Deletes those of other sources that
 * were interrupted more than a week ago.
 */
export const downloadFolder = async (homeFolder: string, source: string): Promise<string> => {
  const parent = join(homeFolder, 'downloads')
  const own = createHash('sha256').update(source).digest('hex').slice(0, 16)
  for (const name of await readdir(parent).catch(() => [])) {
    const folder = join(parent, name)
    // Another run may delete it at the same time.
    const isOld = name !== own && NAME.test(name) && (await isAbandoned(folder).catch(() => false))
    if (isOld) await rm(folder, { recursive: true, force: true }).catch(() => undefined)
  }
  return join(parent, own)
}
