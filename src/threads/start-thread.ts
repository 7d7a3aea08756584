import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { Worker, type WorkerOptions } from 'node:worker_threads'
import { threadEntry } from './thread-entry.ts'

/**
 * Starts a worker thread from the file `name` beside the module that asks. Run from source (tests, `npm run dev`), each
 * thread has to be taught TypeScript itself: Node 20 does not pass the main thread's loader on, and `--import tsx`
 * registers in the main thread only.
 */
export const startThread = (importMetaUrl: string, name: string, options: Omit<WorkerOptions, 'eval'> = {}): Worker => {
  const entry = threadEntry(importMetaUrl, name)
  if (!entry.pathname.endsWith('.ts')) return new Worker(entry, { name, ...options })
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx/package.json'))
  const register = JSON.stringify(new URL('./dist/esm/api/index.mjs', tsx).href)
  const boot = `import(${register}).then((tsx) => (tsx.register(), import(${JSON.stringify(entry.href)})))`
  return new Worker(boot, { name, ...options, eval: true })
}
