import { parentPort } from 'node:worker_threads'
import { InferenceError } from '../errors.ts'
import { type CompiledSchema, compileSchema } from './compile-schema.ts'

// A schema may take long to compile: here it stops nobody else, and can be given up on.

export interface CompileOrder {
  readonly key: string
  /** As JSON. */
  readonly schema: string
}

export type CompileAnswer = { readonly compiled: CompiledSchema } | { readonly fault: string }

const answer = ({ key, schema }: CompileOrder): CompileAnswer => {
  try {
    return { compiled: compileSchema(JSON.parse(schema), key) }
  } catch (error) {
    if (error instanceof InferenceError) return { fault: error.message }
    throw error
  }
}

parentPort!.on('message', (order: CompileOrder) => parentPort!.postMessage(answer(order)))
