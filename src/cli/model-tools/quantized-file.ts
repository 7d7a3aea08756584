// The input and output types of quantizing one file, shared by all formats.

import type { FileKind } from '../../convert/gguf/quantization-mix.ts'

/** GGUF file types, by llama.cpp's names. */
export const GGUF_METHODS = ['f16', 'q8_0', 'q4_0', 'q4_k_m'] as const satisfies readonly FileKind[]
export const METHODS = ['auto', 'int8', 'int4', 'dynamic', 'float16', ...GGUF_METHODS] as const
export type Method = (typeof METHODS)[number]

export interface QuantizeOptions {
  readonly method: Method
  readonly output?: string
  readonly qualityThreshold?: number
  readonly data?: string
}

/** A file to quantize, and a temporary folder for the results. */
export interface FileRequest extends QuantizeOptions {
  readonly source: string
  readonly folder: string
}

/** A row of the table of candidates. */
export interface Measured {
  readonly method: string
  readonly bytes?: number
  /** The quality that is compared with the threshold, from 0 to 1. */
  readonly quality?: number
  readonly cosine?: number
  /** The share of samples with the same class; for language models, of tokens with the same most likely next token. */
  readonly agreement?: number | null
  /** For language models, on the text. */
  readonly perplexity?: number
  /** For language models: the mean Kullback-Leibler divergence from the original, in nats. */
  readonly divergence?: number
  /** Median time of a run, or per token, on this machine. */
  readonly milliseconds?: number
  /** Why the method has no result. */
  readonly reason?: string
}

export interface Report {
  readonly table: readonly Measured[]
  readonly samples: { readonly count: number; readonly of: 'samples' | 'tokens'; readonly from: string } | null
  readonly threshold: number | null
}

/** The result in the temporary folder, or the reason why there is none. */
export type QuantizedFile = Report &
  (
    | { readonly path: string; readonly method: string; readonly notes: readonly string[] }
    | { readonly path: null; readonly reason: string }
  )
