import type { LlamaModel } from './load-model.ts'

/** A model's predictions for a text, token by token. */
export interface TokenProbabilities {
  /**
   * Computes `tokens` at `position` of the only sequence. Returns, for each of them, the probability of every token in the
   * vocabulary to follow it.
   */
  after(tokens: Uint32Array, position: number): Promise<Float32Array[]>
  /** Computes `tokens` without predictions. */
  read(tokens: Uint32Array, position: number): Promise<void>
  /** Clears the sequence. */
  clear(): void
}

/** Opens a context with one sequence of `contextTokens`. */
export const openTokenProbabilities = async (
  { addon, handle, vocabulary }: LlamaModel,
  contextTokens: number,
  threads: number,
): Promise<TokenProbabilities> => {
  const context = new addon.AddonContext(handle, {
    contextSize: contextTokens,
    batchSize: contextTokens,
    sequences: 1,
    threads,
    flashAttention: 'auto',
    swaFullCache: true,
  })
  if (!(await context.init())) throw new Error(`A context of ${contextTokens} tokens could not be created.`)
  const sampler = new addon.AddonSampler(handle)
  sampler.applyConfig({ temperature: 1, topK: 0, topP: 1, minP: 0 })

  const compute = async (tokens: Uint32Array, position: number, outputs: Uint32Array): Promise<Uint32Array> => {
    context.initBatch(tokens.length)
    const places = context.addToBatch(0, position, tokens, outputs)
    await context.decodeBatch()
    return places
  }
  return {
    read: async (tokens, position) => {
      await compute(tokens, position, new Uint32Array(0))
    },
    after: async (tokens, position) => {
      const rows: Float32Array[] = []
      for (const place of await compute(tokens, position, Uint32Array.from(tokens.keys()))) {
        const [, pairs] = await context.sampleToken(place, sampler, true)
        const row = new Float32Array(vocabulary)
        for (let at = 0; at < pairs.length; at += 2) row[pairs[at]!] = pairs[at + 1]!
        rows.push(row)
      }
      return rows
    },
    clear: () => context.disposeSequence(0),
  }
}
