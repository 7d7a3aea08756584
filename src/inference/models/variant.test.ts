import { expect, it } from 'vitest'
import { bitsOf, chooseVariant, variantInName } from './variant.ts'

it('returns the number of bits that a variant name stands for', () => {
  const words = ['4bit', '4-BIT', 'q4_K_M', 'iq4_xs', 'mxfp4', 'int4', 'q8_0', 'int8', 'fp16', 'bf16', 'f32', 'q2_k']
  expect(words.map(bitsOf)).toEqual([4, 4, 4, 4, 4, 4, 8, 8, 16, 16, 32, 2])
  expect(['default', 'latest', 'instruct', 'qwen3', 'q'].map(bitsOf)).toEqual([null, null, null, null, null])
})

it('reads a variant from the name of a file or folder', () => {
  const names = [
    'qwen3-0.6b-q4_K_M.gguf',
    'Llama-3.2-1B-Instruct-4bit',
    'tiny.Q8_0.gguf',
    'gemma-3-BF16.gguf',
    'phi-fp16',
    'qwen3-0.6b.gguf',
    'model-q4-00001-of-00002.gguf',
  ]
  expect(names.map(variantInName)).toEqual(['q4_k_m', '4bit', 'q8_0', 'bf16', 'f16', null, null])
})

it('chooses the named variant, otherwise the largest with as many bits, or without a name the one closest to four bits', () => {
  const of = (variant: string, bytes: number) => ({ variant, bytes })
  const variants = [of('q4_0', 40), of('q4_k_m', 44), of('q8_0', 80), of('f16', 160), of('default', 500)]
  const choose = (requested: string | null) => chooseVariant(variants, requested)?.variant ?? null
  const requested = [null, '4bit', 'Q4_0', '8-bit', 'int8', 'fp16', '16bit', 'default', '2bit', 'q5_0']
  expect(requested.map(choose)).toEqual([
    'q4_k_m',
    'q4_k_m',
    'q4_0',
    'q8_0',
    'q8_0',
    'f16',
    'f16',
    'default',
    null,
    null,
  ])
  expect(chooseVariant([of('default', 1)], null)).toEqual(of('default', 1))
  expect(chooseVariant([of('q8_0', 1), of('q3_k', 1)], null)?.variant).toBe('q3_k')
})
