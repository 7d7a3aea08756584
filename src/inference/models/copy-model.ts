import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, stat } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'

export interface Copied {
  readonly bytes: number
  readonly sha256: string
}

/** Lists the files of a model, except hidden ones such as those of git and file managers. */
export const filesUnder = async (path: string): Promise<readonly string[]> => {
  if (!(await stat(path)).isDirectory()) return [path]
  const entries = await readdir(path, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter(
      (file) =>
        !relative(path, file)
          .split(sep)
          .some((part) => part.startsWith('.')),
    )
    .sort()
}

const copyFile = async (source: string, target: string, signal: AbortSignal | undefined): Promise<Copied> => {
  const hash = createHash('sha256')
  let bytes = 0
  await mkdir(dirname(target), { recursive: true })
  const file = await open(target, 'wx')
  try {
    for await (const chunk of createReadStream(source, { highWaterMark: 1 << 20, ...(signal && { signal }) })) {
      hash.update(chunk as Buffer)
      await file.writeFile(chunk as Buffer)
      bytes += (chunk as Buffer).byteLength
    }
    await file.sync()
  } finally {
    await file.close()
  }
  return { bytes, sha256: hash.digest('hex') }
}

/**
 * Copies a file or folder, and hashes what it copies. A folder's hash is that of the lines `<sha256>  <path>` of its files,
 * sorted by path, as `sha256sum` prints them.
 */
export const copyModel = async (source: string, target: string, signal?: AbortSignal): Promise<Copied> => {
  if (!(await stat(source)).isDirectory()) return copyFile(source, target, signal)
  const hash = createHash('sha256')
  let bytes = 0
  for (const file of await filesUnder(source)) {
    const path = relative(source, file)
    const copied = await copyFile(file, join(target, path), signal)
    hash.update(`${copied.sha256}  ${path.split(sep).join('/')}\n`)
    bytes += copied.bytes
  }
  return { bytes, sha256: hash.digest('hex') }
}

export const bytesUnder = async (path: string): Promise<number> => {
  const sizes = await Promise.all((await filesUnder(path)).map(async (file) => (await stat(file)).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}
