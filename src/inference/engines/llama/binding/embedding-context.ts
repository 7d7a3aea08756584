import { InferenceError } from '../../../errors.ts'
import { unitVector } from '../../unit-vector.ts'
import type { LlamaModel } from './load-model.ts'

/** Computes embeddings one at a time. */
export interface EmbeddingContext {
  readonly memoryBytes: number
  readonly contextTokens: number
  /** Tokenizes a text, with the tokens that its model requires around it. */
  tokenize(text: string): Uint32Array
  /** Pooled according to the model, and of length 1 (L2). */
  embed(tokens: Uint32Array): Promise<Float32Array>
}

/** llama.cpp's WordPiece vocabularies (LLAMA_VOCAB_TYPE_WPM), which are BERT's: texts begin with [CLS] and end with [SEP]. */
const WORD_PIECES = 3

/** A whole text is one batch, and memory grows with the batch size. */
const USUAL_CONTEXT = 2048

/** @throws InferenceError out_of_memory */
export const openEmbeddingContext = async (
  { addon, handle, trainContextTokens }: LlamaModel,
  settings: { readonly contextTokens: number | null; readonly threads: number },
): Promise<EmbeddingContext> => {
  const contextTokens = Math.min(settings.contextTokens ?? USUAL_CONTEXT, trainContextTokens)
  const context = new addon.AddonContext(handle, {
    contextSize: contextTokens,
    batchSize: contextTokens,
    sequences: 1,
    threads: settings.threads,
    embeddings: true,
  })
  if (!(await context.init()))
    throw new InferenceError(
      'out_of_memory',
      `A context of ${contextTokens} tokens could not be created; use a shorter one.`,
    )
  const memory = context.getMemoryBreakdown()
  const isWordPieces = handle.getVocabularyType() === WORD_PIECES
  const first = isWordPieces || handle.shouldPrependBosToken() ? [handle.tokenBos()] : []
  const last = isWordPieces ? [handle.sepToken()] : handle.shouldAppendEosToken() ? [handle.tokenEos()] : []
  return {
    memoryBytes: memory.cpuRam + memory.gpuVram,
    contextTokens,
    tokenize: (text) => Uint32Array.from([...first, ...handle.tokenize(text, false), ...last]),
    embed: async (tokens) => {
      context.initBatch(tokens.length)
      context.addToBatch(
        0,
        0,
        tokens,
        tokens.map((_, index) => index),
      )
      await context.decodeBatch()
      const vector = Float32Array.from(context.getEmbedding(tokens.length))
      context.disposeSequence(0)
      return unitVector(vector)
    },
  }
}
