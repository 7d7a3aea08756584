import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { ignoreBrokenConnections, parseValue } from '../pool.ts'
import { StartError } from '../start-error.ts'
import { type DatabaseThread, startDatabaseThread, type ThreadEvents } from './database-thread.ts'
import { lockFolder } from './folder-lock.ts'
import { ownerAdvice } from './folder-owner.ts'
import { createDatabaseFolder, EMBEDDED_MAJOR } from './template.ts'

export interface EmbeddedDatabase {
  readonly pool: pg.Pool
  readonly thread: DatabaseThread
  close(): Promise<void>
}

/** Opens `dataDir`/database, creating it if necessary. Only one process can; others get a StartError. */
export const openEmbedded = async (dataDir: string, events: ThreadEvents): Promise<EmbeddedDatabase> => {
  const folder = join(dataDir, 'database')
  const unusable = async (error: unknown): Promise<StartError> => {
    const fix = 'Set SERVICE_DATA_DIR to another folder.'
    if (!(error instanceof StartError)) {
      return new StartError(`The data folder ${dataDir} cannot be used: ${error}. ${fix}`, error)
    }
    const file = /"([^"]+)": Permission denied/.exec(error.message)?.[1]
    const advice = file === undefined ? null : await ownerAdvice(join(folder, file), dataDir)
    return advice === null ? error : new StartError(`${error.message}. ${advice}.`, error)
  }
  await mkdir(dataDir, { recursive: true }).catch(async (error: unknown) => {
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
