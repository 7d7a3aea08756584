import type { EngineProgram } from '../child/engine-process.ts'

/** The process of a GGUF model. */
export const LLAMA_PROGRAM: EngineProgram = {
  entry: { importMetaUrl: import.meta.url, file: 'engine.process' },
  // With more threads than one in libuv's pool each step may run on another one, and the cores' caches are cold.
  env: { UV_THREADPOOL_SIZE: '1' },
}
