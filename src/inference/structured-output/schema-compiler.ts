import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { JobThread } from '../../platform/threads/job-thread.ts'
import { startThread } from '../../platform/threads/start-thread.ts'
import { InferenceError } from '../errors.ts'
import type { CompileRequest, CompileResult } from './compile.worker.ts'
import type { CompiledSchema } from './compile-schema.ts'
import { checkBudget } from './schema-budget.ts'
import type { Schema } from './schema-fault.ts'
import type { ToolGrammarRequest } from './tool-grammar.ts'

/** Compiles each schema once, in a worker thread. */
export interface SchemaCompiler {
  /** @throws InferenceError unsupported for a schema that cannot be enforced or takes too long, queue_full if too many wait */
  compile(schema: Schema): Promise<CompiledSchema>
  /** Like compile, but for replies that call functions. Errors name the function. */
  compileTools(request: ToolGrammarRequest): Promise<CompiledSchema>
  /** Counts schemas sent to the worker and schemas found in the cache. */
  readonly counts: { readonly compiled: number; readonly cached: number }
  close(): Promise<void>
}

export interface SchemaCompilerOptions {
  readonly deadlineMs?: number
  readonly cacheEntries?: number
  readonly maxWaiting?: number
}

/** While a model computes on every core, milliseconds of work take seconds. */
const DEADLINE_MS = 10_000
const CACHE_ENTRIES = 64
const CACHE_CHARACTERS = 32 * 1024 * 1024
const MAX_WAITING = 64
const MEMORY_MB = 256

const PARAMS = { schema: 'response_format', tools: 'tools' } as const

const tooComplex = (why: string, kind: CompileRequest['kind'] = 'schema'): InferenceError =>
  new InferenceError('unsupported', `The JSON schema is too complex: ${why}. Make it simpler.`, { param: PARAMS[kind] })

const sizeOf = (result: CompileResult): number =>
  'compiled' in result ? result.compiled.gbnf.length + result.compiled.grammar.length : 1

export const createSchemaCompiler = (options: SchemaCompilerOptions = {}): SchemaCompiler => {
  const { deadlineMs = DEADLINE_MS, cacheEntries = CACHE_ENTRIES, maxWaiting = MAX_WAITING } = options
  const counts = { compiled: 0, cached: 0 }
  /** Includes refusals, so that a refused schema needs no work again. */
  const known = new LRUCache<string, CompileResult>({
    max: cacheEntries,
    maxSize: CACHE_CHARACTERS,
    sizeCalculation: sizeOf,
  })
  const compiling = new Map<string, Promise<CompileResult>>()
  let last: Promise<unknown> = Promise.resolve()
  const thread = new JobThread<CompileRequest, CompileResult>(() =>
    startThread(import.meta.url, 'compile.worker', { resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB } }),
  )

  const run = async (request: CompileRequest): Promise<CompileResult> => {
    counts.compiled += 1
    const tooLong = tooComplex(`compiling it took longer than ${deadlineMs} ms`, request.kind)
    const answered = thread.run(request)
    const timer = setTimeout(() => void thread.stop(tooLong), deadlineMs)
    try {
      const result = await answered
      known.set(request.key, result)
      return result
    } catch (error) {
      // Not cached, because it may be fast enough the next time on a busy machine.
      throw error === tooLong ? error : tooComplex('compiling it takes more memory than it may have', request.kind)
    } finally {
      clearTimeout(timer)
      compiling.delete(request.key)
    }
  }

  const enqueue = (request: CompileRequest): Promise<CompileResult> => {
    if (compiling.size >= maxWaiting)
      throw new InferenceError(
        'queue_full',
        `${compiling.size} JSON schemas are already waiting to be compiled. Try again later.`,
        { retryAfterSeconds: 1 },
      )
    const result = last.then(() => run(request))
    last = result.catch(() => undefined)
    compiling.set(request.key, result)
    return result
  }

  const compiled = async (kind: CompileRequest['kind'], value: object): Promise<CompiledSchema> => {
    const source = JSON.stringify(value)
    const key = createHash('sha256').update(`${kind} ${source}`).digest('hex')
    const found = known.get(key) ?? compiling.get(key)
    if (found !== undefined) counts.cached += 1
    const result = await (found ?? enqueue({ key, kind, source }))
    if ('compiled' in result) return result.compiled
    throw new InferenceError('unsupported', result.fault, {
      param: kind === 'tools' && result.param?.startsWith('tools') ? result.param : PARAMS[kind],
    })
  }

  return {
    counts,
    compile: async (schema) => {
      checkBudget(schema)
      return compiled('schema', schema)
    },
    compileTools: (request) => compiled('tools', request),
    close: () => thread.close(tooComplex('the server is shutting down')),
  }
}
