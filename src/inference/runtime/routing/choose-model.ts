import { type Complexity, complexity, type Question, reasonsOf } from './complexity.ts'

/** A model that requests for `auto` may go to. */
export interface RoutableModel {
  readonly name: string
  /** Where its container says so. */
  readonly parameters: number | null
  /** Of its file. */
  readonly bytes: number
  /** How long a prompt and its answer may be; null where that is not known before loading it. */
  readonly contextTokens: number | null
}

/** What calibration found: up to which score each model kept the quality that was asked for. */
export interface Calibration {
  /** Prompts that it was found with. */
  readonly prompts: number
  readonly tiers: readonly { readonly model: string; readonly upToScore: number }[]
}

export interface Choice {
  readonly model: string
  readonly reason: string
}

/** Smallest first: by parameters where all say them, else by bytes; as they were given where that is equal. */
export const bySize = <Model extends Pick<RoutableModel, 'parameters' | 'bytes'>>(
  models: readonly Model[],
): Model[] => {
  const countable = models.every(({ parameters }) => parameters !== null)
  const size = ({ parameters, bytes }: Model): number => (countable ? parameters! : bytes)
  return [...models].sort((a, b) => size(a) - size(b))
}

// Rather too many than too few: an estimate that is too low sends a prompt to a model that must refuse it.
const CHARACTERS_PER_TOKEN = 3

/** Tokens that a prompt probably has; known exactly only to a model that is loaded. */
export const estimatedTokens = ({ messages }: Pick<Question, 'messages'>): number =>
  Math.ceil(messages.reduce((sum, { content }) => sum + content.length, 0) / CHARACTERS_PER_TOKEN) + 8 * messages.length

/**
 * The smallest model that should do: tiers are even shares of the score by rank in size, or those that calibration
 * found, which must cover at least two of the models. A model whose context is too short for the prompt is passed over.
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
  // Where every model that fits is said to be too small, the biggest of them does its best.
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
      // A model that was not calibrated is never preferred to one that was.
      upTo: (name: string) => found.get(name) ?? (name === biggest ? 1 : -1),
    }
  }
  const even = new Map(sorted.map(({ name }, index) => [name, (index + 1) / sorted.length]))
  return { from: '', upTo: (name: string) => even.get(name)! }
}

/** Routes requests for `auto` among these models. */
export const createRoute =
  (models: readonly RoutableModel[], calibration: Calibration | null = null) =>
  (question: Question): Choice =>
    chooseModel(models, complexity(question), { calibration, promptTokens: estimatedTokens(question) })
