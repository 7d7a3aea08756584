import { createHash } from 'node:crypto'
import { cp, mkdir, readFile, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { type Config, ConfigError } from '../../config.ts'
import { badRequest, ServiceError } from '../../domain/errors.ts'
import { parseStorageUrl } from '../../domain/storage-location.ts'
import type { BlobStore } from '../../platform/blobs/blob-store.ts'
import { lockFolder } from '../../platform/db/embedded/folder-lock.ts'
import { MIGRATIONS } from '../../platform/db/migrations/all.ts'
import { moveDatabase } from '../../platform/db/moving/move-database.ts'
import { type Database, openDatabase } from '../../platform/db/open.ts'
import { StartError } from '../../platform/db/start-error.ts'
import { otherOwnerOf } from '../../platform/files/folder-owner.ts'
import { createParts } from '../app.ts'
import { openContext } from '../context.ts'
import { listStoredFiles } from '../operations/backups/backup-source.service.ts'
import { openStorage } from '../storage.ts'
import type { ProgramOptions } from './program-options.ts'

/** What errors call the storage that the files are copied to. */
const TARGET = { setting: '--storage', name: 'The storage in --storage' }

const openTarget = (url: string): Promise<Database> =>
  openDatabase({ url, dataDir: '' }).catch((error: unknown) => {
    throw error instanceof StartError
      ? new StartError(
          error.message
            .replace('; without SERVICE_DATABASE_URL the embedded database is used', '')
            .replaceAll('SERVICE_DATABASE_URL', '--to'),
        )
      : error
  })

/**
 * Hashes every stored file or, given another store `to`, hashes and copies those that it lacks. Returns the damaged ones, which
 * are not copied.
 */
const checkFiles = async (database: Database, from: BlobStore, to: BlobStore | null): Promise<readonly string[]> => {
  const damaged: string[] = []
  for await (const { sha256 } of listStoredFiles(database)) {
    if (to !== null && (await to.has(sha256))) continue
    const hash = createHash('sha256')
    const hashed = async function* (): AsyncGenerator<Uint8Array, void> {
      for await (const chunk of await from.read(sha256)) {
        hash.update(chunk)
        yield chunk
      }
    }
    const isGood = () => hash.digest('hex') === sha256
    if (to === null) {
      const chunks = hashed()
      const isRead = await (async () => {
        for await (const _chunk of chunks);
      })().then(
        () => true,
        () => false,
      )
      if (!isRead || !isGood()) damaged.push(sha256)
      continue
    }
    const staged = await to.stage(hashed(), { maxBytes: Number.MAX_SAFE_INTEGER }).catch((error: unknown) => {
      if (error instanceof ServiceError && error.code === 'not_found') return null
      throw error
    })
    if (staged?.sha256 === sha256) await staged.keep()
    else {
      await staged?.discard()
      damaged.push(sha256)
    }
  }
  return damaged
}

/** Returns those that something refers to. The others were being uploaded when the service was killed, and have no bytes. */
const referencedIn = async (target: Database, files: readonly string[], config: Config): Promise<readonly string[]> => {
  if (files.length === 0) return []
  const database = { ...target, close: async () => undefined }
  const context = await openContext({ ...config, logLevel: 'error' }, { database })
  try {
    const { catalog } = createParts(context)
    const referenced: string[] = []
    for (const sha256 of files) if (await catalog.files.isReferenced(sha256)) referenced.push(sha256)
    return referenced
  } finally {
    await context.closeAccounting()
    await context.close()
  }
}

/** Returns the URL with its password hidden. */
const shown = (url: string): string => {
  const parsed = new URL(url)
  if (parsed.password !== '') parsed.password = '***'
  return parsed.href.replace(/([?&](?:ssl)?password=)[^&]*/g, '$1***')
}

/** The folder of the copy. */
const scratchOf = (dataDir: string): string => `${dataDir}.migrating`

/** Says why the move stopped and what to do: without a change, some of its reasons remain. */
const stopped = async (error: NodeJS.ErrnoException, dataDir: string): Promise<ServiceError> => {
  const { code = '', message } = error
  const leftover = scratchOf(dataDir)
  const owner = await otherOwnerOf(leftover)
  const fix =
    code === '42501'
      ? 'Make the user of --to the owner of that database, and run it again.'
      : ['EACCES', 'EPERM', 'EROFS'].includes(code)
        ? owner !== null
          ? `${leftover} is left of a move by ${owner.name} that was interrupted: delete it, and run this again.`
          : `This user must be able to read ${dataDir}, and to create a folder next to it, in ${dirname(resolve(dataDir))}.`
        : code === 'ENOSPC'
          ? `Free disk space for a copy of ${join(dataDir, 'database')} next to ${dataDir}, and run it again.`
          : 'Run it again: it continues where it stopped.'
  return new ServiceError('internal_error', `The move stopped: ${message.replace(/\.$/, '')}. ${fix}`)
}

/**
 * `--to postgres://… [--storage s3://…]`: moves the embedded database of a stopped service to a PostgreSQL server. The old
 * folder does not change: a copy of the database is opened.
 */
export const migrate = async ({ config, text, result, progress }: ProgramOptions): Promise<void> => {
  const to = text('to')
  if (to === null || !/^postgres(ql)?:\/\//.test(to) || !URL.canParse(to)) {
    throw badRequest('--to must look like postgres://user:password@host:5432/name.')
  }
  const storage = text('storage') === null ? null : parseStorageUrl(text('storage')!)
  if (typeof storage === 'string') throw badRequest(`--storage: ${storage}.`)
  const { dataDir } = config
  const folder = join(dataDir, 'database')
  const control = await readFile(join(folder, 'global', 'pg_control')).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw await stopped(error, dataDir)
    return null
  })
  if (control === null)
    throw badRequest(
      `There is no embedded database in ${dataDir}. Set SERVICE_DATA_DIR or --data-dir to another folder.`,
    )
  const lock = await lockFolder(dataDir)
  const scratch = scratchOf(dataDir)
  try {
    await rm(scratch, { recursive: true, force: true })
    await mkdir(scratch, { mode: 0o700 })
    await cp(folder, join(scratch, 'database'), { recursive: true })
    const target = await openTarget(to)
    try {
      const source = await openDatabase({ url: null, dataDir: scratch })
      try {
        const fingerprint = createHash('sha256').update(control).digest('hex')
        // Its local files are in the copy's folder: the data folder may belong to another user.
        const elsewhere = storage === null ? null : await openStorage({ ...config, dataDir: scratch, storage }, TARGET)
        // Any request: it fails before the rows are copied if the storage does not respond.
        await elsewhere?.blobs.has(fingerprint)
        let unreadable: readonly string[] = []
        const moved = await moveDatabase(source.sql, target, {
          fingerprint,
          migrations: MIGRATIONS,
          progress,
          beforeEnd: async () => {
            progress(storage === null ? 'Hashing the stored files' : `Copying the stored files to ${text('storage')}`)
            const { blobs } = await openStorage(config)
            unreadable = await checkFiles(source, blobs, elsewhere?.blobs ?? null)
            for (const each of [blobs, elsewhere?.blobs]) await each?.close()
          },
        })
        // The move is complete by now, so nothing may fail it.
        const damaged = await referencedIn(target, unreadable, { ...config, dataDir: scratch }).catch(() => unreadable)
        for (const sha256 of damaged) progress(`The stored file ${sha256} is damaged or missing.`)
        result(
          { ...moved, damaged_files: damaged.length },
          `Moved ${moved.rows} rows of ${moved.tables} tables; they are the same on both sides. Now set ` +
            `SERVICE_DATABASE_URL=${shown(to)}${storage === null ? '' : ` and SERVICE_STORAGE_URL=${text('storage')}`}, and keep ` +
            `SERVICE_DATA_DIR=${dataDir}, where ${storage === null ? 'the stored files and keys' : 'the keys'} are. ` +
            `Once the service works with the new database, you can delete ${folder}.`,
        )
      } finally {
        await source.close()
      }
    } finally {
      await target.close()
    }
  } catch (error) {
    const isNamed = [ServiceError, StartError, ConfigError].some((kind) => error instanceof kind)
    if (isNamed || !(error instanceof Error)) throw error
    throw await stopped(error, dataDir)
  } finally {
    await rm(scratch, { recursive: true, force: true }).catch(() => undefined)
    await lock.release()
  }
}
