import { askOnce, converse } from '../child/ask.ts'
import { superviseProcess } from '../child/supervisor.ts'
import type { Engine, ResponseFormat } from '../engine.ts'
import { type LlamaOptions, type ModelFacts, type Settings, settingsOf } from './settings.ts'

export type { DraftOptions, LlamaOptions } from './settings.ts'

/**
 * A GGUF model in a process of its own, which is replaced when it dies.
 * @throws InferenceError invalid_model, engine_missing, out_of_memory
 */
export const openLlamaEngine = async (options: LlamaOptions): Promise<Engine> => {
  const settings = settingsOf(options)
  const supervisor = await superviseProcess<Settings, ModelFacts>({
    entry: { importMetaUrl: import.meta.url, file: 'engine.process' },
    settings,
    name: options.name,
    // With more threads than one in libuv's pool each step may run on another one, and the cores' caches are cold.
    env: { UV_THREADPOOL_SIZE: '1' },
    log: options.log,
  })
  const { facts } = supervisor
  return {
    name: 'llama.cpp',
    model: {
      name: options.name,
      path: options.path,
      parameters: facts.parameters,
      contextTokens: facts.contextTokens,
      memoryBytes: facts.memoryBytes,
    },
    slots: facts.slots,
    followsGrammars: true,
    chat: (request, signal) =>
      converse(supervisor, { ...request, responseFormat: bare(request.responseFormat) }, signal),
    countTokens: async (messages) => (await askOnce(supervisor, { type: 'count', messages }, 'counted')).tokens,
    figures: () => supervisor.figures,
    close: supervisor.close,
  }
}

/** The schema itself is not needed any more, and may be long. */
const bare = (format: ResponseFormat): ResponseFormat =>
  format.type === 'json_schema' ? { ...format, schema: {} } : format
