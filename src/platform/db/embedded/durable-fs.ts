import { closeSync, fsyncSync, openSync } from 'node:fs'
import type { PGlite } from '@electric-sql/pglite'
import { NodeFS } from '@electric-sql/pglite/nodefs'

/** The part of Emscripten's NODEFS that we complete: it has no fsync operation, so PostgreSQL's fsync did nothing. */
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
 * The folder on disk as PGlite sees it, with an fsync that reaches the disk.
 *
 * It leans on internals of PGlite 0.5.16 and its Emscripten, hence the exact pin in package.json; the test that counts
 * flushes per commit fails when they move. PostgreSQL must be started with wal_sync_method=fsync, because Emscripten's
 * fdatasync is empty and cannot be replaced from outside.
 */
export class DurableFs extends NodeFS {
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

// Windows cannot open a folder, and needs no flush of one: NTFS journals its entries.
const syncFolder = (path: string): void => {
  if (process.platform === 'win32') return
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
