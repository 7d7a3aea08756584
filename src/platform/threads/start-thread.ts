import { Worker, type WorkerOptions } from 'node:worker_threads'
import { threadEntry } from './thread-entry.ts'

/** Starts a worker thread from the file `name` next to the calling module. */
export const startThread = (importMetaUrl: string, name: string, options: Omit<WorkerOptions, 'eval'> = {}): Worker =>
  // Without the arguments of the main thread, which from source would load its TypeScript loader here as well.
  new Worker(threadEntry(importMetaUrl, name), {
    name,
    ...(importMetaUrl.endsWith('.ts') && { execArgv: [] }),
    ...options,
  })
