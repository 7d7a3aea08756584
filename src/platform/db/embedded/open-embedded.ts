import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { asDiskFull } from '../../../domain/outages.ts'
import { ownerAdvice } from '../../files/folder-owner.ts'
import { makeFolder } from '../../files/make-folder.ts'
import { ignoreBrokenConnections, parseValue } from '../pool.ts'
import { StartError } from '../start-error.ts'
import { startDatabaseThread, type ThreadEvents } from './database-thread.ts'
import { lockFolder } from './folder-lock.ts'
import { createDatabaseFolder, EMBEDDED_MAJOR } from './template.ts'

/** Returns the error to show if the database may not read or write one of its files, with its owner; null for other errors. */
export const asDenied = async (error: unknown, dataDir: string): Promise<StartError | null> => {
  if (!(error instanceof Error)) return null
  const file = /"([^"]+)": Permission denied/.exec(error.message)?.[1]
  const advice = file === undefined ? null : await ownerAdvice(join(dataDir, 'database', file), dataDir)
  return advice === null ? null : new StartError(`${error.message}. ${advice}.`, error)
}

/** Opens `dataDir`/database, creating it if necessary. Only one process can; others get a StartError. */
export const openEmbedded = async (dataDir: string, events: ThreadEvents) => {
  const folder = join(dataDir, 'database')
  const unusable = async (error: unknown): Promise<StartError> => {
    if (asDiskFull(error) !== undefined) {
      return new StartError(
        `The data folder ${dataDir} cannot be used: the disk is full. Free space, or set SERVICE_DATA_DIR to another folder.`,
        error,
      )
    }
    if (error instanceof StartError) return (await asDenied(error, dataDir)) ?? error
    const fix = 'Set SERVICE_DATA_DIR to another folder.'
    return new StartError(`The data folder ${dataDir} cannot be used: ${error}. ${fix}`, error)
  }
  await makeFolder(dataDir).catch(async (error: unknown) => {
    throw await unusable(error)
  })
  const lock = await lockFolder(dataDir)
  try {
    const major = (await readFile(join(folder, 'PG_VERSION'), 'utf8').catch(() => undefined))?.trim()
    if (major === undefined) await createDatabaseFolder(folder)
    else if (major !== EMBEDDED_MAJOR) throw otherMajor(folder, major)

    const thread = await startDatabaseThread(folder, events)
    const pool = new pg.Pool({
      // PGlite has one session: several connections would share one transaction.
      max: 1,
      idleTimeoutMillis: 0,
      types: { getTypeParser: parseValue },
      stream: () => thread.connect(),
      // Nothing leaves the process, so host and password are fixed, whatever PGHOST and similar variables contain.
      host: 'embedded',
      user: 'postgres',
      database: 'postgres',
      password: '',
      ssl: false,
    })
    ignoreBrokenConnections(pool)
    return {
      pool,
      thread,
      close: async () => {
        await pool.end()
        await thread.close()
        await lock.release()
      },
    }
  } catch (error) {
    await lock.release()
    throw await unusable(error)
  }
}

const otherMajor = (folder: string, major: string): StartError =>
  new StartError(
    `The database in ${folder} was written by PostgreSQL ${major}; this program embeds ${EMBEDDED_MAJOR}. ` +
      'Move it to a PostgreSQL server with the version of the program that wrote it (svc migrate --to postgres://...), ' +
      'then set SERVICE_DATABASE_URL here.',
  )
