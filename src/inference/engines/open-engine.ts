import { InferenceError } from '../errors.ts'
import type { Environment } from '../find-program.ts'
import type { ModelFile } from '../models/model-file.ts'
import type { Engine, EngineName } from './engine.ts'
import type { LlamaOptions } from './llama/settings.ts'
import { llamaGpuModule } from './parts/installed-part.ts'
import { enginesFolder } from './parts/part.ts'
import { openRemoteEngine, openStartedEngine } from './proxied/proxied-engine.ts'
import { serverNamed } from './proxied/servers.ts'

/** Settings that an engine does not know are of no use to it: the programs of others look after memory themselves. */
export interface OpenOptions extends Omit<LlamaOptions, 'name' | 'path' | 'gpuModule'> {
  readonly model: ModelFile
  readonly engine: EngineName
  readonly env: Environment
}

/** Loads the model into the engine that was chosen. An engine's code is loaded when it is the one. */
export const openEngine = async ({ model, engine, env, ...settings }: OpenOptions): Promise<Engine> => {
  if (engine === 'llama.cpp') {
    const { openLlamaEngine } = await import('./llama/open-engine.ts')
    const gpuModule = await llamaGpuModule(enginesFolder(env))
    return openLlamaEngine({ name: model.name, path: model.path, ...settings, gpuModule })
  }
  if (settings.lora !== undefined && settings.lora.length > 0)
    throw new InferenceError(
      'unsupported',
      `${engine} does not support LoRA adapters; llama.cpp does, with a GGUF model.`,
    )
  if (engine === 'onnxruntime') {
    const { openOnnxEngine } = await import('./onnx/open-engine.ts')
    const { threads, log } = settings
    const engines = enginesFolder(env)
    return openOnnxEngine({
      name: model.name,
      path: model.path,
      engines,
      ...(threads !== undefined && { threads }),
      log,
    })
  }
  const { slots, contextTokens, log } = settings
  const limits = { ...(slots !== undefined && { slots }), ...(contextTokens !== undefined && { contextTokens }) }
  if (model.format === 'remote') {
    const key = env.SERVICE_ENGINE_API_KEY?.trim() || null
    return openRemoteEngine({ name: engine, baseUrl: model.path, key, model: model.name, ...limits })
  }
  return openStartedEngine(serverNamed(engine)!, { model, env, log, ...limits })
}
