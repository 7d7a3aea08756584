import { randomUUID } from 'node:crypto'
import { open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { Config } from '../../../config.ts'
import { errorMessage } from '../../../domain/error-message.ts'
import { badRequest, ServiceError } from '../../../domain/errors.ts'
import { parseStorageUrl } from '../../../domain/storage-location.ts'
import { writeSynced } from '../../../platform/blobs/staging-area.ts'
import { syncFolder } from '../../../platform/files/durable-file.ts'
import { ownerAdvice } from '../../../platform/files/folder-owner.ts'
import { requireFolder } from '../../../platform/files/make-folder.ts'
import { BLOB_FOLDERS } from '../../data-folder.ts'
import { s3Target } from './s3-target.ts'
import type { BackupTarget, StoredFile } from './target.ts'

export type { BackupTarget } from './target.ts'

const CHUNK = 256 * 1024
/** The beginning of the names of folders in the data folder that a backup uses, and deletes. */
export const STAGING = '.backup-'

/** The result of reading a folder without such a file. @throws bad_request if `root` is a file, or cannot be read */
const orMissing =
  <Value>(root: string, value: Value) =>
  async (error: NodeJS.ErrnoException): Promise<Value> => {
    if (error.code === 'ENOENT') return value
    if (error.code === 'ENOTDIR')
      throw badRequest(`${root} is not a folder. Choose an empty folder, or one that already contains backups.`)
    const fault = FAULTS[error.code ?? '']
    if (fault === undefined) throw error
    const owner = await ownerAdvice(error.path ?? root, root)
    throw badRequest(
      `The backups in ${root} cannot be read: ${fault} (${error.path})${owner === null ? '' : `. ${owner}`}.`,
    )
  }

const UNFINISHED = 'unfinished'
/** Another installation, or a program, may be writing to the same folder. */
const UNFINISHED_KEPT_MS = 24 * 60 * 60 * 1000
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
        const info = await stat(join(root, path)).catch(orMissing(root, null))
        if (info !== null) found.push({ path, size: info.size, modifiedAt: info.mtime })
      }
    }
    return found
  }
  return {
    url: root,
    list,
    async read(path) {
      const file = await open(join(root, path)).catch(orMissing(root, null))
      return file === null ? null : file.createReadStream({ highWaterMark: CHUNK })
    },
    async write(path, source) {
      const growing = join(root, UNFINISHED, randomUUID())
      await requireFolder(join(root, UNFINISHED))
      try {
        await writeSynced(growing, chunksOf(source), CHUNK)
        const folder = join(root, dirname(path))
        const isNew = await requireFolder(folder)
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
    async sweep() {
      for (const { path, modifiedAt } of await list(UNFINISHED)) {
        if (Date.now() - modifiedAt.getTime() > UNFINISHED_KEPT_MS) await rm(join(root, path), { force: true })
      }
    },
  }
}

/**
 * @param url an absolute path, or s3://bucket/prefix?endpoint=…&region=…
 * @throws bad_request
 */
export const openBackupTarget = (url: string): BackupTarget => {
  const location = parseStorageUrl(url)
  if (typeof location === 'string') throw badRequest(`target: ${location}.`)
  return location.kind === 's3' ? s3Target(url, location) : folderTarget(location.path!)
}

/** Whether the target is this folder, or in it. */
const isTargetIn = (target: BackupTarget, folder: string): boolean =>
  isAbsolute(target.url) && `${resolve(target.url)}${sep}`.startsWith(`${resolve(folder)}${sep}`)

type Folders = Pick<Config, 'dataDir' | 'storage'>

/** The folders in which files are stored: with S3, the local copies. */
const blobFolders = ({ dataDir, storage }: Folders): readonly string[] => [
  join(dataDir, 'blobs'),
  ...(storage.kind === 'folder' && storage.path !== null ? [storage.path] : []),
]

/** The folder with which backups in this target are lost; null if it is on another file system or elsewhere. */
export const sharesDiskWith = async (target: BackupTarget, folders: Folders): Promise<string | null> => {
  for (const folder of [folders.dataDir, ...blobFolders(folders)]) {
    if (isTargetIn(target, folder) && (await stat(target.url)).dev === (await stat(folder)).dev) return folder
  }
  return null
}

/** Opens a target other than the folders in which the service keeps its own files. @throws bad_request */
export const openSeparateTarget = (url: string, folders: Folders): BackupTarget => {
  const target = openBackupTarget(url)
  const { dataDir } = folders
  const blobs = blobFolders(folders)
  const inUse = [
    join(dataDir, 'database'),
    ...blobs.flatMap((folder) => BLOB_FOLDERS.map((name) => join(folder, name))),
  ]
  // Some of these are deleted by the next backup.
  const isStaging = isTargetIn(target, dataDir) && relative(dataDir, target.url).startsWith(STAGING)
  const isRoot = [dataDir, ...blobs].some((folder) => resolve(target.url) === resolve(folder))
  if (!isRoot && !isStaging && !inUse.some((folder) => isTargetIn(target, folder))) return target
  throw badRequest(
    `target: the service keeps its own files in ${target.url}. Choose another folder, preferably on another disk.`,
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
