import { Kysely, sql as statement } from 'kysely'
import type pg from 'pg'
import { openEmbedded } from './embedded/open-embedded.ts'
import type { RowCounts } from './embedded/thread-messages.ts'
import { createLocalHints, createServerHints, type Hints } from './hints.ts'
import { IS_READ_ONLY, openServer } from './open-server.ts'
import type { Tables } from './rows.ts'
import { StorableDialect } from './storable-parameters.ts'
import { currentObserver, insideTransaction, refuseInsideTransaction, retrying } from './transactions.ts'

/** This process's use of the database since it started. */
export interface DatabaseLoad {
  statements: number
  /** Total time until results. */
  statementSeconds: number
  /** Total time until a connection was available. */
  waitSeconds: number
}

/** What a store runs its statements on: the pool, or the current transaction. Every store method takes one. */
export type Executor = Kysely<Tables>

export interface Database {
  /** The pool. Throws inside a transaction's body: use the executor passed to the body. */
  readonly sql: Executor
  readonly kind: 'embedded' | 'postgres'
  /** Notifies this and other processes on the same database of changes. */
  readonly hints: Hints
  readonly load: Readonly<DatabaseLoad>
  /**
   * Runs `work` in one transaction. Repeats it from the beginning after a deadlock or a serialization failure, so its only side
   * effects must be on its executor.
   */
  transaction<T>(work: (tx: Executor) => Promise<T>): Promise<T>
  /**
   * For the embedded database: copies its folder to `target`, which must not exist, at a point between two transactions, and
   * returns each table's row count at that point. Statements wait meanwhile. Null for a server.
   */
  readonly copyFolder: ((target: string) => Promise<RowCounts>) | null
  close(): Promise<void>
}

/** Throws, as any write would, if the database is read-only: after a failover, it may be a standby. */
export const requireWritable = async (db: Executor): Promise<void> => {
  const { rows } = await statement.raw<{ is_read_only: boolean }>(IS_READ_ONLY).execute(db)
  if (rows[0]?.is_read_only === true) throw Object.assign(new Error('The database is read-only.'), { code: '25006' })
}

interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export interface OpenOptions {
  /** postgres://…, or null for the embedded database. */
  readonly url: string | null
  /** The embedded database is in its subfolder `database`. */
  readonly dataDir: string
  /** None by default. */
  readonly log?: Log
  /** Called, after logging, if the embedded database has stopped and every query will fail: end the process. */
  readonly onFatal?: (error: Error) => void
}

/**
 * Opens the database; it has no tables before `migrate`.
 * @throws StartError if it cannot be reached or opened, or another process holds the data folder.
 */
export const openDatabase = async (options: OpenOptions): Promise<Database> => {
  const { url, dataDir, log } = options
  if (url !== null) {
    const pool = await openServer(url)
    return databaseOn(pool, createServerHints(url), { kind: 'postgres', copyFolder: null }, () => pool.end())
  }
  const embedded = await openEmbedded(dataDir, {
    onFatal: (error) => {
      log?.error({ dataDir }, error.message)
      options.onFatal?.(error)
    },
    onWarning: (message) => log?.warn({ dataDir }, message),
  })
  log?.info({ dataDir }, 'embedded database is open')
  return databaseOn(
    embedded.pool,
    createLocalHints(),
    { kind: 'embedded', copyFolder: embedded.thread.copy },
    embedded.close,
  )
}

const databaseOn = (
  pool: pg.Pool,
  hints: Hints,
  { kind, copyFolder }: Pick<Database, 'kind' | 'copyFolder'>,
  close: () => Promise<void>,
): Database => {
  const load: DatabaseLoad = { statements: 0, statementSeconds: 0, waitSeconds: 0 }
  const guarded = {
    connect: async () => {
      refuseInsideTransaction('A query on the pool')
      const began = performance.now()
      try {
        return await pool.connect()
      } finally {
        load.waitSeconds += (performance.now() - began) / 1000
      }
    },
    end: async () => undefined,
  }
  const sql = new Kysely<Tables>({
    dialect: new StorableDialect({ pool: guarded }),
    log: ({ queryDurationMillis }) => {
      load.statements++
      load.statementSeconds += queryDurationMillis / 1000
    },
  })
  return {
    sql,
    kind,
    copyFolder,
    hints,
    load,
    async transaction(work) {
      let afterwards: (() => Promise<void>)[] = []
      const witness = currentObserver<Executor>()
      const result = await retrying(() => {
        afterwards = []
        witness?.begun()
        return sql.transaction().execute(async (tx) => {
          const done = await insideTransaction(() => work(tx), afterwards)
          await witness?.ending(tx)
          return done
        })
      })
      witness?.committed()
      for (const each of afterwards) await each()
      return result
    },
    close: async () => {
      await hints.close()
      await sql.destroy()
      await close()
    },
  }
}
