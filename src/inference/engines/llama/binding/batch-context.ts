import { InferenceError } from '../../../errors.ts'
import type { AddonCheckpoint, AddonContext } from './addon.ts'
import type { LlamaModel } from './load-model.ts'
import { openSampler, type Sampler, type SamplerGrammar, type SamplerSettings } from './token-sampler.ts'

/** Tokens of one sequence in a batch, at `position` and after it. */
export interface BatchPart {
  readonly sequence: number
  readonly position: number
  readonly tokens: Uint32Array
  /** Which of `tokens` the model shall say something after. */
  readonly answers: Uint32Array
}

export interface SavedState {
  readonly bytes: number
  forget(): void
}

export type { Sampler, SamplerGrammar } from './token-sampler.ts'

/** What was computed of a part: its answers, and the token that follows the first of them. */
export interface Sampled {
  readonly answers: Uint32Array
  readonly token: number
}

/** One context with a sequence per slot, each with keys and values of its own. Its calls run one after another. */
export interface BatchContext {
  /** With all of its sequences. */
  readonly memoryBytes: number
  /** Those that have memory. */
  readonly sequences: number
  /**
   * Gives the others theirs, between two batches. Where that is done, nothing of what was computed is left: llama.cpp takes no
   * states of contexts with other numbers of sequences. Without memory for them there are no others.
   */
  grow(): Promise<boolean>
  /** Computes all parts at once; the result has one number for each answer asked for, part by part. */
  decode(parts: readonly BatchPart[]): Promise<readonly Uint32Array[]>
  /** The same, and each part's sampler says at once what follows its first answer; -1 for parts without a sampler. */
  decodeAndSample(parts: readonly BatchPart[], samplers: readonly (Sampler | null)[]): Promise<readonly Sampled[]>
  createSampler(settings: SamplerSettings): Sampler
  /** Reads a grammar in llama.cpp's notation (GBNF). */
  readGrammar(text: string): SamplerGrammar
  /** Forgets what `sequence` holds from `length` on; false where this model cannot forget a part: it is empty then. */
  truncate(sequence: number, length: number): boolean
  copy(source: number, target: number): Promise<void>
  save(sequence: number): Promise<SavedState>
  /** Puts the first `length` tokens of a saved state into `sequence`; false where that cannot be: it is empty then. */
  restore(state: SavedState, length: number, sequence: number): Promise<boolean>
  close(): Promise<void>
}

export interface ContextSettings {
  readonly slots: number
  /** How many of them get memory at once: llama.cpp writes zeros over it. All when absent. */
  readonly firstSlots?: number
  /** Of one slot. */
  readonly contextTokens: number
  readonly batchTokens: number
  readonly threads: number
}

// llama.cpp rounds the tokens of each sequence up to these.
const PAGE = 256
const NO_TOKEN = -1

/**
 * Whether work runs in the order in which it was given: then tokens can be asked for before they are computed, and the thread
 * that computes goes on without waiting for this one. libuv reads the same variable.
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
  const checkpoints = new WeakMap<SavedState, AddonCheckpoint>()

  const truncate = (sequence: number, length: number): boolean => {
    if (context.removeTokenCellsFromSequence(sequence, length, -1)) return true
    context.disposeSequence(sequence)
    return false
  }

  const fill = (parts: readonly BatchPart[]): readonly Uint32Array[] => {
    context.initBatch(parts.reduce((sum, part) => sum + part.tokens.length, 0))
    return parts.map((part) => context.addToBatch(part.sequence, part.position, part.tokens, part.answers))
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
      const answers = fill(parts)
      await context.decodeBatch()
      return answers
    },
    decodeAndSample: async (parts, samplers) => {
      const answers = fill(parts)
      const computing = context.decodeBatch()
      if (!inOrder()) await computing
      const asking = answers.map(async ([first], part) =>
        first === undefined ? NO_TOKEN : (samplers[part]?.next(first) ?? NO_TOKEN),
      )
      // Also when the batch has failed, nothing of it shall be in the queue any more.
      const [computed, ...sampled] = await Promise.allSettled([computing, ...asking])
      if (computed.status === 'rejected') throw computed.reason
      return sampled.map((result, part) => {
        if (result.status === 'rejected') throw result.reason
        return { answers: answers[part]!, token: result.value }
      })
    },
    createSampler: (sampling) => {
      // It takes memory for the whole vocabulary, which costs milliseconds: while the prompt is computed, not before.
      let sampler: Sampler | null = null
      return {
        next: (answer) => {
          sampler ??= openSampler(model, (at, using) => context.sampleToken(at, using), sampling)
          return sampler.next(answer)
        },
        dispose: () => sampler?.dispose(),
      }
    },
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
