import { InferenceError } from '../../../errors.ts'
import type { AddonCheckpoint, AddonContext } from './addon.ts'
import type { LlamaModel } from './load-model.ts'
import { openSampler, type Sampler, type SamplerGrammar, type SamplerSettings } from './token-sampler.ts'
import { openScorer, type TokenScores } from './token-scores.ts'

/** Consecutive tokens of one sequence in a batch, starting at `position`. */
export interface BatchPart {
  readonly sequence: number
  readonly position: number
  readonly tokens: Uint32Array
  /** Indexes of the `tokens` to predict the next token of. */
  readonly outputs: Uint32Array
  /** How many of the outputs, from the first, only score tokens of a prompt. */
  readonly scored?: number
}

export interface SavedState {
  readonly bytes: number
  forget(): void
}

/** The results of a part: its answers, and the token that follows the first of them that is not only for scores. */
export interface Sampled {
  readonly outputs: Uint32Array
  readonly token: number
}

/** A context with one sequence per slot, each with its own keys and values. Its calls run one after another. */
export interface BatchContext {
  /** For all of its sequences. */
  readonly memoryBytes: number
  /** How many sequences have memory. */
  readonly sequences: number
  /**
   * Allocates memory for the other sequences, between two batches. On success all computed state is lost, because llama.cpp
   * cannot load states of contexts with other numbers of sequences. Without enough memory, the other sequences do not exist.
   */
  grow(): Promise<boolean>
  /** Computes all parts at once. The result has, for each part, one number per requested answer. */
  decode(parts: readonly BatchPart[]): Promise<readonly Uint32Array[]>
  /** Like `decode`, but each part's sampler also returns the token after that answer; -1 without a sampler. */
  decodeAndSample(parts: readonly BatchPart[], samplers: readonly (Sampler | null)[]): Promise<readonly Sampled[]>
  createSampler(settings: SamplerSettings): Sampler
  /** Scores `token` in the place that the last `decode` predicted at `output`, and the `count` most likely tokens. */
  score(output: number, token: number, count: number): Promise<TokenScores>
  /** Parses a grammar in llama.cpp's notation (GBNF). */
  readGrammar(text: string): SamplerGrammar
  /** Truncates `sequence` to `length` tokens. If the model cannot do that, it empties the sequence and returns false. */
  truncate(sequence: number, length: number): boolean
  copy(source: number, target: number): Promise<void>
  save(sequence: number): Promise<SavedState>
  /** Loads the first `length` tokens of a saved state into `sequence`. On failure, empties the sequence and returns false. */
  restore(state: SavedState, length: number, sequence: number): Promise<boolean>
  close(): Promise<void>
}

export interface ContextSettings {
  readonly slots: number
  /** How many slots get memory at first, because llama.cpp fills it with zeros. All if absent. */
  readonly firstSlots?: number
  /** Per slot. */
  readonly contextTokens: number
  readonly batchTokens: number
  readonly threads: number
}

// llama.cpp rounds the tokens of each sequence up to a multiple of this.
const PAGE = 256
const NO_TOKEN = -1

/**
 * True if work runs in the order of submission. Then tokens can be requested before they are computed, and the compute thread
 * does not have to wait for this one. libuv reads the same variable.
 */
const inOrder = (): boolean => process.env.UV_THREADPOOL_SIZE === '1'

const makeContext = async (
  { addon, handle, loras }: LlamaModel,
  settings: ContextSettings,
  sequences: number,
): Promise<AddonContext> => {
  const context = new addon.AddonContext(handle, {
    contextSize: Math.ceil(settings.contextTokens / PAGE) * PAGE * sequences,
    batchSize: settings.batchTokens,
    sequences,
    threads: settings.threads,
    flashAttention: 'auto',
    swaFullCache: true,
  })
  if (!(await context.init())) {
    throw new InferenceError(
      'out_of_memory',
      `A context of ${sequences} x ${settings.contextTokens} tokens could not be created; use fewer slots or a shorter context.`,
    )
  }
  if (loras.length > 0)
    context.setLoras(
      loras,
      loras.map(() => 1),
    )
  return context
}

export const openContext = async (model: LlamaModel, settings: ContextSettings): Promise<BatchContext> => {
  const { addon } = model
  let sequences = Math.min(settings.firstSlots ?? settings.slots, settings.slots)
  let mostSequences = settings.slots
  let context = await makeContext(model, settings, sequences)
  const memory = context.getMemoryBreakdown()
  const missingBytes = (mostSequences - sequences) * settings.contextTokens * model.cacheBytesPerToken
  const score = openScorer(model, () => context)
  const checkpoints = new WeakMap<SavedState, AddonCheckpoint>()

  const truncate = (sequence: number, length: number): boolean => {
    if (context.removeTokenCellsFromSequence(sequence, length, -1)) return true
    context.disposeSequence(sequence)
    return false
  }

  const fill = (parts: readonly BatchPart[]): readonly Uint32Array[] => {
    context.initBatch(parts.reduce((sum, part) => sum + part.tokens.length, 0))
    return parts.map((part) => context.addToBatch(part.sequence, part.position, part.tokens, part.outputs))
  }

  return {
    memoryBytes: memory.cpuRam + memory.gpuVram + missingBytes,
    get sequences() {
      return sequences
    },
    grow: async () => {
      if (sequences === mostSequences) return false
      try {
        const larger = await makeContext(model, settings, mostSequences)
        await context.dispose()
        context = larger
        sequences = mostSequences
        return true
      } catch {
        mostSequences = sequences
        return false
      }
    },
    decode: async (parts) => {
      const outputs = fill(parts)
      await context.decodeBatch()
      return outputs
    },
    decodeAndSample: async (parts, samplers) => {
      const outputs = fill(parts)
      const computing = context.decodeBatch()
      if (!inOrder()) await computing
      const asking = outputs.map(async (places, part) => {
        const first = places[parts[part]!.scored ?? 0]
        return first === undefined ? NO_TOKEN : (samplers[part]?.next(first) ?? NO_TOKEN)
      })
      // Waits for all, so that nothing of a failed batch stays in the queue.
      const [computed, ...sampled] = await Promise.allSettled([computing, ...asking])
      if (computed.status === 'rejected') throw computed.reason
      return sampled.map((result, part) => {
        if (result.status === 'rejected') throw result.reason
        return { outputs: outputs[part]!, token: result.value }
      })
    },
    createSampler: (sampling) => {
      // Created while the prompt is computed, because it allocates memory for the whole vocabulary, which takes milliseconds.
      let sampler: Sampler | null = null
      return {
        next: (output) => {
          sampler ??= openSampler(model, (at, using) => context.sampleToken(at, using), sampling)
          return sampler.next(output)
        },
        dispose: () => sampler?.dispose(),
      }
    },
    score,
    readGrammar: (text) => new addon.AddonGrammar(text, { addonExports: addon }),
    truncate,
    copy: async (source, target) => {
      await context.copySequenceStateFromOtherSequence(target, source)
    },
    save: async (sequence) => {
      const checkpoint = new addon.AddonContextSequenceCheckpoint()
      await checkpoint.init(context, sequence)
      const state = { bytes: checkpoint.size, forget: () => checkpoint.dispose() }
      checkpoints.set(state, checkpoint)
      return state
    },
    restore: async (state, length, sequence) => {
      const checkpoint = checkpoints.get(state)
      if (checkpoint !== undefined && (await context.restoreCheckpoint(checkpoint, length - 1, sequence))) return true
      context.disposeSequence(sequence)
      return false
    },
    close: () => context.dispose(),
  }
}
