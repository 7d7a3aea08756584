/** The result of one model for one prompt. */
export interface Outcome {
  /** Agreement with the expected answer, or with the reference model's answer, 0..1. */
  readonly quality: number
  readonly milliseconds: number
  readonly tokens: number
}

/** A prompt from the user, with its complexity score and every model's result, smallest model first. */
export interface Trial {
  readonly score: number
  readonly outcomes: readonly Outcome[]
}

export interface Policy {
  /** For each model but the biggest, the highest score it gets; -1 for none. Never decreasing. */
  readonly limits: readonly number[]
  /** The share of prompts that each model gets. */
  readonly shares: readonly number[]
  /** The mean quality and its 95% interval. */
  readonly quality: number
  readonly interval: readonly [low: number, high: number]
  /** The share of the biggest model's quality. */
  readonly kept: number
  readonly milliseconds: number
  readonly tokens: number
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length

/**
 * Returns the 95% interval of a mean of values in 0..1: Wilson's (1927), with the mean as the proportion. Values between 0 and
 * 1 vary less than a proportion does, so it is slightly too wide; and ten perfect answers do not shrink it to a point.
 */
export const intervalOf = (values: readonly number[]): readonly [low: number, high: number] => {
  const z = 1.959964
  const n = values.length
  const p = mean(values)
  const center = (p + (z * z) / (2 * n)) / (1 + (z * z) / n)
  const half = (z / (1 + (z * z) / n)) * Math.sqrt((p * (1 - p)) / n + (z * z) / (4 * n * n))
  return [Math.max(0, center - half), Math.min(1, center + half)]
}

const rankFor = (score: number, limits: readonly number[]): number => {
  const rank = limits.findIndex((limit) => score <= limit)
  return rank < 0 ? limits.length : rank
}

/** Evaluates these limits on the trials. */
export const evaluate = (trials: readonly Trial[], limits: readonly number[]): Policy => {
  const ranks = trials.map(({ score }) => rankFor(score, limits))
  const outcomes = trials.map((trial, index) => trial.outcomes[ranks[index]!]!)
  const qualities = outcomes.map(({ quality }) => quality)
  const best = mean(trials.map(({ outcomes: all }) => all.at(-1)!.quality))
  const quality = mean(qualities)
  return {
    limits,
    shares: Array.from(
      { length: limits.length + 1 },
      (_, rank) => ranks.filter((one) => one === rank).length / ranks.length,
    ),
    quality,
    interval: intervalOf(qualities),
    kept: best === 0 ? 1 : quality / best,
    milliseconds: mean(outcomes.map(({ milliseconds }) => milliseconds)),
    tokens: mean(outcomes.map(({ tokens }) => tokens)),
  }
}

/** With more scores than this, their quantiles are tried, because the number of policies grows exponentially with models. */
const MAX_STEPS = [40, 40, 20, 10, 6]

const stepsFor = (trials: readonly Trial[], models: number): number[] => {
  const scores = [...new Set(trials.map(({ score }) => score))].sort((a, b) => a - b)
  const most = MAX_STEPS[models - 1] ?? 5
  if (scores.length <= most) return [-1, ...scores]
  return [-1, ...Array.from({ length: most }, (_, step) => scores[Math.ceil(((step + 1) * scores.length) / most) - 1]!)]
}

/** Lists every way to divide the scores among the models, starting with the biggest model alone. */
export const policies = (trials: readonly Trial[]): readonly Policy[] => {
  const models = trials[0]?.outcomes.length ?? 0
  const steps = stepsFor(trials, models)
  let limits: number[][] = [[]]
  for (let model = 1; model < models; model++) {
    limits = limits.flatMap((before) =>
      steps.filter((step) => step >= (before.at(-1) ?? -1)).map((step) => [...before, step]),
    )
  }
  return limits.map((one) => evaluate(trials, one))
}

/** Returns the policies that no other beats in both time and quality, fastest first. */
export const worthwhile = (all: readonly Policy[]): readonly Policy[] => {
  const byTime = [...all].sort((a, b) => a.milliseconds - b.milliseconds || b.quality - a.quality)
  let best = Number.NEGATIVE_INFINITY
  return byTime.filter(({ quality }) => {
    if (quality <= best) return false
    best = quality
    return true
  })
}

/** Returns the fastest policy that keeps this share of the biggest model's quality. The biggest alone always qualifies. */
export const choose = (all: readonly Policy[], keep: number): Policy =>
  worthwhile(all.filter(({ kept }) => kept >= keep - 1e-9))[0] ?? all[0]!

const FOLDS = 5

/**
 * Estimates the quality on unseen prompts: chooses limits on four fifths of the trials and judges them on the remaining fifth,
 * in turn. Returns null if there are too few trials.
 */
export const crossValidated = (
  trials: readonly Trial[],
  keep: number,
): { readonly quality: number; readonly kept: number } | null => {
  if (trials.length < 2 * FOLDS) return null
  const qualities: number[] = []
  for (let fold = 0; fold < FOLDS; fold++) {
    const { limits } = choose(policies(trials.filter((_, index) => index % FOLDS !== fold)), keep)
    for (const [index, { score, outcomes }] of trials.entries()) {
      if (index % FOLDS === fold) qualities.push(outcomes[rankFor(score, limits)]!.quality)
    }
  }
  const best = mean(trials.map(({ outcomes }) => outcomes.at(-1)!.quality))
  return { quality: mean(qualities), kept: best === 0 ? 1 : mean(qualities) / best }
}
