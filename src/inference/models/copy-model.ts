import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, readdir, stat } from 'node:fs/promises'
import { basename, dirname, join, relative, sep } from 'node:path'
import { addPathToError } from '../../platform/files/durable-file.ts'
import { makeFolder } from '../../platform/files/make-folder.ts'
import { exists } from '../../platform/files/missing-file.ts'
import { readSplitCount } from './gguf/header.ts'

export interface Copied {
  readonly bytes: number
  readonly sha256: string
}

const PART = /^(?<stem>.+)-\d{5}-of-(?<count>\d{5})\.gguf$/i

/**
 * Returns the paths of all parts of a GGUF model in several files, which exist or not; null if it is a single file, whose name may
 * look like that of a part, or if its parts were renamed.
 */
export const partsOf = (path: string): readonly string[] | null => {
  const { stem, count } = PART.exec(basename(path))?.groups ?? {}
  if (stem === undefined || count === undefined || readSplitCount(path) !== Number(count)) return null
  const part = (_: unknown, index: number): string =>
    join(dirname(path), `${stem}-${String(index + 1).padStart(5, '0')}-of-${count}${path.slice(-'.gguf'.length)}`)
  return Array.from({ length: Number(count) }, part)
}

/**
 * Lists the files of a model: those under a folder, except hidden ones such as those of git and file managers, or a file with
 * the other parts of the same model.
 */
export const filesUnder = async (path: string): Promise<readonly string[]> => {
  if (!(await stat(path)).isDirectory()) {
    const parts = partsOf(path) ?? [path]
    const found = await Promise.all(parts.map(exists))
    return parts.filter((_, index) => found[index])
  }
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
  await makeFolder(dirname(target))
  const file = await open(target, 'wx')
  try {
    for await (const chunk of createReadStream(source, { highWaterMark: 1 << 20, ...(signal && { signal }) })) {
      hash.update(chunk as Buffer)
      await file.writeFile(chunk as Buffer).catch(addPathToError(target))
      bytes += (chunk as Buffer).byteLength
    }
    await file.sync().catch(addPathToError(target))
  } finally {
    await file.close()
  }
  return { bytes, sha256: hash.digest('hex') }
}

/**
 * Copies a file, with the other parts of the same model next to it, or a folder, and hashes what it copies. The hash of several
 * files is that of the lines `<sha256>  <path>`, sorted by path, as `sha256sum` prints them.
 */
export const copyModel = async (source: string, target: string, signal?: AbortSignal): Promise<Copied> => {
  const isFolder = (await stat(source)).isDirectory()
  const files = await filesUnder(source)
  if (!isFolder && files.length === 1) return copyFile(source, target, signal)
  const [from, to] = isFolder ? [source, target] : [dirname(source), dirname(target)]
  const hash = createHash('sha256')
  let bytes = 0
  for (const file of files) {
    const path = relative(from, file)
    const copied = await copyFile(file, join(to, path), signal)
    hash.update(`${copied.sha256}  ${path.split(sep).join('/')}\n`)
    bytes += copied.bytes
  }
  return { bytes, sha256: hash.digest('hex') }
}

export const bytesUnder = async (path: string): Promise<number> => {
  const sizes = await Promise.all((await filesUnder(path)).map(async (file) => (await stat(file)).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}
