import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { badRequest, ServiceError } from '../../../domain/errors.ts'
import type { BlobStore } from '../../../platform/blobs/blob-store.ts'
import { EMBEDDED_MAJOR } from '../../../platform/db/embedded/template.ts'
import { openDatabase } from '../../../platform/db/open.ts'
import { countRows } from '../../../platform/db/row-counts.ts'
import { syncFolder } from '../../../platform/files/durable-file.ts'
import { makeFolder } from '../../../platform/files/make-folder.ts'
import { type BackupTarget, reasonOf } from './backup-target.ts'
import { inParallel } from './in-parallel.ts'
import { filePath, type Manifest, type NamedFile, type StoredBlob } from './manifest.ts'

/** A file of the backup is missing or has changed. */
class DamagedFile extends ServiceError {
  readonly path: string

  constructor(path: string, message: string) {
    super('bad_request', `The backup is damaged: ${message}.`)
    this.path = path
  }
}

/** Yields the bytes of a file of the backup. @throws DamagedFile if it is missing, or at its end if it has changed */
async function* bytesOf(target: BackupTarget, { sha256 }: StoredBlob): AsyncGenerator<Uint8Array, void> {
  const source = await target.read(filePath(sha256))
  const path = filePath(sha256)
  if (source === null) throw new DamagedFile(path, `${path} is missing in ${target.url}`)
  const hash = createHash('sha256')
  for await (const chunk of source) {
    hash.update(chunk)
    yield chunk
  }
  if (hash.digest('hex') !== sha256) {
    throw new DamagedFile(path, `${path} in ${target.url} has changed`)
  }
}

/** Joins a path of the manifest, which is untrusted, and checks that it stays inside the folder. */
const inside = (folder: string, path: string): string => {
  if (path.split('/').some((part) => part === '..' || part === '') || /[\\:\0]/.test(path)) {
    throw badRequest(`The backup is damaged: it lists the invalid path '${path}'.`)
  }
  return join(folder, ...path.split('/'))
}

/** Writes a complete file of the backup to disk, over one that a killed restore left. Only its owner may read it. */
const writeNamed = async (target: BackupTarget, folder: string, file: NamedFile): Promise<void> => {
  const handle = await open(inside(folder, file.path), 'w', 0o600)
  try {
    for await (const chunk of bytesOf(target, file)) await handle.writeFile(chunk)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Writes the database's files (of an embedded one: its folder) to `folder`, which must not exist yet. */
export const restoreDatabaseFiles = async (target: BackupTarget, manifest: Manifest, folder: string): Promise<void> => {
  const { kind, postgres, folders, files } = manifest.database
  if (kind === 'embedded' && postgres !== EMBEDDED_MAJOR) {
    throw badRequest(
      `The backup has a database of PostgreSQL ${postgres}; this program embeds ${EMBEDDED_MAJOR}. ` +
        `Restore it with version ${manifest.version}.`,
    )
  }
  await makeFolder(folder, 0o700)
  for (const path of [...folders].sort()) await makeFolder(inside(folder, path), 0o700)
  await inParallel(files, (file) => writeNamed(target, folder, file))
  for (const path of folders) await syncFolder(inside(folder, path))
  await syncFolder(folder)
  await syncFolder(dirname(folder))
}

export const restoreKeys = async (target: BackupTarget, { keys }: Manifest, folder: string): Promise<void> => {
  for (const file of keys) await writeNamed(target, folder, file)
  await syncFolder(folder)
}

/** Restores the stored files of the backup to `blobs`, except those that an interrupted restore has written. */
export const restoreFiles = async (target: BackupTarget, { files }: Manifest, blobs: BlobStore): Promise<void> => {
  await inParallel(files, async (file) => {
    if (await blobs.has(file.sha256)) return
    const staged = await blobs.stage(bytesOf(target, file), { maxBytes: Number.MAX_SAFE_INTEGER })
    await staged.keep()
  })
}

const verifyRows = async (manifest: Manifest, dataDir: string): Promise<string[]> => {
  const database = await openDatabase({ url: null, dataDir })
  try {
    const there = await countRows(database.sql)
    const expected = manifest.database.rows ?? {}
    return Object.keys({ ...there, ...expected })
      .filter((table) => there[table] !== expected[table])
      .map((table) => `The table ${table} has ${there[table] ?? 'no'} rows, and had ${expected[table] ?? 'none'}.`)
  } finally {
    await database.close()
  }
}

/**
 * Tests the backup: starts the embedded database on a copy in `scratch`, compares its rows, and hashes every stored file.
 * Deletes changed files from the target, so that the next backup copies them again.
 * @param scratch an empty folder, which the caller removes
 * @returns its faults; none if it is good
 */
export const verifyBackup = async (
  target: BackupTarget,
  manifest: Manifest,
  scratch: string,
  signal?: AbortSignal,
): Promise<readonly string[]> => {
  const faults: string[] = []
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    signal?.throwIfAborted()
    await work().catch(async (error: unknown) => {
      faults.push(reasonOf(error))
      // Lets the next backup copy it again.
      if (error instanceof DamagedFile) await target.remove(error.path)
    })
  }
  await attempt(async () => {
    await restoreDatabaseFiles(target, manifest, join(scratch, 'database'))
    if (manifest.database.kind === 'embedded') faults.push(...(await verifyRows(manifest, scratch)))
  })
  await inParallel([...manifest.keys, ...manifest.files], (file) =>
    attempt(async () => {
      for await (const _chunk of bytesOf(target, file)) signal?.throwIfAborted()
    }),
  )
  return faults
}
