import type { Route, RouteQuestion } from '../../api/available-models.ts'
import { withOwnReasoning } from '../../engines/engine.ts'
import { type Complexity, complexity, reasonsOf } from './complexity.ts'

/** A model that may serve requests for `auto`. */
export interface RoutableModel {
  readonly name: string
  /** null if the container does not say. */
  readonly parameters: number | null
  /** The size of its file. */
  readonly bytes: number
  /** The maximum length of a prompt with its answer; null if unknown before loading. */
  readonly contextTokens: number | null
  /** Whether its engine supports functions, and formats of replies. */
  readonly callsFunctions: boolean
  readonly enforcesFormats: boolean
}

/** The result of calibration: up to which score each model keeps the requested quality. */
export interface Calibration {
  /** The number of prompts used. */
  readonly prompts: number
  /** Smallest model first. `path` is that of its file, because one model can have several names. */
  readonly tiers: readonly { readonly model: string; readonly path?: string; readonly upToScore: number }[]
}

/** Sorts models smallest first: by parameters if all are known, and by bytes if not, or if they are equal. */
export const bySize = <Model extends Pick<RoutableModel, 'parameters' | 'bytes'>>(
  models: readonly Model[],
): Model[] => {
  const countable = models.every(({ parameters }) => parameters !== null)
  const size = ({ parameters, bytes }: Model): number => (countable ? parameters! : bytes)
  return [...models].sort((a, b) => size(a) - size(b) || a.bytes - b.bytes)
}

// These err on the high side, because a low estimate would send a prompt to a model that must refuse it. Text that is not ASCII
// can take a token for each byte.
const CHARACTERS_PER_TOKEN = 3
const JSON_CHARACTERS_PER_TOKEN = 2
const TOKENS_PER_MESSAGE = 8
/** The instructions for models whose template does not describe functions. */
const TOOL_INSTRUCTION_TOKENS = 160

const textTokens = (text: string, perToken: number): number => {
  // Searching megabytes would take milliseconds.
  const others = Buffer.byteLength(text) === text.length ? '' : text.replace(/\p{ASCII}+/gu, '')
  return Buffer.byteLength(others) + (text.length - others.length) / perToken
}

/** Estimates a prompt's tokens. Only a loaded model can count them exactly. */
export const estimatedTokens = ({ messages, tools }: Pick<RouteQuestion, 'messages' | 'tools'>): number => {
  const jsonTokens = (value: unknown): number => textTokens(JSON.stringify(value), JSON_CHARACTERS_PER_TOKEN)
  const texts = withOwnReasoning(messages).reduce(
    (sum, { content, reasoning = '', toolCalls }) =>
      sum +
      textTokens(content + reasoning, CHARACTERS_PER_TOKEN) +
      (toolCalls === undefined ? 0 : jsonTokens(toolCalls)),
    0,
  )
  const toolTokens = tools.length === 0 ? 0 : TOOL_INSTRUCTION_TOKENS + jsonTokens(tools)
  return Math.ceil(texts + toolTokens) + TOKENS_PER_MESSAGE * messages.length
}

/** Smallest first, but calibrated models in the order in which they were calibrated: each tier's limit assumes the one below. */
const ranked = (models: readonly RoutableModel[], calibration: Calibration | null): readonly RoutableModel[] => {
  const sorted = bySize(models)
  const isCalibrated = new Set(
    (calibration?.tiers ?? []).flatMap(({ model }) => sorted.filter(({ name }) => name === model)),
  )
  const calibrated = [...isCalibrated]
  return sorted.map((model) => (isCalibrated.has(model) ? calibrated.shift()! : model))
}

/**
 * Chooses the smallest model that should be sufficient. Tiers are equal shares of the score by rank in size, or those of a
 * calibration that covers at least two of the models. Skips models that lack what the request needs, or with too short a
 * context for the prompt.
 */
export const chooseModel = (
  models: readonly RoutableModel[],
  measured: Complexity,
  options: {
    readonly calibration?: Calibration | null
    readonly promptTokens?: number
    readonly isAble?: (model: RoutableModel) => boolean
  } = {},
): ReturnType<Route> => {
  const { calibration = null, promptTokens = 0, isAble = () => true } = options
  const sorted = ranked(models, calibration)
  if (sorted.length === 0) throw new TypeError('There is no model to choose from.')
  const limits = limitsOf(sorted, calibration)
  // If no model can do it, the chosen one refuses with the reason.
  const able = sorted.some(isAble) ? sorted.filter(isAble) : sorted
  const fitting = able.filter(({ contextTokens }) => contextTokens === null || contextTokens > promptTokens)
  const candidates = fitting.length > 0 ? fitting : [longest(able)]
  // If every candidate counts as too small, the biggest of them answers.
  const chosen = candidates.find(({ name }) => limits.upTo(name) >= measured.score) ?? candidates.at(-1)!
  const namesWithout = (all: readonly RoutableModel[], kept: readonly RoutableModel[]): string =>
    all.flatMap((model) => (kept.includes(model) ? [] : [model.name])).join(', ')
  const [unable, tooShort] = [namesWithout(sorted, able), namesWithout(able, fitting)]
  return {
    model: chosen.name,
    reason: [
      `complexity ${measured.score.toFixed(2)} (${reasonsOf(measured)})`,
      `tier ${sorted.indexOf(chosen) + 1} of ${sorted.length}${limits.from}`,
      ...(unable === '' ? [] : [`the functions or the format are not supported by ${unable}`]),
      ...(tooShort === '' ? [] : [`about ${promptTokens} tokens are too long for ${tooShort}`]),
    ].join('; '),
  }
}

const longest = (models: readonly RoutableModel[]): RoutableModel =>
  models.reduce((best, model) => ((model.contextTokens ?? 0) >= (best.contextTokens ?? 0) ? model : best))

const limitsOf = (sorted: readonly RoutableModel[], calibration: Calibration | null) => {
  const found = new Map(calibration?.tiers.map(({ model, upToScore }) => [model, upToScore]))
  const biggest = sorted.at(-1)!.name
  if (sorted.filter(({ name }) => found.has(name)).length >= 2) {
    return {
      from: `, calibrated on ${calibration!.prompts} prompts`,
      // An uncalibrated model is never preferred to a calibrated one.
      upTo: (name: string) => found.get(name) ?? (name === biggest ? 1 : -1),
    }
  }
  const even = new Map(sorted.map(({ name }, index) => [name, (index + 1) / sorted.length]))
  return { from: '', upTo: (name: string) => even.get(name)! }
}

const needsOf = ({ messages, tools, responseFormat }: RouteQuestion) => {
  const calls = tools.length > 0 || messages.some(({ role, toolCalls }) => role === 'tool' || toolCalls !== undefined)
  return ({ callsFunctions, enforcesFormats }: RoutableModel): boolean =>
    (callsFunctions || !calls) && (enforcesFormats || responseFormat.type === 'text')
}

/** Creates the routing of requests for `auto` among these models. */
export const createRoute =
  (models: readonly RoutableModel[], calibration: Calibration | null = null): Route =>
  (question) =>
    chooseModel(models, complexity(question), {
      calibration,
      promptTokens: estimatedTokens(question),
      isAble: needsOf(question),
    })
