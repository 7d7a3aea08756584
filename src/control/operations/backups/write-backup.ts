import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { lstat, readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { Readable } from 'node:stream'
import { isNotFound, ServiceError } from '../../../domain/errors.ts'
import { VERSION } from '../../../version.ts'
import { type BackupTarget, prepareTarget, reasonOf } from './backup-target.ts'
import { inParallel } from './in-parallel.ts'
import {
  type DatabaseKind,
  filePath,
  type Manifest,
  type NamedFile,
  neededFiles,
  type StoredBlob,
  writeManifest,
} from './manifest.ts'

/** An unchanging copy of the database on local disk. */
export interface DatabaseCopy {
  readonly kind: DatabaseKind
  readonly postgres: string
  readonly rows: Readonly<Record<string, number>> | null
  /** Null if there is none. */
  readonly folder: string | null
}

export interface BackupSource {
  /** Copies the current database into a folder that must not exist yet. */
  copyDatabase(folder: string): Promise<DatabaseCopy>
  /** Paths of the key files. */
  readonly keys: readonly { readonly path: string; readonly name: string }[]
  /** Called after the database is copied, so that they include every file that it names. */
  storedFiles(): AsyncIterable<StoredBlob>
  readFile(sha256: string): Promise<Readable>
  /** Whether anything refers to the file. Called after it could not be read. */
  isReferenced(sha256: string): Promise<boolean>
}

export interface BackupSummary {
  readonly database: DatabaseKind
  readonly files: number
  readonly bytes: number
  readonly copiedFiles: number
  readonly copiedBytes: number
  readonly unreadable: Manifest['unreadable']
}

const treeOf = async (root: string, folder = root): Promise<{ folders: string[]; files: string[] }> => {
  const found = { folders: [] as string[], files: [] as string[] }
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (!entry.isDirectory()) found.files.push(path)
    else {
      const inside = await treeOf(root, path)
      found.folders.push(path, ...inside.folders)
      found.files.push(...inside.files)
    }
  }
  return found
}

const hashFile = async (path: string): Promise<string> => {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk)
  return hash.digest('hex')
}

/** A stored file is missing, cannot be read, or has changed. */
class Unreadable extends Error {}

/** Passes the bytes on, and throws at their end if they do not have this hash. */
async function* checked(source: AsyncIterable<Uint8Array>, sha256: string, signal: AbortSignal) {
  const hash = createHash('sha256')
  for await (const chunk of source) {
    signal.throwIfAborted()
    hash.update(chunk)
    yield chunk
  }
  if (hash.digest('hex') !== sha256) throw new Unreadable('Its bytes have changed.')
}

const createCopier = async (target: BackupTarget, signal: AbortSignal) => {
  const existing = new Map((await target.list('files')).map(({ path, size }) => [path, size]))
  let [copiedFiles, copiedBytes] = [0, 0]
  return {
    copied: () => ({ copiedFiles, copiedBytes }),
    async copy({ sha256, size }: StoredBlob, open: () => Promise<AsyncIterable<Uint8Array>>): Promise<void> {
      signal.throwIfAborted()
      const path = filePath(sha256)
      if (existing.get(path) === size) return
      // Set before copying, so that of two files with the same bytes, one is copied.
      existing.set(path, size)
      try {
        await target.write(path, checked(await open(), sha256, signal))
      } catch (error) {
        existing.delete(path)
        throw error
      }
      copiedFiles++
      copiedBytes += size
    },
  }
}

/** Small, and read once, because some are appended to meanwhile. */
const readKeys = (source: BackupSource) =>
  Promise.all(source.keys.map(async ({ path, name }) => ({ name, bytes: await readFile(path) })))

const copyKey = async (copier: Copier, { name, bytes }: { name: string; bytes: Buffer }): Promise<NamedFile> => {
  const file = { size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
  await copier.copy(file, async () => Readable.from([bytes]))
  return { path: name, ...file }
}

type Copier = Awaited<ReturnType<typeof createCopier>>

const copyNamed = async (copier: Copier, path: string, name: string): Promise<NamedFile> => {
  const [sha256, { size }] = [await hashFile(path), await lstat(path)]
  await copier.copy({ sha256, size }, async () => createReadStream(path))
  return { path: name, size, sha256 }
}

const copyDatabaseFiles = async (copier: Copier, { folder, kind, postgres, rows }: DatabaseCopy) => {
  if (folder === null) return { kind, postgres, rows, folders: [], files: [] }
  const tree = await treeOf(folder)
  const nameOf = (path: string): string => relative(folder, path).split(sep).join('/')
  const files: NamedFile[] = []
  await inParallel(tree.files, async (path) => void files.push(await copyNamed(copier, path, nameOf(path))))
  return { kind, postgres, rows, folders: tree.folders.map(nameOf), files }
}

/** Returns the stored files that are in the target now, and those that could not be copied. */
const copyStoredFiles = async (copier: Copier, source: BackupSource) => {
  const files: StoredBlob[] = []
  const unreadable: { sha256: string; reason: string }[] = []
  const copy = async (blob: StoredBlob): Promise<Error | null> => {
    try {
      await copier.copy(blob, () => readable(source, blob.sha256))
      files.push(blob)
      return null
    } catch (error) {
      if (error instanceof Unreadable) return error
      throw error
    }
  }
  await inParallel(source.storedFiles(), async (blob) => {
    const failure = await copy(blob)
    // A file is recorded before its bytes are in place; until then, nothing refers to it, as with a deleted one.
    if (failure === null || !(await source.isReferenced(blob.sha256))) return
    // It may have arrived in the meantime.
    const again = await copy(blob)
    if (again !== null) unreadable.push({ sha256: blob.sha256, reason: again.message })
  })
  return { files, unreadable }
}

const unreadableWords = (error: unknown): string => `It cannot be read: ${reasonOf(error).replace(/\.$/, '')}.`

/** Returns the file's bytes; distinguishes errors in reading from errors in writing. */
const readable = async (source: BackupSource, sha256: string): Promise<AsyncIterable<Uint8Array>> => {
  const stream = await source.readFile(sha256).catch((error: unknown) => {
    if (error instanceof ServiceError && error.code === 'unavailable') throw error
    throw new Unreadable(isNotFound(error) ? 'It is missing.' : unreadableWords(error))
  })
  return (async function* () {
    try {
      yield* stream as AsyncIterable<Uint8Array>
    } catch (error) {
      throw new Unreadable(unreadableWords(error))
    }
  })()
}

const assertWhole = async (target: BackupTarget, manifest: Manifest): Promise<void> => {
  const there = new Map((await target.list('files')).map(({ path, size }) => [path, size]))
  for (const [sha256, size] of neededFiles(manifest)) {
    if (there.get(filePath(sha256)) !== size) {
      throw new Error(
        `${filePath(sha256)} is no longer in ${target.url}: does another service write its backups there?`,
      )
    }
  }
}

/**
 * Writes a backup to the target, without copying files that are already there. The manifest, which is written last,
 * completes it.
 * @param staging a folder for the copy of the database, which must not exist yet; the caller removes it
 */
export const writeBackup = async (options: {
  readonly target: BackupTarget
  readonly source: BackupSource
  readonly name: string
  readonly staging: string
  readonly at: Date
  readonly signal: AbortSignal
}): Promise<BackupSummary> => {
  const { target, source, name, staging, at, signal } = options
  await prepareTarget(target)
  const copier = await createCopier(target, signal)
  // Before the database: the keys that sign it must not be newer than it.
  const keys = await readKeys(source)
  const database = await source.copyDatabase(staging)
  const manifest: Manifest = {
    format: 1,
    name,
    created_at: at.toISOString(),
    version: VERSION,
    database: await copyDatabaseFiles(copier, database),
    keys: await Promise.all(keys.map((key) => copyKey(copier, key))),
    ...(await copyStoredFiles(copier, source)),
  }
  await assertWhole(target, manifest)
  signal.throwIfAborted()
  await writeManifest(target, manifest)
  const needed = neededFiles(manifest)
  return {
    database: database.kind,
    files: needed.size,
    bytes: [...needed.values()].reduce((sum, size) => sum + size, 0),
    ...copier.copied(),
    unreadable: manifest.unreadable,
  }
}
