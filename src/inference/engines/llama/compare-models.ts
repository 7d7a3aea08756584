import { availableParallelism } from 'node:os'
import { runOnce } from '../child/run-once.ts'

export interface ModelStatistics {
  /** exp of the mean negative log-likelihood of the scored tokens: llama.cpp's definition. */
  readonly perplexity: number
  /** The median time to compute one token at a time on this machine. */
  readonly millisecondsPerToken: number
}

export interface ModelComparison {
  readonly original: ModelStatistics
  readonly other: ModelStatistics
  /** Mean over the scored tokens of KL(original || other), in nats. */
  readonly divergence: number
  /** The share of scored tokens for which both models predict the same most likely token. */
  readonly agreement: number
  readonly scoredTokens: number
}

/** The command for the process. */
export interface ComparisonCommand {
  readonly original: string
  readonly other: string
  readonly text: string
  readonly threads: number
}

const TIMEOUT_MS = 60 * 60 * 1000

/**
 * Compares the predictions of two GGUF models with the same vocabulary on a text, in a separate process on the CPU. Like
 * llama.cpp's llama-perplexity, it reads the text in independent windows of 512 tokens (fewer if the models' context or the
 * text is shorter), and scores the second half of each, for at most 16 windows.
 * @throws InferenceError invalid_model; unsupported for a text that is too short; engine_missing; engine_failed; the signal's
 * reason on abort
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
