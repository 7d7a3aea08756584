import { chooseEngine, type EngineChoice, thisPlatform } from './engines/choose-engine.ts'
import type { Engine, EngineName } from './engines/engine.ts'
import type { LlamaOptions } from './engines/llama/settings.ts'
import { llamaGpuModule } from './engines/optional/installed-engine.ts'
import { enginesFolder } from './engines/optional/optional-engine.ts'
import { openRemoteEngine } from './engines/proxied/remote-engine.ts'
import { addressOf, serverNamed } from './engines/proxied/servers.ts'
import { openStartedEngine } from './engines/proxied/started-engine.ts'
import { InferenceError } from './errors.ts'
import type { Environment } from './find-program.ts'
import type { ModelFile } from './models/model-file.ts'
import { findModel } from './models/model-folder.ts'

export interface SearchPaths {
  /** The user's folder, which holds `models` and `engines`. */
  readonly home: string
  /** Relative model paths start here. */
  readonly cwd: string
  /** PATH, and the engines' settings. */
  readonly env: Environment
}

/** A model and the engine to run it. */
export interface ChosenModel {
  readonly file: ModelFile
  readonly engine: EngineChoice
}

const remote = (name: string, address: string, engine: EngineName): ChosenModel => ({
  file: { name, variant: null, path: address, format: 'remote', bytes: 0, sha256: null, source: address },
  engine: { name: engine, reason: `it runs at ${address}` },
})

/**
 * Finds the named model and its engine without loading it.
 * @param engine `auto`, the name of an engine, or the address of an OpenAI-compatible server. If it names an engine that is a
 * server, a model not found here is requested at the server's default address
 * @throws InferenceError model_not_found, invalid_model, unsupported, engine_missing
 */
export const chooseModelAndEngine = async (
  { home, cwd, env }: SearchPaths,
  name: string,
  engine: string,
): Promise<ChosenModel> => {
  const address = addressOf(engine)
  if (address !== null) return remote(name, address, 'openai')
  const server = serverNamed(engine)
  const file = await findModel(name, home, cwd).catch((error: unknown) => {
    if (server === null || !(error instanceof InferenceError) || error.code !== 'model_not_found') throw error
    return null
  })
  if (file === null) return remote(name, server!.usualAddress, server!.name)
  return { file, engine: await chooseEngine({ model: file, requested: engine, platform: thisPlatform(), env }) }
}

/** An engine ignores settings that it does not know. External programs manage memory themselves. */
export type EngineSettings = Omit<LlamaOptions, 'name' | 'path' | 'gpuModule'>

/**
 * Loads the model. An engine's code is imported only if it is used.
 * @throws InferenceError invalid_model, out_of_memory, engine_failed
 */
export const openChosen = async (
  env: Environment,
  { file: model, engine: { name } }: ChosenModel,
  settings: EngineSettings,
): Promise<Engine> => {
  if (name === 'llama.cpp') {
    const { openLlamaEngine } = await import('./engines/llama/open-engine.ts')
    const gpuModule = await llamaGpuModule(enginesFolder(env))
    return openLlamaEngine({ name: model.name, path: model.path, ...settings, gpuModule })
  }
  if (settings.lora !== undefined && settings.lora.length > 0)
    throw new InferenceError(
      'unsupported',
      `${name} does not support LoRA adapters. Leave out --lora, or use a GGUF model.`,
    )
  if (name === 'onnxruntime') {
    const { openOnnxEngine } = await import('./engines/onnx/open-engine.ts')
    return openOnnxEngine({ ...settings, name: model.name, path: model.path, engines: enginesFolder(env) })
  }
  if (model.format === 'remote') {
    const key = env.SERVICE_ENGINE_API_KEY?.trim() || null
    return openRemoteEngine({ ...settings, name, baseUrl: model.path, key, model: model.name })
  }
  return openStartedEngine(serverNamed(name)!, { ...settings, model, env })
}
