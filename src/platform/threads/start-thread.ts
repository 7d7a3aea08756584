import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { Worker, type WorkerOptions } from 'node:worker_threads'

const CACHE = new URL('../../../node_modules/.cache/tributary-threads/', import.meta.url)
const compiled = new Map<string, URL>()

/**
 * Compiles the program of a thread or process from its .ts source into one JavaScript file: Node 20 does not pass the main
 * thread's loader on, and loading a loader in each thread would take longer than its work. Compiled once per process.
 */
const compiledEntry = (source: URL): URL => {
  const earlier = compiled.get(source.href)
  if (earlier) return earlier
  const { buildSync } = createRequire(import.meta.url)('esbuild') as typeof import('esbuild')
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(source)],
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    define: { 'import.meta.url': JSON.stringify(source.href) },
    write: false,
  })
  const code = outputFiles[0]?.contents ?? new Uint8Array()
  const file = new URL(`${createHash('sha256').update(code).digest('hex').slice(0, 16)}.mjs`, CACHE)
  compiled.set(source.href, file)
  if (existsSync(file)) return file
  // Other processes may be about to start the same program and must not find an incomplete file.
  const unfinished = new URL(`${process.pid}.mjs`, CACHE)
  mkdirSync(CACHE, { recursive: true })
  writeFileSync(unfinished, code)
  renameSync(unfinished, file)
  return file
}

/**
 * Returns the file from which a worker thread or child process starts, next to the module that starts it. In a build, that is
 * the .js file of this name. From source (tests, `npm run dev`) it is the .ts file, compiled if it is a separate program:
 * `x.worker` or `x.process`.
 */
export const threadEntry = (importMetaUrl: string, name: string): URL => {
  if (!importMetaUrl.endsWith('.ts')) return new URL(`./${name}.js`, importMetaUrl)
  const source = new URL(`./${name}.ts`, importMetaUrl)
  return /\.(worker|process)$/.test(name) ? compiledEntry(source) : source
}

/** Starts a worker thread from the file `name` next to the calling module. */
export const startThread = (importMetaUrl: string, name: string, options: Omit<WorkerOptions, 'eval'> = {}): Worker =>
  // Without the main thread's arguments, which from source would load its TypeScript loader here as well.
  new Worker(threadEntry(importMetaUrl, name), {
    name,
    ...(importMetaUrl.endsWith('.ts') && { execArgv: [] }),
    ...options,
  })
