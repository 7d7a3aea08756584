import { createHash } from 'node:crypto'
import type { Worker } from 'node:worker_threads'
import { startThread } from '../../platform/threads/start-thread.ts'
import { InferenceError } from '../errors.ts'
import type { CompileAnswer, CompileOrder } from './compile.worker.ts'
import type { CompiledSchema } from './compile-schema.ts'
import { checkBudget } from './schema-budget.ts'
import type { Schema } from './schema-fault.ts'

/** Compiles each schema once, in a thread of its own. */
export interface SchemaCompiler {
  /** @throws InferenceError unsupported for what cannot be kept or takes too long, queue_full where too many wait */
  compile(schema: Schema): Promise<CompiledSchema>
  /** Counters: how many schemas the thread was given, and how many were known already. */
  readonly counts: { readonly compiled: number; readonly cached: number }
  close(): Promise<void>
}

export interface SchemaCompilerOptions {
  readonly deadlineMs?: number
  readonly cacheEntries?: number
  readonly maxWaiting?: number
}

const DEADLINE_MS = 2000
const CACHE_ENTRIES = 64
const CACHE_CHARACTERS = 32 * 1024 * 1024
const MAX_WAITING = 64
const MEMORY_MB = 256

interface Known {
  readonly answer: Promise<CompileAnswer>
  size: number
}

const refused = (message: string): InferenceError =>
  new InferenceError('unsupported', message, { param: 'response_format' })

export const createSchemaCompiler = (options: SchemaCompilerOptions = {}): SchemaCompiler => {
  const { deadlineMs = DEADLINE_MS, cacheEntries = CACHE_ENTRIES, maxWaiting = MAX_WAITING } = options
  const counts = { compiled: 0, cached: 0 }
  /** Least recently used first. Also what was refused: it is refused again without work. */
  const known = new Map<string, Known>()
  let thread: Worker | null = null
  let waiting = 0
  let last: Promise<unknown> = Promise.resolve()

  const end = async (): Promise<void> => {
    const ending = thread
    thread = null
    await ending?.terminate()
  }

  const run = (order: CompileOrder): Promise<CompileAnswer> => {
    counts.compiled += 1
    const worker = (thread ??= startThread(import.meta.url, 'compile.worker', {
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    }))
    worker.ref()
    return new Promise<CompileAnswer>((resolve, reject) => {
      const stop = (): void => {
        clearTimeout(timer)
        worker.off('message', settle).off('error', fail).off('exit', fail)
        worker.unref()
      }
      const settle = (answer: CompileAnswer): void => {
        stop()
        resolve(answer)
      }
      const giveUp = (why: string): void => {
        stop()
        reject(refused(`The JSON schema is too complex: ${why}. Make it simpler.`))
        // What still runs in it is of no use any more, and an error of its own nobody's.
        worker.on('error', () => undefined)
        if (thread === worker) void end()
      }
      const fail = (): void => giveUp('compiling it takes more memory than it may have')
      const timer = setTimeout(() => giveUp(`compiling it took longer than ${deadlineMs} ms`), deadlineMs)
      worker.on('message', settle).on('error', fail).on('exit', fail)
      worker.postMessage(order)
    })
  }

  const enqueue = (order: CompileOrder): Promise<CompileAnswer> => {
    if (waiting >= maxWaiting)
      throw new InferenceError('queue_full', `${waiting} JSON schemas wait to be compiled already. Try again later.`, {
        retryAfterSeconds: 1,
      })
    waiting += 1
    const answer = last.then(() => run(order)).finally(() => (waiting -= 1))
    last = answer.catch(() => undefined)
    return answer
  }

  const forget = (): void => {
    let size = [...known.values()].reduce((sum, entry) => sum + entry.size, 0)
    for (const [key, entry] of known) {
      if (known.size <= cacheEntries && size <= CACHE_CHARACTERS) return
      known.delete(key)
      size -= entry.size
    }
  }

  const lookUp = (key: string, schema: string): Promise<CompileAnswer> => {
    const found = known.get(key)
    if (found !== undefined) counts.cached += 1
    const entry = found ?? { answer: enqueue({ key, schema }), size: 0 }
    known.delete(key)
    known.set(key, entry)
    if (found === undefined)
      entry.answer.then(
        (answer) => {
          entry.size = 'compiled' in answer ? answer.compiled.gbnf.length + answer.compiled.grammar.length : 0
          forget()
        },
        // On a busy machine it may be fast enough the next time.
        () => known.delete(key),
      )
    return entry.answer
  }

  return {
    counts,
    compile: async (schema) => {
      checkBudget(schema)
      const text = JSON.stringify(schema)
      const answer = await lookUp(createHash('sha256').update(text).digest('hex'), text)
      if ('fault' in answer) throw refused(answer.fault)
      return answer.compiled
    },
    close: end,
  }
}
