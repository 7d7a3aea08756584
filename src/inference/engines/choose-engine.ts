import { InferenceError } from '../errors.ts'
import type { Environment } from '../find-program.ts'
import { FORMAT_WORDS, type ModelFile, type ModelFormat } from '../models/model-file.ts'
import { ENGINE_NAMES, type EngineName } from './engine.ts'
import { engineStatus } from './installed-engines.ts'

export interface Platform {
  readonly os: NodeJS.Platform
  readonly arch: string
}

export const thisPlatform = (): Platform => ({ os: process.platform, arch: process.arch })

export interface EngineChoice {
  readonly name: EngineName
  /** A sentence for the banner that explains the choice. */
  readonly reason: string
}

export interface EngineQuestion {
  readonly model: ModelFile
  /** `auto`, or the name of an engine. */
  readonly requested: string
  readonly platform: Platform
  /** Its PATH is searched for installed programs. */
  readonly env: Environment
}

/** The engines that can run each format. The first is the default. */
const RUNS: Readonly<Record<ModelFormat, readonly [EngineName, ...EngineName[]]>> = {
  gguf: ['llama.cpp'],
  onnx: ['onnxruntime'],
  mlx: ['mlx-lm', 'vllm'],
  mlc: ['mlc-llm'],
  mnn: ['mnn'],
  remote: ['openai'],
}

const isAppleSilicon = ({ os, arch }: Platform): boolean => os === 'darwin' && arch === 'arm64'

const parseEngineName = (requested: string): EngineName | null => {
  if (requested === 'auto') return null
  const name = ENGINE_NAMES.find((known) => known === requested)
  if (name !== undefined) return name
  const known = ENGINE_NAMES.join(', ')
  throw new InferenceError(
    'unsupported',
    `There is no engine '${requested}'. Use ${known}, or an address such as http://127.0.0.1:8000/v1; auto chooses an engine.`,
    { param: 'engine' },
  )
}

/**
 * Chooses the engine for a model: the requested one if it can run the model and is installed, or the default.
 * @throws InferenceError unsupported for an engine that does not exist or cannot run this file; engine_missing, with the
 * install command
 */
export const chooseEngine = async ({ model, requested, platform, env }: EngineQuestion): Promise<EngineChoice> => {
  const engineName = parseEngineName(requested)
  const able = RUNS[model.format]
  const name = able.find((one) => one === engineName) ?? able[0]
  const what = FORMAT_WORDS[model.format]
  if (engineName !== null && engineName !== name) {
    throw new InferenceError(
      'unsupported',
      `${engineName} cannot run ${model.path}: it is ${what}, which ${name} runs. Use --engine ${name}, or auto.`,
      { param: 'engine' },
    )
  }
  const { installed, install } = await engineStatus(name, env)
  if (installed) {
    return { name, reason: engineName === null ? `${model.name} is ${what}, which ${name} runs` : 'requested' }
  }
  // MLX has builds for other machines, too, so an installed one is used anywhere.
  const onlyThere =
    name === 'mlx-lm' && !isAppleSilicon(platform)
      ? ` It is made for Apple silicon, and this machine is ${platform.os} on ${platform.arch}: a GGUF model would run here.`
      : ''
  throw new InferenceError(
    'engine_missing',
    `${model.path} is ${what}, which ${name} runs, but ${name} is not installed. Install it: ${install}${onlyThere && `.${onlyThere}`}`,
    { param: 'engine' },
  )
}
