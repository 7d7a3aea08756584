import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { ignoreBrokenConnections, parseValue } from '../pool.ts'
import { StartError } from '../start-error.ts'
import { type DatabaseThread, startDatabaseThread, type ThreadEvents } from './database-thread.ts'
import { lockFolder } from './folder-lock.ts'
import { createDatabaseFolder, EMBEDDED_MAJOR } from './template.ts'

export interface EmbeddedDatabase {
  readonly pool: pg.Pool
  readonly thread: DatabaseThread
  close(): Promise<void>
}

/** Opens `dataDir`/database, creating it if necessary. Only one process can; others get a StartError. */
export const openEmbedded = async (dataDir: string, events: ThreadEvents): Promise<EmbeddedDatabase> => {
  const unusable = (error: unknown): StartError =>
    error instanceof StartError
      ? error
      : new StartError(
          `The data folder ${dataDir} cannot be used: ${error}. Set SERVICE_DATA_DIR to another folder.`,
          error,
        )
  const lock = await mkdir(dataDir, { recursive: true })
    .then(() => lockFolder(dataDir))
    .catch((error: unknown) => {
      throw unusable(error)
    })
  try {
    const folder = join(dataDir, 'database')
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
    throw unusable(error)
  }
}

const otherMajor = (folder: string, major: string): StartError =>
  new StartError(
    `The database in ${folder} was written by PostgreSQL ${major}; this program embeds ${EMBEDDED_MAJOR}. ` +
      'Move it to a PostgreSQL server with the version of the program that wrote it (svc migrate --to postgres://...), ' +
      'then set SERVICE_DATABASE_URL here.',
  )
