import { ownEntry } from '../../domain/own-entry.ts'
import type { ModelFile } from './model-file.ts'

/** Other names of one file type, so that `qwen3:fp16` finds a file named F16. */
const SAME_TYPE: Readonly<Record<string, string>> = {
  fp16: 'f16',
  float16: 'f16',
  half: 'f16',
  fp32: 'f32',
  float32: 'f32',
  int8: 'q8_0',
  q8: 'q8_0',
}

/** Normalizes a variant name: `4-bit`, `4BIT`, and `4bit` are equal. */
export const normalVariant = (word: string): string => {
  const plain = word
    .toLowerCase()
    .replace(/-/g, '_')
    .replace(/^(\d+)_?bits?$/, '$1bit')
  return ownEntry(SAME_TYPE, plain) ?? plain
}

/** Returns the bits per weight that a variant name stands for: 4 for `4bit`, `q4_K_M`, `iq4_xs`, `int4`; null if none. */
export const bitsOf = (word: string): number | null => {
  const normal = normalVariant(word)
  const digits = /^(\d+)bit$/.exec(normal)?.[1] ?? /^(?:i?q|tq|int|mxfp|nf|bf|fp|f)(\d+)(?:_|$)/.exec(normal)?.[1]
  return digits === undefined ? null : Number(digits)
}

/** Returns the variant in a file name: q4_k_m for `qwen3-0.6b-q4_K_M.gguf`, 4bit for `Qwen3-4bit`. */
export const variantInName = (name: string): string | null => {
  const word = /(?:^|[-_.])((?:i?q|tq)\d(?:_\w+)?|mxfp4|bf16|f?p?16|f?p?32|int[48]|\d-?bit)(?:\.gguf|$)/i.exec(
    name,
  )?.[1]
  return word === undefined || bitsOf(word) === null ? null : normalVariant(word)
}

/** Four bits take half the memory of eight with little loss, and are what other tools mean by a name alone. */
const USUAL_BITS = 4

/**
 * Chooses a variant: the one with exactly that name, otherwise the largest with as many bits (it lost least). Without a name,
 * the one closest to four bits. Null if none fits.
 */
export const chooseVariant = <Model extends Pick<ModelFile, 'variant' | 'bytes'>>(
  models: readonly Model[],
  requested: string | null,
): Model | null => {
  const bySize = [...models].sort((one, other) => other.bytes - one.bytes)
  if (requested === null) {
    const distance = ({ variant }: Model): number => Math.abs((bitsOf(variant ?? '') ?? Infinity) - USUAL_BITS)
    return bySize.sort((one, other) => distance(one) - distance(other) || 0)[0] ?? null
  }
  const exact = bySize.find(({ variant }) => normalVariant(variant ?? '') === normalVariant(requested))
  const bits = /^\d+bit$/.test(normalVariant(requested)) ? bitsOf(requested) : null
  return exact ?? bySize.find(({ variant }) => bits !== null && bitsOf(variant ?? '') === bits) ?? null
}
