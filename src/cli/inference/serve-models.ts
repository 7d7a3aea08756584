import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type ModelSource, type Route, singleModel } from '../../inference/api/model-source.ts'
import type { Engine } from '../../inference/engines/engine.ts'
import type { DraftOptions } from '../../inference/engines/llama/settings.ts'
import { readGgufHeader } from '../../inference/models/gguf/header.ts'
import { createModelPool, type PooledModel } from '../../inference/runtime/pool/model-pool.ts'
import { type Calibration, createRoute, type RoutableModel } from '../../inference/runtime/routing/choose-model.ts'
import { readCalibration } from '../../inference/runtime/routing/routing-file.ts'
import { wrongUsage } from '../failure.ts'
import type { Session } from '../session.ts'
import { type ChosenModel, chooseModelAndEngine, openChosen } from './open-model.ts'
import type { ServeOptions } from './serve-options.ts'

/** The models of a server, the first of them loaded. */
export interface ServedModels {
  readonly source: ModelSource
  readonly route: Route | null
  /** With how many prompts `svc calibrate` found the limits that routing goes by; null where it was not run. */
  readonly calibrated: number | null
  readonly first: { readonly chosen: ChosenModel; readonly engine: Engine }
  readonly names: readonly string[]
  close(): Promise<void>
}

/** Beside its file a model takes its context and what the engine needs to compute. */
const EXPECTED_SHARE = 1.25
const EXPECTED_BASE_BYTES = 64 * 2 ** 20

const createdAt = async ({ file }: ChosenModel): Promise<number> => Math.floor((await stat(file.path)).mtimeMs / 1000)

const draftOf = (draft: string | undefined, { io }: Session): DraftOptions | null => {
  if (draft === undefined) return null
  if (draft === 'prompt-lookup' || draft === 'first-layers') return { kind: draft }
  if (draft.endsWith('.gguf')) return { kind: 'draft-model', path: resolve(io.cwd, draft) }
  throw wrongUsage(`--draft takes prompt-lookup, first-layers or the path of a .gguf file, got '${draft}'.`)
}

const routable = async ({ file }: ChosenModel): Promise<RoutableModel> => {
  const { name, bytes } = file
  if (file.format !== 'gguf') return { name, bytes, parameters: null, contextTokens: null }
  const { parameters, contextTokens } = await readGgufHeader(file.path)
  return { name, bytes, parameters, contextTokens }
}

/** What was found for other models says nothing about these. */
const calibrationOf = async ({ home }: Session, names: readonly string[]): Promise<Calibration | null> => {
  const calibration = await readCalibration(home.folder)
  const known = calibration?.tiers.filter(({ model }) => names.includes(model)) ?? []
  return known.length < 2 ? null : calibration
}

const routeBetween = async (
  models: readonly ChosenModel[],
  { context }: ServeOptions,
  calibration: Calibration | null,
): Promise<Route> => {
  const limit = context ?? Number.POSITIVE_INFINITY
  const candidates = (await Promise.all(models.map(routable))).map((model) => ({
    ...model,
    contextTokens: model.contextTokens === null ? null : Math.min(model.contextTokens, limit),
  }))
  return createRoute(candidates, calibration)
}

/** The source, whose models answer also to the names that they were asked for by: `svc serve small` finds small:4bit. */
const alsoNamed = (source: ModelSource, names: ReadonlyMap<string, string>): ModelSource => ({
  ...source,
  open: (name, signal) => source.open(names.get(name) ?? name, signal),
})

/** Loads the first model, and the others when they are asked for. */
export const openModels = async (
  session: Session,
  first: string,
  options: ServeOptions,
  log: (line: string) => void,
): Promise<ServedModels> => {
  const asked = [...new Set([first, ...(options.models ?? [])])]
  if (options.autoRoute && asked.length < 2) {
    throw wrongUsage(
      '--auto-route chooses between models, and there is only one.',
      'Name the others with --models, such as: svc serve small --models medium,large --auto-route',
    )
  }
  const chosen = await Promise.all(asked.map((name) => chooseModelAndEngine(session, name, options.engine)))
  const names = chosen.map(({ file }) => file.name)
  const nameOf = new Map(asked.map((name, index) => [name, names[index]!]))
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) {
    throw wrongUsage(`Two of the models would be called '${twice}', and requests could not tell them apart.`)
  }
  const settings = {
    cacheMegabytes: options.cache ? options.cacheSize : 0,
    draft: draftOf(options.draft, session),
    log,
    ...(options.threads !== undefined && { threads: options.threads }),
    ...(options.context !== undefined && { contextTokens: options.context }),
    ...(options.slots !== undefined && { slots: options.slots }),
  }
  if (options.models === undefined) {
    const engine = await openChosen(session, chosen[0]!, settings)
    const source = alsoNamed(singleModel(engine, await createdAt(chosen[0]!)), nameOf)
    return {
      source,
      route: null,
      calibrated: null,
      first: { chosen: chosen[0]!, engine },
      names,
      close: () => engine.close(),
    }
  }
  const calibration = options.autoRoute ? await calibrationOf(session, names) : null
  const route = options.autoRoute ? await routeBetween(chosen, options, calibration) : null
  const pooled = await Promise.all(
    chosen.map(
      async (model): Promise<PooledModel> => ({
        name: model.file.name,
        created: await createdAt(model),
        expectedBytes: Math.ceil(model.file.bytes * EXPECTED_SHARE) + EXPECTED_BASE_BYTES,
        open: () => openChosen(session, model, settings),
      }),
    ),
  )
  const pool = createModelPool({
    models: pooled,
    onClosed: (name, error) => log(error === undefined ? `closed ${name} to make room` : `closing ${name}: ${error}`),
  })
  const lease = await pool.open(chosen[0]!.file.name, session.io.signal ?? new AbortController().signal)
  lease.release()
  return {
    source: alsoNamed(pool, nameOf),
    route,
    calibrated: calibration?.prompts ?? null,
    first: { chosen: chosen[0]!, engine: lease.engine },
    names,
    close: () => pool.close(),
  }
}
