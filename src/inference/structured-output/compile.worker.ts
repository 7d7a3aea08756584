import { parentPort } from 'node:worker_threads'
import { InferenceError } from '../errors.ts'
import { type CompiledSchema, compileSchema, compileTools } from './compile-schema.ts'

// Runs in a worker thread, because compiling a schema can take long and may have to be stopped.

export interface CompileRequest {
  readonly key: string
  readonly kind: 'schema' | 'tools'
  /** A schema or a ToolOrder in JSON. */
  readonly source: string
}

export type CompileResult =
  | { readonly compiled: CompiledSchema }
  | { readonly fault: string; readonly param: string | null }

const answer = ({ key, kind, source }: CompileRequest): CompileResult => {
  try {
    const compile = kind === 'schema' ? compileSchema : compileTools
    return { compiled: compile(JSON.parse(source), key) }
  } catch (error) {
    if (error instanceof InferenceError) return { fault: error.message, param: error.param }
    throw error
  }
}

parentPort!.on('message', (request: CompileRequest) => parentPort!.postMessage(answer(request)))
