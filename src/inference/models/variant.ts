/** Other spellings of one file type, so that `qwen3:fp16` finds what calls itself F16. */
const SAME_TYPE: Readonly<Record<string, string>> = {
  fp16: 'f16',
  float16: 'f16',
  half: 'f16',
  fp32: 'f32',
  float32: 'f32',
  int8: 'q8_0',
  q8: 'q8_0',
}

/** How a word for a variant is compared: `4-bit`, `4BIT` and `4bit` are one. */
export const normalVariant = (word: string): string => {
  const plain = word
    .toLowerCase()
    .replace(/-/g, '_')
    .replace(/^(\d+)_?bits?$/, '$1bit')
  return SAME_TYPE[plain] ?? plain
}

/** Bits for each weight that a word stands for: 4 for `4bit`, `q4_K_M`, `iq4_xs`, `int4`; null for a word that says none. */
export const bitsOf = (word: string): number | null => {
  const normal = normalVariant(word)
  const digits = /^(\d+)bit$/.exec(normal)?.[1] ?? /^(?:i?q|tq|int|mxfp|nf|bf|fp|f)(\d+)(?:_|$)/.exec(normal)?.[1]
  return digits === undefined ? null : Number(digits)
}

/** The variant that a file's name tells: `qwen3-0.6b-q4_K_M.gguf` is q4_k_m, `Qwen3-4bit` is 4bit. */
export const variantInName = (name: string): string | null => {
  const word = /(?:^|[-_.])((?:i?q|tq)\d(?:_\w+)?|mxfp4|bf16|f?p?16|f?p?32|int[48]|\d-?bit)(?:\.gguf|$)/i.exec(
    name,
  )?.[1]
  return word === undefined || bitsOf(word) === null ? null : normalVariant(word)
}

/** What a choice of variants is made from. */
interface Choosable {
  readonly variant: string
  readonly bytes: number
}

/** Four bits: half the memory of eight for little loss, and what other tools mean by a name alone. */
const USUAL_BITS = 4

/**
 * Which of several variants a user means: the one of exactly that name, else the largest of as many bits (it lost least).
 * Without a word, the one nearest to four bits. Null when nothing fits.
 */
export const chooseVariant = <Variant extends Choosable>(
  variants: readonly Variant[],
  requested: string | null,
): Variant | null => {
  const bySize = [...variants].sort((one, other) => other.bytes - one.bytes)
  if (requested === null) {
    const distance = ({ variant }: Variant): number => Math.abs((bitsOf(variant) ?? Infinity) - USUAL_BITS)
    return bySize.sort((one, other) => distance(one) - distance(other) || 0)[0] ?? null
  }
  const exact = bySize.find(({ variant }) => normalVariant(variant) === normalVariant(requested))
  const bits = /^\d+bit$/.test(normalVariant(requested)) ? bitsOf(requested) : null
  return exact ?? bySize.find(({ variant }) => bits !== null && bitsOf(variant) === bits) ?? null
}
