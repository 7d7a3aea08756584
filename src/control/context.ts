import { randomBytes, randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { AggregationWorkers } from '../aggregation/worker-pool.ts'
import type { Config } from '../config.ts'
import { openPartialFiles, type PartialFiles } from '../platform/blobs/partial-files.ts'
import { createSharedPartialFiles, type UploadParts } from '../platform/blobs/shared-partial-files.ts'
import type { Hints } from '../platform/db/hints.ts'
import { migrate } from '../platform/db/migrate.ts'
import { MIGRATIONS } from '../platform/db/migrations/all.ts'
import { refuseUnfinishedMove } from '../platform/db/moving/move-state.ts'
import { type Database, type Executor, openDatabase } from '../platform/db/open.ts'
import { createChangeNotifier } from '../platform/events/change-notifier.ts'
import { createEventBus } from '../platform/events/event-bus.ts'
import { createLogger } from '../platform/http/request-log.ts'
import { createSecrets } from '../platform/secrets.ts'
import { refuseUnfinishedRestore, requireDataFolder } from './data-folder.ts'
import type { Changes, ControlEvents } from './events.ts'
import { Accounting } from './federations/accounting/accounting.ts'
import { openStorage } from './storage.ts'

/** What differs between production and a test: the clock, random numbers, and resources that are already open. */
export interface Surroundings {
  readonly now?: () => Date
  readonly newId?: () => string
  readonly random?: () => number
  /** 32 bytes, the seed for drawing the devices of a private round. */
  readonly drawSeed?: () => Uint8Array
  /** Called when the service cannot go on: its database has died. */
  readonly onFatal?: (error: Error) => void
  /** An open database to work on, instead of the one that the settings name. */
  readonly database?: Database
  /** Threads to work with, instead of its own; `close` leaves them running. */
  readonly workers?: AggregationWorkers
  readonly accounting?: Accounting
  /** The built dashboard to serve, instead of the one next to the program; null for none. */
  readonly webFolder?: string | null
}

/** Beside the built program, and where it is built to when this runs from its sources. */
const WEB_FOLDER = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../dist/web' : '../web', import.meta.url),
)

/** What every module uses: the log, the database, the files, the threads, events, time, and random numbers. */
export type Context = Awaited<ReturnType<typeof openContext>>

/** What routes must know of the context when they are registered. */
export type Settings = Pick<Context, 'config' | 'blobs' | 'now'>

/** Rounds and their ends are told to the processes that devices wait at. Plans are not: each tells when it has read them. */
const shareChanges = (changes: Changes, hints: Hints): Changes => {
  hints.listen('rounds', () => changes.notify('rounds'))
  hints.listen('endings', () => changes.notify('endings'))
  return { ...changes, notify: (topic) => (topic === 'plans' ? changes.notify(topic) : hints.send(topic)) }
}

/** Opens the data folder and the database, and brings the database up to date. */
export const openContext = async (config: Config, surroundings: Surroundings) => {
  const now = surroundings.now ?? (() => new Date())
  const newId = surroundings.newId ?? randomUUID
  const random = surroundings.random ?? Math.random
  const drawSeed = surroundings.drawSeed ?? (() => randomBytes(32))
  const log = createLogger({ level: config.logLevel })

  await requireDataFolder(config.dataDir)
  await refuseUnfinishedRestore(config.dataDir)
  const { blobs, folder, objects } = await openStorage(config)
  const database =
    surroundings.database ??
    (await openDatabase({
      url: config.databaseUrl,
      dataDir: config.dataDir,
      log,
      ...(surroundings.onFatal && { onFatal: surroundings.onFatal }),
    }))
  await refuseUnfinishedMove(database)
  await migrate(database, MIGRATIONS)
  const local = objects === null ? await openPartialFiles(folder) : null
  /** In the folder of files, or in S3 with `parts` as the index. */
  const partialsOf = (parts: UploadParts): PartialFiles => local ?? createSharedPartialFiles(objects!, parts)
  const events = createEventBus<Executor, ControlEvents>(log)
  const changes = shareChanges(createChangeNotifier(), database.hints)
  const workers = surroundings.workers ?? new AggregationWorkers()
  const accounting = surroundings.accounting ?? new Accounting()
  /** Waiting callers are told to retry: a queue of requests would keep the service from stopping. */
  const closeAccounting = async (): Promise<void> => {
    if (surroundings.accounting === undefined) await accounting.close()
  }
  const close = async (): Promise<void> => {
    if (surroundings.workers === undefined) await workers.close()
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
    webFolder: surroundings.webFolder === undefined ? WEB_FOLDER : surroundings.webFolder,
    closeAccounting,
    close,
  }
}
