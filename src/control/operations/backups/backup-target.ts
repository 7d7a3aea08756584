import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join, resolve, sep } from 'node:path'
import { errorMessage } from '../../../domain/error-message.ts'
import { badRequest, ServiceError } from '../../../domain/errors.ts'
import { parseStorageUrl } from '../../../domain/storage-location.ts'
import { writeSynced } from '../../../platform/blobs/staging-area.ts'
import { syncFolder } from '../../../platform/transfer/durable-file.ts'
import { makeFolder } from '../../../platform/transfer/make-folder.ts'
import { s3Target } from './s3-target.ts'
import type { BackupTarget, StoredFile } from './target.ts'

export type { BackupTarget } from './target.ts'

const CHUNK = 256 * 1024

/** The result of reading a folder without such a file. @throws bad_request if `root` is a file */
const orMissing =
  <Value>(root: string, value: Value) =>
  (error: NodeJS.ErrnoException): Value => {
    if (error.code === 'ENOENT') return value
    if (error.code !== 'ENOTDIR') throw error
    throw badRequest(`${root} is not a folder. Choose an empty folder, or one that already contains backups.`)
  }

const UNFINISHED = 'unfinished'
/** Entries that an empty target may have: the second is on every new file system. */
const NOTHING: readonly string[] = [UNFINISHED, 'lost+found']

async function* chunksOf(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  yield* source
}

/** A folder on this machine, possibly mounted. Only its owner may read what is written. */
const folderTarget = (root: string): BackupTarget => {
  const list = async (folder: string): Promise<StoredFile[]> => {
    const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(orMissing(root, []))
    const found: StoredFile[] = []
    for (const entry of entries) {
      const path = `${folder}/${entry.name}`
      if (entry.isDirectory()) found.push(...(await list(path)))
      else {
        const info = await stat(join(root, path))
        found.push({ path, size: info.size, modifiedAt: info.mtime })
      }
    }
    return found
  }
  return {
    url: root,
    list,
    async read(path) {
      const found = await stat(join(root, path)).catch(orMissing(root, null))
      return found === null ? null : createReadStream(join(root, path), { highWaterMark: CHUNK })
    },
    async write(path, source) {
      const growing = join(root, UNFINISHED, randomUUID())
      await makeFolder(join(root, UNFINISHED))
      try {
        await writeSynced(growing, chunksOf(source), CHUNK)
        const folder = join(root, dirname(path))
        const isNew = await makeFolder(folder)
        await rename(growing, join(root, path))
        await syncFolder(folder)
        if (isNew) await syncFolder(dirname(folder))
      } catch (error) {
        await rm(growing, { force: true })
        throw error
      }
    },
    remove: (path) => rm(join(root, path), { force: true }),
    async isEmpty() {
      const names = await readdir(root).catch(orMissing(root, []))
      return names.every((name) => NOTHING.includes(name))
    },
    sweep: () => rm(join(root, UNFINISHED), { recursive: true, force: true }),
  }
}

/**
 * @param url an absolute path, or s3://bucket/prefix?endpoint=…&region=…
 * @throws bad_request
 */
export const openBackupTarget = (url: string): BackupTarget => {
  const location = parseStorageUrl(url)
  if (typeof location === 'string') throw badRequest(`target: ${location}, got '${url}'.`)
  return location.kind === 's3' ? s3Target(url, location) : folderTarget(location.path!)
}

/** Opens a target outside of `folders`, which the backup is to protect. @throws bad_request */
export const openBackupTargetOutside = (url: string, folders: readonly string[]): BackupTarget => {
  const target = openBackupTarget(url)
  const path = isAbsolute(target.url) ? `${resolve(target.url)}${sep}` : null
  const around = folders.find((folder) => path?.startsWith(`${resolve(folder)}${sep}`))
  if (around === undefined) return target
  throw badRequest(
    `target: ${target.url} is in ${around}, which the backup is to protect. Choose a folder on another disk.`,
  )
}

const MARKER = 'tributary-backups.json'

const hasMarker = async (target: BackupTarget): Promise<boolean> => {
  const marker = await target.read(MARKER)
  marker?.destroy()
  return marker !== null
}

/** Checks that the target has backups, or nothing yet. @throws bad_request */
export const prepareTarget = async (target: BackupTarget): Promise<void> => {
  if (await hasMarker(target)) return
  if (await target.isEmpty()) return target.write(MARKER, [Buffer.from(`${JSON.stringify({ format: 1 })}\n`)])
  // Another process may have written it in the meantime.
  if (await hasMarker(target)) return
  throw badRequest(`${target.url} contains other files. Choose an empty folder, or one that already contains backups.`)
}

const FAULTS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the disk is read-only',
  EIO: 'the disk reports an error',
}

/** Returns why something failed, as a message for people. */
export const reasonOf = (error: unknown): string => {
  const code = (error as NodeJS.ErrnoException).code
  const fault = code === undefined ? undefined : FAULTS[code]
  const path = (error as NodeJS.ErrnoException).path
  if (fault !== undefined && !(error instanceof ServiceError))
    return `${fault}${path === undefined ? '' : ` (${path})`}`
  return errorMessage(error)
}
