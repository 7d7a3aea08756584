import type { Engine, EngineName } from '../engines/engine.ts'
import { type Generated, generate } from './generate.ts'

export interface Percentiles {
  readonly p50: number
  readonly p90: number
  readonly p99: number
}

const nearestRank = (sorted: readonly number[], percent: number): number =>
  sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? Number.NaN

/** Returns measured values (nearest rank). With fewer than a hundred values, p99 is the worst. */
export const percentilesOf = (values: readonly number[], worst: 'highest' | 'lowest'): Percentiles => {
  const sorted = [...values].sort((a, b) => (worst === 'highest' ? a - b : b - a))
  return { p50: nearestRank(sorted, 50), p90: nearestRank(sorted, 90), p99: nearestRank(sorted, 99) }
}

export interface BenchmarkOptions {
  readonly iterations: number
  readonly maxTokens: number
  readonly signal: AbortSignal
}

export interface BenchmarkResult {
  readonly engine: EngineName
  readonly iterations: number
  readonly maxTokens: number
  /** Medians, because prompts and answers vary slightly. */
  readonly promptTokens: number
  readonly completionTokens: number
  readonly firstTokenMs: Percentiles
  /** After the first token, or of the whole answer if it has only one token or arrived at once. */
  readonly tokensPerSecond: Percentiles
  readonly totalMs: Percentiles
  /** For weights and context, as far as the engine knows. */
  readonly memoryBytes: number
}

const WARM_UPS = 2
const TOPICS = 'a fox, an owl, a river, the sea, a clock, two boats, my garden, old maps, snow, bread'.split(', ')

/** Each prompt differs from its first word on, so that an engine's prompt cache cannot help. */
const promptOf = (number: number): string =>
  `${number + 1}. Tell me a long story about ${TOPICS[number % TOPICS.length]}, and do not stop before the end.`

const rateOf = ({ completionTokens, pieces, firstTokenMs, totalMs }: Generated): number => {
  const [tokens, milliseconds] =
    completionTokens > 1 && pieces > 1 ? [completionTokens - 1, totalMs - firstTokenMs] : [completionTokens, totalMs]
  return (tokens * 1000) / Math.max(milliseconds, 0.001)
}

/** Generates answers one after another, greedily, after two warm-ups. */
export const benchmark = async (engine: Engine, options: BenchmarkOptions): Promise<BenchmarkResult> => {
  const { iterations, maxTokens, signal } = options
  const ask = (number: number) => generate(engine, [{ role: 'user', content: promptOf(number) }], maxTokens, signal)
  for (let warmUp = 0; warmUp < WARM_UPS; warmUp++) await ask(warmUp)
  const runs: Generated[] = []
  for (let number = 0; number < iterations; number++) runs.push(await ask(WARM_UPS + number))
  const of = (pick: (run: Generated) => number, worst: 'highest' | 'lowest' = 'highest') =>
    percentilesOf(runs.map(pick), worst)
  return {
    engine: engine.name,
    iterations,
    maxTokens,
    promptTokens: of((run) => run.promptTokens).p50,
    completionTokens: of((run) => run.completionTokens).p50,
    firstTokenMs: of((run) => run.firstTokenMs),
    tokensPerSecond: of(rateOf, 'lowest'),
    totalMs: of((run) => run.totalMs),
    memoryBytes: engine.model.memoryBytes,
  }
}
