import type { MessagePort } from 'node:worker_threads'

/** The start data of the database thread. */
export interface ThreadData {
  /** An initialized PostgreSQL data folder. */
  readonly folder: string
}

/** Commands to the database thread. Queries do not use them: each connection has its own port. */
export type Command =
  | { readonly id: number; readonly kind: 'connect'; readonly port: MessagePort }
  | { readonly id: number; readonly kind: 'maintain' }
  | { readonly id: number; readonly kind: 'counters' }
  /** Copies the database's folder to `target`, which must not exist, as soon as no transaction is open. */
  | { readonly id: number; readonly kind: 'copy'; readonly target: string }
  | { readonly id: number; readonly kind: 'close' }

/** The number of rows in each table. */
export type RowCounts = Readonly<Record<string, number>>

/** Since the thread started. */
export interface Counters {
  /** Flushes of files and folders to disk. */
  readonly syncs: number
  readonly checkpoints: number
  readonly vacuums: number
}

export type Message =
  | { readonly kind: 'ready' }
  /** The database cannot start or continue; the thread ends. */
  | { readonly kind: 'failed'; readonly why: string }
  /** For the log; the thread continues. */
  | { readonly kind: 'trouble'; readonly message: string }
  | { readonly kind: 'done'; readonly id: number; readonly counters: Counters }
  | { readonly kind: 'copied'; readonly id: number; readonly rows: RowCounts }
  | { readonly kind: 'not-copied'; readonly id: number; readonly why: string }
