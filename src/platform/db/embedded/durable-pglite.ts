import { closeSync, fsyncSync, openSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { PGlite } from '@electric-sql/pglite'
import { NodeFS } from '@electric-sql/pglite/nodefs'

/** The part of Emscripten's NODEFS that we complete: without an fsync operation, PostgreSQL's fsync does nothing. */
interface EmscriptenModule {
  readonly NODEFS: {
    readonly stream_ops: { fsync?: (stream: Stream) => number }
    realPath(node: unknown): string
    tryFSOperation<T>(operation: () => T): T
  }
  readonly FS: { isDir(mode: number): boolean }
}

interface Stream {
  readonly nfd: number | undefined
  readonly node: { readonly mode: number }
}

/**
 * PGlite's folder on disk, with an fsync that reaches the disk.
 *
 * It relies on internals of PGlite 0.5.16 and its Emscripten, hence the exact version in package.json; the test that counts
 * flushes per commit fails if they change. PostgreSQL must be started with wal_sync_method=fsync, because Emscripten's
 * fdatasync is empty and cannot be replaced from outside.
 */
class DurableFs extends NodeFS {
  readonly #onSync: () => void

  constructor(folder: string, onSync: () => void) {
    super(folder)
    this.#onSync = onSync
  }

  override async init(pg: PGlite, options: Parameters<NodeFS['init']>[1]): ReturnType<NodeFS['init']> {
    const { emscriptenOpts } = await super.init(pg, options)
    const addFsync = (module: unknown): void => {
      const { NODEFS, FS } = module as EmscriptenModule
      NODEFS.stream_ops.fsync = (stream) => {
        NODEFS.tryFSOperation(() => {
          if (FS.isDir(stream.node.mode) || stream.nfd === undefined) syncFolder(NODEFS.realPath(stream.node))
          else fsyncSync(stream.nfd)
        })
        this.#onSync()
        return 0
      }
    }
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [...(emscriptenOpts.preRun ?? []), addFsync] } }
  }
}

// Windows cannot open a folder, and does not need to flush one: NTFS journals its entries.
const syncFolder = (path: string): void => {
  if (process.platform === 'win32') return
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

// PGlite's defaults without -F (which turns fsync off), with an fsync method that works (see DurableFs), and little memory.
const START_PARAMETERS = [
  ...PGlite.defaultStartParams.filter((parameter) => parameter !== '-F'),
  ...['wal_sync_method=fsync', 'shared_buffers=16MB', 'max_wal_size=128MB', 'TimeZone=UTC'].flatMap((setting) => [
    '-c',
    setting,
  ]),
]

// V8 takes 45 MB to optimize each of PostgreSQL's largest functions: limit it to one at a time, and to those called often under
// load (the budget is in bytes executed). EARLY_OPTIMIZING is V8's default budget, for the aggregation kernels.
const LATE_OPTIMIZING = ['--wasm-num-compilation-tasks=1', '--wasm-tiering-budget=1000000000']
const EARLY_OPTIMIZING = '--wasm-tiering-budget=1800000'

/** The status of Emscripten's exit when PostgreSQL reports an ordinary error (its siglongjmp). */
const ORDINARY_ERROR = 100

// PostgreSQL's last log message before it stopped. One variable is enough, since a thread has one database.
let lastWords = ''

/**
 * PGlite that stops at a PANIC. PostgreSQL panics if it cannot write its log, and must not respond again; PGlite treats the
 * exception as an ordinary error and continues, or spins forever.
 */
export class DurablePGlite extends PGlite {
  constructor(folder: string, onSync: () => void) {
    for (const flag of LATE_OPTIMIZING) setFlagsFromString(flag)
    super({
      fs: new DurableFs(folder, onSync),
      startParams: START_PARAMETERS,
      onStderr: (line) => {
        if (/PANIC|FATAL/.test(line)) lastWords = line.replace(/^.*?(PANIC|FATAL)/, '$1')
        return false
      },
    })
  }

  // PGlite reads the array types at startup for a parser that we do not use, which takes a fifth of the time to open.
  override async _initArrayTypes(): Promise<void> {}

  /** Waits until the database is open. `stop` is called if it cannot continue, and must not return. */
  async open(stop: (why: string) => never): Promise<void> {
    await this.waitReady.catch((error: unknown) => stop(lastWords || String(error)))
    setFlagsFromString(EARLY_OPTIMIZING)
    const module = this.Module
    const loopOnce = module._PostgresMainLoopOnce
    module._PostgresMainLoopOnce = () => {
      try {
        loopOnce()
      } catch (error) {
        // Emscripten's ExitStatus, which is not an Error.
        if ((error as { status?: unknown }).status === ORDINARY_ERROR) throw error
        stop(lastWords || String(error))
      }
    }
  }
}
