import { expect, it } from 'vitest'
import { readTensorFloats } from './elements.ts'
import { readWeights } from './read-weights.ts'
import { bytesSource, viewOf } from './sources.ts'

const file = (dict: string, data: Uint8Array, version = 1, claimed?: number): Uint8Array => {
  const start = version === 1 ? 10 : 12
  const bytes = new Uint8Array(start + dict.length + data.length)
  bytes.set([0x93, ...new TextEncoder().encode('NUMPY'), version, 0])
  if (version === 1) viewOf(bytes).setUint16(8, claimed ?? dict.length, true)
  else viewOf(bytes).setUint32(8, claimed ?? dict.length, true)
  bytes.set(new TextEncoder().encode(dict), start)
  bytes.set(data, start + dict.length)
  return bytes
}

const SIX = new Uint8Array(new Float32Array([0, 1, 2, 3, 4, 5]).buffer)

const read = (bytes: Uint8Array) => {
  const source = bytesSource(bytes)
  const [tensor] = readWeights(source).tensors
  return { shape: tensor!.shape, values: [...readTensorFloats(source, tensor!)] }
}

it.each([
  ['as NumPy writes it', "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", [2, 3], [0, 1, 2, 3, 4, 5]],
  ['in another order and quotes', `{"shape":(6,),"descr":"<f4","fortran_order":False}`, [6], [0, 1, 2, 3, 4, 5]],
  ['of Python 2', "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }", [2, 3], [0, 1, 2, 3, 4, 5]],
  ['column by column', "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", [2, 3], [0, 2, 4, 1, 3, 5]],
])('reads a header %s, in versions 1 to 3', (_, dict, shape, values) => {
  for (const version of [1, 2, 3]) expect(read(file(dict, SIX, version))).toEqual({ shape, values })
})

const header = (fields: string): string => `{${fields}, 'fortran_order': False, 'shape': (6,), }`

it.each([
  ['a future version', file(header("'descr': '<f4'"), SIX, 4), 'unknown .npy version 4'],
  ['a header length beyond the file', file(header("'descr': '<f4'"), SIX, 1, 60_000), 'truncated inside its header'],
  ['a header length of gigabytes', file(header("'descr': '<f4'"), SIX, 2, 2 ** 31), 'has a header of 2147483660 bytes'],
  ['no element type', file(header("'kind': '<f4'"), SIX), 'a header that cannot be read'],
  ['structured elements', file(header("'descr': [('a', '<f4')]"), SIX), 'a header that cannot be read'],
  ['pickled objects', file(header("'descr': '|O'"), SIX), 'pickled Python objects, which are never loaded'],
  ['complex numbers', file(header("'descr': '<c8'"), SIX), 'contains elements of type <c8'],
  ['a type of the prototype', file(header("'descr': '<constructor'"), SIX), 'contains elements of type <constructor'],
  ['a negative size', file("{'descr': '<f4', 'fortran_order': False, 'shape': (-6,)}", SIX), 'size in its shape'],
  [
    'an absurd size',
    file(`{'descr': '<f4', 'fortran_order': False, 'shape': (${'9'.repeat(40)},)}`, SIX),
    'size in its',
  ],
  ['less data than promised', file(header("'descr': '<f8'"), SIX), 'is truncated: its header promises'],
  ['more data than promised', file(header("'descr': '<f2'"), SIX), 'is followed by 12 bytes that its header does not'],
])('refuses %s', (_, bytes, reason) => {
  expect(() => read(bytes)).toThrow(
    expect.objectContaining({ code: 'bad_request', message: expect.stringContaining(reason) }),
  )
})
