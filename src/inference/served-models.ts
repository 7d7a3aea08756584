import { stat } from 'node:fs/promises'
import { type AvailableModels, type Route, singleModel } from './api/available-models.ts'
import {
  type ChosenModel,
  chooseModelAndEngine,
  type EngineSettings,
  openChosen,
  type SearchPaths,
} from './choose-model-and-engine.ts'
import type { Engine } from './engines/engine.ts'
import { serverNamed } from './engines/proxied/servers.ts'
import { InferenceError } from './errors.ts'
import { readGgufHeader } from './models/gguf/header.ts'
import { createModelPool, type PooledModel } from './runtime/pool/model-pool.ts'
import { type Calibration, createRoute, type RoutableModel } from './runtime/routing/choose-model.ts'
import { readCalibration } from './runtime/routing/routing-file.ts'

export interface ServedModelsOptions extends SearchPaths {
  /** Names or paths. The first is loaded at startup, others on first use. */
  readonly models: readonly [string, ...string[]]
  /** `auto`, or the name of an engine. */
  readonly engine: string
  /** Whether requests for the model `auto` let the server choose a model. */
  readonly autoRoute: boolean
  readonly engineSettings: EngineSettings
  /** Whether requests that name no format get JSON. */
  readonly jsonMode?: boolean
  /** For the first model only, because an adapter fits one model. */
  readonly lora?: readonly string[]
  /** Models that were idle for this time are unloaded, and loaded again on request; undefined: never. */
  readonly unloadAfterMs?: number
  /** Aborts the startup. */
  readonly signal: AbortSignal
}

/** A server's models. The first is loaded. */
export interface ServedModels {
  readonly available: AvailableModels
  /** null if there is no model `auto`. */
  readonly route: Route | null
  /** How many prompts `svc calibrate` used to find the routing limits; null if it was not run for these models. */
  readonly calibrated: number | null
  readonly first: { readonly chosen: ChosenModel; readonly engine: Engine }
  readonly names: readonly string[]
  close(): Promise<void>
}

/** In addition to its file, a model needs memory for its context and the engine's computation. */
const EXPECTED_SHARE = 1.25
const EXPECTED_BASE_BYTES = 64 * 2 ** 20

const createdAt = async ({ file }: ChosenModel): Promise<number> =>
  Math.floor((file.format === 'remote' ? Date.now() : (await stat(file.path)).mtimeMs) / 1000)

/** Returns what routing needs to know about a model; null if it does not chat. */
const routable = async ({ file, engine }: ChosenModel): Promise<RoutableModel | null> => {
  const { name, bytes, format, path } = file
  const server = serverNamed(engine.name)
  const model = {
    name,
    bytes,
    parameters: null,
    contextTokens: null,
    callsFunctions: engine.name !== 'onnxruntime',
    enforcesFormats: engine.name !== 'onnxruntime' && (server === null || server.responseFormat !== null),
  }
  if (format === 'gguf') {
    const { parameters, contextTokens, embeds } = await readGgufHeader(path)
    return embeds ? null : { ...model, parameters, contextTokens }
  }
  if (engine.name !== 'onnxruntime') return model
  const { readModelFolder } = await import('./engines/onnx/model-folder.ts')
  return (await readModelFolder(path)).kind === 'chat' ? model : null
}

/** Returns the calibration, with the names that the models have here, if it covers at least two of them. */
const calibrationOf = async (home: string, models: readonly ChosenModel[]): Promise<Calibration | null> => {
  const calibration = await readCalibration(home)
  const tiers = (calibration?.tiers ?? []).flatMap(({ model, path, upToScore }) => {
    const isSame = ({ file }: ChosenModel): boolean => file.path === path && file.format !== 'remote'
    const found = models.find(isSame) ?? models.find(({ file }) => file.name === model)
    return found === undefined ? [] : [{ model: found.file.name, upToScore }]
  })
  return calibration === null || tiers.length < 2 ? null : { ...calibration, tiers }
}

/** @throws InferenceError invalid_request about `models` if fewer than two of them chat */
const routeBetween = async (
  models: readonly ChosenModel[],
  contextTokens: number | undefined,
  calibration: Calibration | null,
): Promise<Route> => {
  const limit = contextTokens ?? Number.POSITIVE_INFINITY
  const found = await Promise.all(models.map(routable))
  const candidates = found.filter((model) => model !== null)
  if (candidates.length < 2) {
    const others = models.flatMap(({ file }, index) => (found[index] === null ? [file.name] : []))
    const why = others.length === 0 ? '' : ` Not a chat model: ${others.join(', ')}.`
    throw new InferenceError('invalid_request', `Routing needs at least two chat models.${why}`, { param: 'models' })
  }
  return createRoute(
    candidates.map((model) => ({
      ...model,
      contextTokens: model.contextTokens === null ? null : Math.min(model.contextTokens, limit),
    })),
    calibration,
  )
}

/**
 * Refuses settings that the first model's engine cannot follow. Further models ignore them.
 * @throws InferenceError unsupported
 */
const assertFollowed = async (
  [first, ...others]: readonly ChosenModel[],
  { engineSettings, jsonMode }: ServedModelsOptions,
): Promise<void> => {
  const { name } = first!.engine
  const { contextTokens, slots = 1, draft } = engineSettings
  const isOnnx = name === 'onnxruntime'
  const refused = [
    draft && name !== 'llama.cpp' ? ['speculative decoding', '--draft'] : null,
    isOnnx && contextTokens !== undefined ? ['a custom context length', '--context'] : null,
    isOnnx && slots > 1 ? ['parallel replies', '--slots'] : null,
    isOnnx && jsonMode ? ['JSON mode', '--json-mode'] : null,
  ].find((what) => what !== null)
  if (refused === undefined) {
    if (!draft || !(await readGgufHeader(first!.file.path)).embeds) return
    throw new InferenceError(
      'unsupported',
      `${first!.file.name} is an embedding model, which does not generate tokens. Leave out --draft.`,
    )
  }
  const [what, option] = refused
  const gguf = others.find(({ file }) => file.format === 'gguf')
  const advice = gguf === undefined ? '' : `, or name ${gguf.file.name} first`
  throw new InferenceError('unsupported', `${name} does not support ${what}. Leave out ${option}${advice}.`)
}

/** Opens a single model without a pool, as it stays loaded. */
const openOnly = async (chosen: ChosenModel, { env, engineSettings, lora = [] }: ServedModelsOptions) => {
  const created = await createdAt(chosen)
  const engine = await openChosen(env, chosen, { ...engineSettings, lora })
  return { models: singleModel(engine, created), engine, close: () => engine.close() }
}

const openPool = async (all: readonly ChosenModel[], options: ServedModelsOptions) => {
  const { env, engineSettings, signal, lora = [], unloadAfterMs } = options
  const models = await Promise.all(
    all.map(
      async (chosen, index): Promise<PooledModel> => ({
        name: chosen.file.name,
        created: await createdAt(chosen),
        expectedBytes: Math.ceil(chosen.file.bytes * EXPECTED_SHARE) + EXPECTED_BASE_BYTES,
        files: { path: chosen.file.path, draft: engineSettings.draft ?? null, ...(index === 0 && { lora }) },
        open: () => openChosen(env, chosen, index === 0 ? { ...engineSettings, lora } : engineSettings),
      }),
    ),
  )
  const pool = createModelPool({
    models,
    // The default limit is for several models; one alone may use all of the memory.
    ...(all.length === 1 && { memoryBytes: Number.POSITIVE_INFINITY }),
    ...(unloadAfterMs !== undefined && { unloadAfterMs }),
    onClosed: (name, error) =>
      engineSettings.log(error === undefined ? `unloaded ${name}` : `unloading ${name}: ${error}`),
  })
  const { engine, release } = await pool.open(models[0]!.name, signal)
  release()
  return { models: pool, engine, close: () => pool.close() }
}

/**
 * Loads the first model now, and the others on first use.
 * @throws InferenceError model_not_found, invalid_model, unsupported, engine_missing, out_of_memory, engine_failed;
 * invalid_request about `models` if two of them have the same name
 */
export const openModels = async (options: ServedModelsOptions): Promise<ServedModels> => {
  const requested = [...new Set(options.models)]
  const chosen = await Promise.all(requested.map((name) => chooseModelAndEngine(options, name, options.engine)))
  const names = chosen.map(({ file }) => file.name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) {
    const message = `Two of the models would be named '${twice}', so requests could not tell them apart.`
    throw new InferenceError('invalid_request', message, { param: 'models' })
  }
  const calibration = options.autoRoute ? await calibrationOf(options.home, chosen) : null
  const route = options.autoRoute ? await routeBetween(chosen, options.engineSettings.contextTokens, calibration) : null
  const first = chosen[0]!
  await assertFollowed(chosen, options)
  const { models, engine, close } =
    chosen.length === 1 && options.unloadAfterMs === undefined
      ? await openOnly(first, options)
      : await openPool(chosen, options)
  const nameOf = new Map(requested.map((name, index) => [name, names[index]!]))
  return {
    // A model also answers to the name in the settings: `small` for small:4bit.
    available: { ...models, open: (name, signal) => models.open(nameOf.get(name) ?? name, signal) },
    route,
    calibrated: calibration?.prompts ?? null,
    first: { chosen: first, engine },
    names,
    close,
  }
}
