import { availableParallelism } from 'node:os'
import { runOnce } from '../child/run-once.ts'

export interface ModelStatistics {
  /** exp of the mean negative log-likelihood of the scored tokens: llama.cpp's definition. */
  readonly perplexity: number
  /** Median of computing one token after others on this machine. */
  readonly millisecondsPerToken: number
}

export interface ModelComparison {
  readonly original: ModelStatistics
  readonly other: ModelStatistics
  /** Mean over the scored tokens of KL(original || other), in nats. */
  readonly divergence: number
  /** The share of scored tokens for which both models hold the same token the most likely. */
  readonly agreement: number
  readonly scoredTokens: number
}

/** What the process is told. */
export interface ComparisonCommand {
  readonly original: string
  readonly other: string
  readonly text: string
  readonly threads: number
}

const TIMEOUT_MS = 60 * 60 * 1000

/**
 * What two GGUF models with the same vocabulary say of a text, in a process of its own, on the processor. As in llama.cpp's
 * llama-perplexity the text is read in windows of 512 tokens (less where the models' context or the text is shorter) that begin
 * anew, and the second half of each is scored; 16 windows at most.
 * Throws InferenceError invalid_model, and for a text that is too short unsupported; engine_missing, engine_failed; the signal's
 * reason when it aborts.
 */
export const compareModels = (
  models: { readonly original: string; readonly other: string },
  text: string,
  signal?: AbortSignal,
): Promise<ModelComparison> => {
  const command: ComparisonCommand = { ...models, text, threads: Math.max(1, availableParallelism() - 1) }
  const entry = { importMetaUrl: import.meta.url, file: 'compare-models.process' }
  return runOnce(entry, command, { name: 'llama.cpp', timeoutMs: TIMEOUT_MS, ...(signal && { signal }) })
}
