import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { Worker, type WorkerOptions } from 'node:worker_threads'
import { threadEntry } from './thread-entry.ts'

/** Starts a worker thread from the file `name` beside the module that asks. */
export const startThread = (importMetaUrl: string, name: string, options: Omit<WorkerOptions, 'eval'> = {}): Worker => {
  const entry = threadEntry(importMetaUrl, name)
  if (!entry.pathname.endsWith('.ts')) return new Worker(entry, { name, ...options })
  // Without the arguments of the main thread, which would load its TypeScript loader here as well.
  return new Worker(compiled(entry), { name, execArgv: [], ...options })
}

const CACHE = new URL('../../node_modules/.cache/tributary-threads/', import.meta.url)

/**
 * The thread's program as one file of JavaScript, when run from source (tests, `npm run dev`): Node 20 does not pass the
 * main thread's loader on, and a loader of its own takes a thread longer to load than all that it then does.
 */
const compiled = (entry: URL): URL => {
  const { buildSync } = createRequire(import.meta.url)('esbuild') as typeof import('esbuild')
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(entry)],
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    define: { 'import.meta.url': JSON.stringify(entry.href) },
    write: false,
  })
  const code = outputFiles[0]?.contents ?? new Uint8Array()
  const file = new URL(`${createHash('sha256').update(code).digest('hex').slice(0, 16)}.mjs`, CACHE)
  if (existsSync(file)) return file
  // Other processes may be about to start the same thread: they must not find half a file.
  const unfinished = new URL(`${process.pid}.mjs`, CACHE)
  mkdirSync(CACHE, { recursive: true })
  writeFileSync(unfinished, code)
  renameSync(unfinished, file)
  return file
}
