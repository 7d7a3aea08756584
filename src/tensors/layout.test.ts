import { expect, it } from 'vitest'
import { fixture } from '../../test/fixtures/weights/open.ts'
import { type Layout, layoutOf, requireSameLayout } from './layout.ts'
import { readWeights } from './read-weights.ts'

const expected: Layout = [
  { name: 'fc.weight', dtype: 'f32', shape: [3, 2] },
  { name: 'fc.bias', dtype: 'f32', shape: [3] },
]

const file = (...layout: Layout) => ({
  tensors: layout.map((entry) => ({ ...entry, strides: [], byteOffset: 0, bigEndian: false, deflated: null })),
})

it('is the same for the same weights in any container, in any order', () => {
  const pt = layoutOf(readWeights(fixture('net_a.pt')))
  expect(pt[0]).toEqual({ name: 'conv.weight', dtype: 'f32', shape: [4, 1, 3, 3] })
  for (const name of ['net_b.npz', 'net_c.safetensors', 'net_legacy.pt'])
    requireSameLayout(pt, readWeights(fixture(name)))
  expect(() => requireSameLayout(pt, readWeights(fixture('net_bf16.pt')))).toThrow(
    'tensor "conv.weight" has type bf16, expected f32',
  )
})

it.each<[string, Layout, string]>([
  ['a missing tensor', [expected[0]!], 'tensor "fc.bias" (f32 [3]) is missing'],
  [
    'an extra tensor',
    [...expected, { name: 'head', dtype: 'i64', shape: [] }],
    'tensor "head" (i64 []) is not part of it',
  ],
  [
    'another shape, even with as many elements',
    [{ ...expected[0]!, shape: [2, 3] }, expected[1]!],
    'tensor "fc.weight" has shape [2, 3], expected [3, 2]',
  ],
  [
    'another number of dimensions',
    [expected[0]!, { ...expected[1]!, shape: [3, 1] }],
    'tensor "fc.bias" has shape [3, 1], expected [3]',
  ],
  ['another type', [expected[0]!, { ...expected[1]!, dtype: 'f64' }], 'tensor "fc.bias" has type f64, expected f32'],
  ['the first of two differences', [], 'tensor "fc.weight" (f32 [3, 2]) is missing'],
])('names %s', (_, actual, difference) => {
  expect(() => requireSameLayout(expected, file(...actual))).toThrow(
    expect.objectContaining({
      code: 'bad_request',
      message: `The update does not match the model of the round: ${difference}. Send weights of the same model.`,
    }),
  )
})

it('quotes and truncates untrusted names', () => {
  const name = `a"\n${'x'.repeat(500)}`
  expect(() => requireSameLayout(expected, file(...expected, { name, dtype: 'f32', shape: [1] }))).toThrow(
    `tensor "a\\"\\n${'x'.repeat(114)}..." (f32 [1]) is not part of it`,
  )
})
