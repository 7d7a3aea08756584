import { randomBytes, randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { AggregationWorkers } from '../aggregation/aggregation-workers.ts'
import type { Config } from '../config.ts'
import { openPartialFiles, type PartialFiles } from '../platform/blobs/partial-files.ts'
import { createSharedPartialFiles, type UploadParts } from '../platform/blobs/shared-partial-files.ts'
import { migrate } from '../platform/db/migrate.ts'
import { MIGRATIONS } from '../platform/db/migrations/all.ts'
import { refuseUnfinishedMove } from '../platform/db/moving/move-state.ts'
import { type Database, type Executor, openDatabase } from '../platform/db/open.ts'
import { createSharedChanges } from '../platform/events/change-notifier.ts'
import { createEventBus } from '../platform/events/event-bus.ts'
import { createLogger } from '../platform/http/request-log.ts'
import { createSecrets } from '../platform/secrets.ts'
import { hasEmbedded, refuseUnfinishedRestore, requireDataFolder, requireKeys } from './data-folder.ts'
import type { ControlEvents, Topic } from './events.ts'
import { Accounting } from './federations/accounting/accounting.ts'
import { openStorage } from './storage.ts'

/** What the caller may provide; everything has a default. Tests replace the clock, random numbers, and open resources. */
export interface Dependencies {
  readonly now?: () => Date
  readonly newId?: () => string
  readonly random?: () => number
  /** 32 bytes, the seed for drawing the devices of a private round. */
  readonly drawSeed?: () => Uint8Array
  /** Called when the service cannot continue because its database has died. */
  readonly onFatal?: (error: Error) => void
  /** An open database to use instead of the one in the settings. */
  readonly database?: Database
  /** Threads to use instead of new ones; `close` leaves them running. */
  readonly workers?: AggregationWorkers
  readonly accounting?: Accounting
  /** The built dashboard to serve, instead of the one next to the program; null for none. */
  readonly webFolder?: string | null
}

/** Next to the built program; when run from source, the build's output folder. */
const WEB_FOLDER = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../dist/web' : '../web', import.meta.url),
)

/** What every module uses: the log, the database, the files, the threads, events, time, and random numbers. */
export type Context = Awaited<ReturnType<typeof openContext>>

/** The parts of the context that routes need when they are registered. */
export type Settings = Pick<Context, 'config' | 'blobs' | 'now'>

/** Opens the data folder and the database, and brings the database up to date. */
export const openContext = async (config: Config, dependencies: Dependencies) => {
  const now = dependencies.now ?? (() => new Date())
  const newId = dependencies.newId ?? randomUUID
  const random = dependencies.random ?? Math.random
  const drawSeed = dependencies.drawSeed ?? (() => randomBytes(32))
  const log = createLogger({ level: config.logLevel })

  await requireDataFolder(config.dataDir)
  await refuseUnfinishedRestore(config.dataDir)
  await requireKeys(config.dataDir)
  const { blobs, folder, objects } = await openStorage(config)
  const database =
    dependencies.database ??
    (await openDatabase({
      url: config.databaseUrl,
      dataDir: config.dataDir,
      log,
      ...(dependencies.onFatal && { onFatal: dependencies.onFatal }),
    }))
  await refuseUnfinishedMove(database)
  const applied = await migrate(database, MIGRATIONS)
  if (database.kind === 'postgres' && applied.length === MIGRATIONS.length && (await hasEmbedded(config.dataDir))) {
    log.warn(
      { dataDir: config.dataDir },
      'the database that SERVICE_DATABASE_URL names was empty, so this is a new installation; the data folder has the embedded ' +
        'database of another. To move that one, stop the service, empty the database, and run svc migrate.',
    )
  }
  const local = objects === null ? await openPartialFiles(folder) : null
  /** The folder of files, or S3 with `parts` as the index. */
  const partialsOf = (parts: UploadParts): PartialFiles => local ?? createSharedPartialFiles(objects!, parts)
  const events = createEventBus<Executor, ControlEvents>(log)
  // Devices may wait at other processes. Each process notifies of plans itself once it has read them.
  const changes = createSharedChanges<Topic>(database.hints, ['rounds', 'endings'])
  const workers = dependencies.workers ?? new AggregationWorkers()
  const accounting = dependencies.accounting ?? new Accounting()
  /** Waiting callers are told to retry, because finishing their queued requests would delay the stop of the service. */
  const closeAccounting = async (): Promise<void> => {
    if (dependencies.accounting === undefined) await accounting.close()
  }
  const close = async (): Promise<void> => {
    if (dependencies.workers === undefined) await workers.close()
    await blobs.close()
    await database.close()
  }
  return {
    config,
    database,
    blobs,
    partialsOf,
    secrets: createSecrets(config.dataDir),
    workers,
    accounting,
    events,
    changes,
    log,
    now,
    newId,
    random,
    drawSeed,
    webFolder: dependencies.webFolder === undefined ? WEB_FOLDER : dependencies.webFolder,
    closeAccounting,
    close,
  }
}
