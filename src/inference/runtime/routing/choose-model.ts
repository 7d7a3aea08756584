import { type Complexity, complexity, type Question, reasonsOf } from './complexity.ts'

/** A model that may serve requests for `auto`. */
export interface RoutableModel {
  readonly name: string
  /** null if the container does not say. */
  readonly parameters: number | null
  /** The size of its file. */
  readonly bytes: number
  /** The maximum length of a prompt with its answer; null if unknown before loading. */
  readonly contextTokens: number | null
}

/** The result of calibration: up to which score each model keeps the requested quality. */
export interface Calibration {
  /** The number of prompts used. */
  readonly prompts: number
  readonly tiers: readonly { readonly model: string; readonly upToScore: number }[]
}

export interface Choice {
  readonly model: string
  readonly reason: string
}

/** Sorts models smallest first: by parameters if all are known, otherwise by bytes. Stable for equal sizes. */
export const bySize = <Model extends Pick<RoutableModel, 'parameters' | 'bytes'>>(
  models: readonly Model[],
): Model[] => {
  const countable = models.every(({ parameters }) => parameters !== null)
  const size = ({ parameters, bytes }: Model): number => (countable ? parameters! : bytes)
  return [...models].sort((a, b) => size(a) - size(b))
}

// Errs on the high side, because a low estimate would send a prompt to a model that must refuse it.
const CHARACTERS_PER_TOKEN = 3

/** Estimates a prompt's tokens. Only a loaded model can count them exactly. */
export const estimatedTokens = ({ messages }: Pick<Question, 'messages'>): number =>
  Math.ceil(messages.reduce((sum, { content }) => sum + content.length, 0) / CHARACTERS_PER_TOKEN) + 8 * messages.length

/**
 * Chooses the smallest model that should be sufficient. Tiers are equal shares of the score by rank in size, or those of a
 * calibration that covers at least two of the models. Skips models with too short a context for the prompt.
 */
export const chooseModel = (
  models: readonly RoutableModel[],
  measured: Complexity,
  options: { readonly calibration?: Calibration | null; readonly promptTokens?: number } = {},
): Choice => {
  const { calibration = null, promptTokens = 0 } = options
  const sorted = bySize(models)
  const biggest = sorted.at(-1)
  if (biggest === undefined) throw new TypeError('There is no model to choose from.')
  const limits = limitsOf(sorted, calibration)
  const fitting = sorted.filter(({ contextTokens }) => contextTokens === null || contextTokens > promptTokens)
  const able = fitting.length > 0 ? fitting : [longest(sorted)]
  // If every model that fits counts as too small, the biggest of them answers.
  const chosen = able.find(({ name }) => limits.upTo(name) >= measured.score) ?? able.at(-1)!
  const rank = sorted.indexOf(chosen) + 1
  const passed = sorted.filter((model) => !fitting.includes(model)).map(({ name }) => name)
  return {
    model: chosen.name,
    reason: [
      `complexity ${measured.score.toFixed(2)} (${reasonsOf(measured)})`,
      `tier ${rank} of ${sorted.length}${limits.from}`,
      ...(passed.length > 0 ? [`about ${promptTokens} tokens are too long for ${passed.join(', ')}`] : []),
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

/** Creates the routing of requests for `auto` among these models. */
export const createRoute =
  (models: readonly RoutableModel[], calibration: Calibration | null = null) =>
  (question: Question): Choice =>
    chooseModel(models, complexity(question), { calibration, promptTokens: estimatedTokens(question) })
