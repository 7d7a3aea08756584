/** How ggml stores a type: each block of `elements` takes `bytes`, and a row consists of whole blocks. */
export interface GgmlType {
  readonly name: string
  readonly elements: number
  readonly bytes: number
}

/**
 * Types by their number in a GGUF file (ggml.h, enum ggml_type). Missing numbers were withdrawn. A test compares the table with
 * the bundled llama.cpp.
 */
export const GGML_TYPES: Readonly<Record<number, GgmlType>> = {
  0: { name: 'F32', elements: 1, bytes: 4 },
  1: { name: 'F16', elements: 1, bytes: 2 },
  2: { name: 'Q4_0', elements: 32, bytes: 18 },
  3: { name: 'Q4_1', elements: 32, bytes: 20 },
  6: { name: 'Q5_0', elements: 32, bytes: 22 },
  7: { name: 'Q5_1', elements: 32, bytes: 24 },
  8: { name: 'Q8_0', elements: 32, bytes: 34 },
  9: { name: 'Q8_1', elements: 32, bytes: 36 },
  10: { name: 'Q2_K', elements: 256, bytes: 84 },
  11: { name: 'Q3_K', elements: 256, bytes: 110 },
  12: { name: 'Q4_K', elements: 256, bytes: 144 },
  13: { name: 'Q5_K', elements: 256, bytes: 176 },
  14: { name: 'Q6_K', elements: 256, bytes: 210 },
  15: { name: 'Q8_K', elements: 256, bytes: 292 },
  16: { name: 'IQ2_XXS', elements: 256, bytes: 66 },
  17: { name: 'IQ2_XS', elements: 256, bytes: 74 },
  18: { name: 'IQ3_XXS', elements: 256, bytes: 98 },
  19: { name: 'IQ1_S', elements: 256, bytes: 50 },
  20: { name: 'IQ4_NL', elements: 32, bytes: 18 },
  21: { name: 'IQ3_S', elements: 256, bytes: 110 },
  22: { name: 'IQ2_S', elements: 256, bytes: 82 },
  23: { name: 'IQ4_XS', elements: 256, bytes: 136 },
  24: { name: 'I8', elements: 1, bytes: 1 },
  25: { name: 'I16', elements: 1, bytes: 2 },
  26: { name: 'I32', elements: 1, bytes: 4 },
  27: { name: 'I64', elements: 1, bytes: 8 },
  28: { name: 'F64', elements: 1, bytes: 8 },
  29: { name: 'IQ1_M', elements: 256, bytes: 56 },
  30: { name: 'BF16', elements: 1, bytes: 2 },
  34: { name: 'TQ1_0', elements: 256, bytes: 54 },
  35: { name: 'TQ2_0', elements: 256, bytes: 66 },
  39: { name: 'MXFP4', elements: 32, bytes: 17 },
  40: { name: 'NVFP4', elements: 64, bytes: 36 },
  41: { name: 'Q1_0', elements: 128, bytes: 18 },
  42: { name: 'Q2_0', elements: 64, bytes: 18 },
}

/** Integer and intermediate types, which no weight of a matrix multiplication has. */
export const NEVER_WEIGHTS: ReadonlySet<string> = new Set(['I8', 'I16', 'I32', 'I64', 'F64', 'Q8_1', 'Q8_K'])
