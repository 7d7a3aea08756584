import { expect, it } from 'vitest'
import { MAX_TENSORS } from './limits.ts'
import { readWeights } from './read-weights.ts'
import { MARKS_PER_TENSOR, parseHeader } from './safetensors.ts'
import { bytesSource, viewOf } from './sources.ts'

const file = (header: unknown, data: number, claimed?: number): Uint8Array => {
  const text = typeof header === 'string' ? header : JSON.stringify(header)
  const json = new TextEncoder().encode(text)
  const bytes = new Uint8Array(8 + json.length + data)
  viewOf(bytes).setBigUint64(0, BigInt(claimed ?? json.length), true)
  bytes.set(json, 8)
  return bytes
}

const F32 = (begin: number, end: number, shape: readonly unknown[]) => ({
  dtype: 'F32',
  shape,
  data_offsets: [begin, end],
})

const read = (bytes: Uint8Array) => readWeights(bytesSource(bytes))

it('keeps the order of the data and ignores metadata', () => {
  const { tensors } = read(file({ __metadata__: { a: 'b' }, late: F32(8, 12, [1]), early: F32(0, 8, [2, 1]) }, 12))
  expect(tensors.map(({ name, shape, strides }) => ({ name, shape, strides }))).toEqual([
    { name: 'early', shape: [2, 1], strides: [1, 1] },
    { name: 'late', shape: [1], strides: [1] },
  ])
})

it.each([
  ['a header length beyond the file', file({ w: F32(0, 4, [1]) }, 4, 10_000), 'claims 10000 bytes, but only'],
  ['a header length near 2^64', file({ w: F32(0, 4, [1]) }, 4, Number.MAX_SAFE_INTEGER), 'claims 9007199254740991'],
  ['a header length that cuts the JSON', file({ w: F32(0, 4, [1]) }, 4, 20), 'is not valid JSON'],
  ['a header that is no object', file('{"a":[}', 0), 'is not valid JSON'],
  ['nesting that only costs memory', file(`{"a":${'['.repeat(5000)}`, 0), 'nests or repeats too much at byte 15'],
  [
    'a tensor that is named twice',
    file(
      '{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"\\u0077":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}',
      4,
    ),
    'names tensor "w" twice',
  ],
  [
    'a shape that is given twice',
    file('{"w":{"dtype":"F32","shape":[9],"shape":[1],"data_offsets":[0,4]}}', 4),
    'names a field twice',
  ],
  [
    'a name that is given twice behind equal values',
    file('{"x":"a","y":"a","z":1,"z":1}', 0),
    'names tensor "z" twice',
  ],
  ['nothing in place of an entry', file({ w: null }, 4), 'Tensor "w" is not described by an object'],
  ['JSON that ends too early', file('{"a":', 0), '(bytes 8 to 13) is not valid JSON'],
  ['invalid UTF-8', file('{"w":1}', 0).with(10, 0xff), 'is not valid UTF-8'],
  ['an entry that is no object', file({ w: 3 }, 4), 'Tensor "w" is not described by an object'],
  ['an unknown type', file({ w: { ...F32(0, 4, [1]), dtype: 'F4' } }, 4), 'Tensor "w" has elements of type "F4"'],
  ['a type from the prototype', file({ w: { ...F32(0, 4, [1]), dtype: 'toString' } }, 4), 'has elements of type'],
  ['a shape that is no list', file({ w: { ...F32(0, 4, []), shape: 4 } }, 4), 'Tensor "w" has no readable shape'],
  ['a negative size', file({ w: F32(0, 4, [-1]) }, 4), 'has a size in its shape that is not a whole number'],
  ['a fractional size', file({ w: F32(0, 4, [0.5]) }, 4), 'has a size in its shape that is not a whole number'],
  ['sizes whose product overflows', file({ w: F32(0, 4, [2 ** 30, 2 ** 30]) }, 4), 'more elements than can be counted'],
  ['offsets that do not fit the shape', file({ w: F32(0, 8, [1]) }, 8), 'needs 4 bytes, but its data_offsets span 8'],
  ['offsets that run backwards', file({ w: F32(8, 4, [1]) }, 8), 'needs 4 bytes, but its data_offsets span -4'],
  ['offsets that are no numbers', file({ w: { ...F32(0, 4, [1]), data_offsets: ['0', '4'] } }, 4), 'not two whole'],
  ['offsets beyond the file', file({ w: F32(0, 400, [100]) }, 4), 'need 400 bytes of data, but 4 follow'],
  ['overlapping tensors', file({ a: F32(0, 8, [2]), b: F32(4, 12, [2]) }, 12), '"b" begins at data offset 4, but the'],
  ['a hole between tensors', file({ a: F32(0, 4, [1]), b: F32(8, 12, [1]) }, 12), '"b" begins at data offset 8'],
  ['bytes behind the last tensor', file({ a: F32(0, 4, [1]) }, 8), 'need 4 bytes of data, but 8 follow'],
  ['no tensors', file({ __metadata__: {} }, 0), 'contains no tensors'],
])('refuses %s', (_, bytes, reason) => {
  expect(() => read(bytes)).toThrow(
    expect.objectContaining({ code: 'bad_request', message: expect.stringContaining(reason) }),
  )
})

it('reads names that contain quotes, braces, and escapes', () => {
  const names = ['a"b', '{[:', '\\', 'a\\"{', 'ä', '__proto__']
  const header = `{${names.map((name, at) => `${JSON.stringify(name)}:${JSON.stringify(F32(at * 4, at * 4 + 4, [1]))}`)}}`
  expect(read(file(header, 4 * names.length)).tensors.map(({ name }) => name)).toEqual(names)
})

it.each([
  ['brackets', '[]'],
  ['braces', '{}'],
])('refuses a header with more %s than any list of tensors has, before parsing it', (_, mark) => {
  // Three more marks open the object, its field, and the list.
  const header = (count: number) => file(`{"a":[${`${mark},`.repeat(count - 4)}${mark}]}`, 0)
  const most = MARKS_PER_TENSOR * MAX_TENSORS
  expect(() => read(header(most))).toThrow('Tensor "a" is not described by an object')
  expect(() => read(header(most + 1))).toThrow('nests or repeats too much')
})

it('refuses a header with more names than any list of tensors has', () => {
  const header = (count: number) => file(`{${'"a":1,'.repeat(count - 2)}"b":1}`, 0)
  const most = MARKS_PER_TENSOR * MAX_TENSORS
  expect(() => read(header(most))).toThrow('names tensor "a" twice')
  expect(() => read(header(most + 1))).toThrow('nests or repeats too much')
})

it('accepts only an object as a header', () => {
  for (const text of ['[]', '3', 'null', '"a"']) {
    const bytes = file(text, 0)
    expect(() => parseHeader(bytesSource(bytes), text.length)).toThrow('The safetensors header is not a JSON object.')
  }
})
