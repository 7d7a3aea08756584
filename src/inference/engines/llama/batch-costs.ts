import type { BatchContext } from './binding/batch-context.ts'

/** The cost of small batches on this machine with this model, in milliseconds. */
export interface BatchCosts {
  /** For one batch with this many tokens, all of them with an answer. */
  of(tokens: number): number
}

// Kernels change with the number of tokens. From the last of these on, twice the tokens take twice the time.
const SIZES = [1, 2, 3, 4, 6, 8]
const REPEATS = 5
/** After this time, measurements are no longer repeated, so that starting a large model is not delayed. */
const TIMEOUT_MS = 600

const costsFrom = (points: readonly (readonly [tokens: number, milliseconds: number])[]): BatchCosts => ({
  of: (tokens) => {
    let [below, above] = [points[0], points[0]]
    for (const point of points) {
      if (point[0] <= tokens) below = point
      above = point
      if (point[0] >= tokens) break
    }
    if (below === undefined || above === undefined) return tokens
    if (above[0] <= tokens) return (above[1] * tokens) / above[0]
    if (above === below) return below[1]
    return below[1] + ((above[1] - below[1]) * (tokens - below[0])) / (above[0] - below[0])
  },
})

/**
 * Returns a clock of this process's CPU time, for work that keeps `threads` busy. With wall-clock time, other work during
 * startup could make batches look slow, and choices would stay wrong until the process ends.
 */
export const processorClock = (threads: number) => (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000 / threads
}

/**
 * Measures costs on the first sequence of an unused context: the fastest of a few runs each, in milliseconds. The first run
 * also loads the model's weights into memory. Returns null if `shouldContinue` returned false between two runs.
 */
export const measureCosts = async (
  context: BatchContext,
  clock: () => number,
  shouldContinue: () => boolean = () => true,
): Promise<BatchCosts | null> => {
  const once = async (size: number): Promise<number> => {
    const began = clock()
    const tokens = new Uint32Array(size)
    await context.decode([{ sequence: 0, position: 0, tokens, outputs: tokens.map((_, index) => index) }])
    const took = clock() - began
    context.truncate(0, 0)
    return took
  }
  await once(1)
  const fastest = new Map<number, number>()
  const began = performance.now()
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    for (const size of SIZES) {
      // When time is short, the middle of the curve is interpolated.
      if (!shouldContinue()) return null
      const slow = performance.now() - began > TIMEOUT_MS
      if (slow && (repeat > 0 || (size !== 1 && size !== 4 && size !== 8))) continue
      fastest.set(size, Math.min(fastest.get(size) ?? Number.POSITIVE_INFINITY, await once(size)))
    }
  }
  return costsFrom([...fastest])
}

const POLL_INTERVAL_MS = 1000

/**
 * Measures costs on a separate context as soon as nothing else is computed, and retries after an interruption, because a user
 * who has just started a large model is waiting for an answer. Until then, a batch is assumed to cost as much as its tokens, so
 * that no streams run one after another.
 */
export const costsWhenIdle = (parts: {
  readonly open: () => Promise<BatchContext>
  readonly clock: () => number
  readonly isIdle: () => boolean
}): BatchCosts => {
  let known: BatchCosts = { of: (tokens) => tokens }
  const measure = async (): Promise<boolean> => {
    if (!parts.isIdle()) return false
    const context = await parts.open()
    try {
      const measured = await measureCosts(context, parts.clock, parts.isIdle)
      known = measured ?? known
      return measured !== null
    } finally {
      await context.close()
    }
  }
  const look = (): void => {
    // Without memory for another context, batches simply stay combined.
    const later = setTimeout(() => {
      measure().then(
        (isDone) => isDone || look(),
        () => undefined,
      )
    }, POLL_INTERVAL_MS)
    later.unref()
  }
  look()
  return { of: (tokens) => known.of(tokens) }
}

// Splitting has its own costs, so its advantage must be clear.
const CLEARLY = 0.95

/** True if this many streams are faster one after another than in one batch, as with some kernels and few streams. */
export const fasterApart = (costs: BatchCosts, streams: number): boolean =>
  streams <= SIZES.at(-1)! && streams * costs.of(1) < costs.of(streams) * CLEARLY
