import { PGlite } from '@electric-sql/pglite'
import { DurableFs } from './durable-fs.ts'

// PGlite's defaults without -F (which turns fsync off), with an fsync method that works (see DurableFs), and small.
const START_PARAMETERS = [
  ...PGlite.defaultStartParams.filter((parameter) => parameter !== '-F'),
  ...['wal_sync_method=fsync', 'shared_buffers=16MB', 'max_wal_size=128MB', 'TimeZone=UTC'].flatMap((setting) => [
    '-c',
    setting,
  ]),
]

/** How Emscripten's exit looks when PostgreSQL reports an ordinary error (its siglongjmp). */
const ORDINARY_ERROR = 100

// What PostgreSQL logged when it gave up. One thread holds one database, so one variable will do.
let lastWords = ''

/**
 * PGlite, ending at a PANIC. PostgreSQL panics when it cannot write its log, and must never answer again; PGlite takes
 * the exception for an ordinary error and goes on, or spins for ever.
 */
export class StoppablePGlite extends PGlite {
  constructor(folder: string, onSync: () => void) {
    super({
      fs: new DurableFs(folder, onSync),
      startParams: START_PARAMETERS,
      onStderr: (line) => {
        if (/PANIC|FATAL/.test(line)) lastWords = line.replace(/^.*?(PANIC|FATAL)/, '$1')
        return false
      },
    })
  }

  // PGlite reads the array types at its start for a parser that we do not use: a fifth of the time to open.
  override async _initArrayTypes(): Promise<void> {}

  /** Waits until the database is open. `stop` is called, and must not return, when it cannot go on. */
  async open(stop: (why: string) => never): Promise<void> {
    await this.waitReady.catch((error: unknown) => stop(lastWords || String(error)))
    const module = this.Module
    const loopOnce = module._PostgresMainLoopOnce
    module._PostgresMainLoopOnce = () => {
      try {
        loopOnce()
      } catch (error) {
        // Emscripten's ExitStatus, which is no Error.
        if ((error as { status?: unknown }).status === ORDINARY_ERROR) throw error
        stop(lastWords || String(error))
      }
    }
  }
}
