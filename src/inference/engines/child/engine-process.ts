import { type ChildProcess, fork } from 'node:child_process'
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { threadEntry } from '../../../platform/threads/start-thread.ts'
import { engineEnvironment } from './engine-environment.ts'

/** A program that runs a model in its own process. */
export interface EngineProgram {
  /** The file to start, without its extension, next to the module at `importMetaUrl`. */
  readonly entry: { readonly importMetaUrl: string; readonly file: string }
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>
  /** JSON is faster for short texts; `advanced` sends audio and vectors as binary numbers. */
  readonly serialization?: 'json' | 'advanced'
}

const UNUSED_MS = 10_000

const ahead = new Map<EngineProgram, ChildProcess>()

/** Running from source, the process must load tsx to understand TypeScript. */
const loaderFor = (entry: URL): string[] =>
  entry.pathname.endsWith('.ts') ? ['--import', pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href] : []

const forkProgram = ({ entry: { importMetaUrl, file }, env, serialization = 'json' }: EngineProgram): ChildProcess => {
  const entry = threadEntry(importMetaUrl, file)
  return fork(fileURLToPath(entry), [], {
    execArgv: loaderFor(entry),
    env: engineEnvironment({ ...process.env, ...env }),
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    serialization,
  })
}

/** Sets whether this process waits for the child before it exits. */
const keepAlive = (child: ChildProcess, change: 'ref' | 'unref'): void => {
  child[change]()
  child.channel?.[change]()
  ;(child.stderr as Socket | null)?.[change]()
}

/** Starts the program before it is known to be needed, to load it on another core meanwhile. Unused, it ends by itself. */
export const startAhead = (program: EngineProgram): ChildProcess => {
  const child = forkProgram(program)
  const forget = (): void => {
    clearTimeout(unused)
    if (ahead.get(program) === child) ahead.delete(program)
  }
  const unused = setTimeout(() => {
    if (ahead.get(program) === child) child.kill('SIGKILL')
  }, UNUSED_MS).unref()
  child.once('error', forget).once('exit', forget)
  keepAlive(child, 'unref')
  ahead.set(program, child)
  return child
}

/** Returns the process that was started ahead, or a new one. */
export const startProgram = (program: EngineProgram): ChildProcess => {
  const child = ahead.get(program)
  ahead.delete(program)
  if (!child?.connected) return forkProgram(program)
  keepAlive(child, 'ref')
  return child
}
