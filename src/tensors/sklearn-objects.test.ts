import { zlibSync } from 'fflate'
import { expect, it } from 'vitest'
import { isArray, readArrayNumbers } from './numpy-pickle.ts'
import { isObject, readPickledFile } from './sklearn-objects.ts'
import { bytesSource } from './sources.ts'

/** A pickle from a string with one byte per character. */
const pickle = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0))
const read = (bytes: Uint8Array) => readPickledFile(bytesSource(bytes))

const FLOAT64 = 'cnumpy\ndtype\nX\x02\0\0\0f8\x89\x88\x87R'
const ARRAY = 'cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85C\x01b\x87R'
const arrayOf = (shape: string, bytes: string) =>
  `\x80\x03${ARRAY}(K\x01${shape}${FLOAT64}\x89C${String.fromCharCode(bytes.length)}${bytes}tb.`
const ONE = '\0\0\0\0\0\0\xf0\x3f'

it('reads an object with its class, arguments, and state, also from a compressed file', () => {
  const bytes = pickle('\x80\x02csklearn.cluster._kmeans\nKMeans\n)\x81}X\x01\0\0\0kK\x03sb.')
  for (const file of [bytes, zlibSync(bytes)]) {
    const { value } = read(file)
    expect(isObject(value)).toBe(true)
    expect(value).toEqual({
      kind: 'object',
      type: 'sklearn.cluster._kmeans.KMeans',
      args: [],
      state: new Map([['k', 3]]),
    })
  }
})

it('reads an array as the position of its bytes', () => {
  const { value, source } = read(pickle(arrayOf('K\x02\x85', ONE + ONE)))
  expect(isArray(value) && [...readArrayNumbers(source, value)]).toEqual([1, 1])
})

const bytesOf = (text: string) => new TextEncoder().encode(text)

it.each<[string, Uint8Array, RegExp]>([
  ['a command', pickle('\x80\x02cos\nsystem\nX\x02\0\0\0ls\x85R.'), /names "os.system".*it was not opened/],
  ['builtins that run things', pickle('\x80\x02cbuiltins\neval\nX\x01\0\0\x001\x85R.'), /"builtins.eval"/],
  ['an attribute of a module', pickle('\x80\x02cbuiltins\ngetattr\n.'), /"builtins.getattr"/],
  [
    'a wrapper of XGBoost',
    pickle('\x80\x02cxgboost.sklearn\nXGBClassifier\n)\x81.'),
    /model.save_model\("model.json"\)/,
  ],
  [
    'a wrapper of LightGBM',
    pickle('\x80\x02clightgbm.sklearn\nLGBMClassifier\n)\x81.'),
    /This library is not supported\. Convert the model to ONNX/,
  ],
  ['an external object', pickle('\x80\x02NQ.'), /outside of it/],
  ['a call of data', pickle('\x80\x02]]R.'), /not a class/],
  [
    'an array that is larger than its bytes',
    pickle(arrayOf('J\xff\xff\xff\x7f\x85', ONE)),
    /not have as many elements/,
  ],
  [
    'sizes whose product is too large',
    pickle(arrayOf('(J\xff\xff\xff\x7f2222t', ONE)),
    /more elements than can be counted/,
  ],
  ['more steps than any model has', pickle(`\x80\x02${']'.repeat(3_000_001)}.`), /too long to read/],
  ['another compression', bytesOf('BZh91AY'), /compressed with bz2/],
  ['damage in a compressed file', zlibSync(new Uint8Array(99)).with(2, 0xff), /damaged|truncated/],
  ['a file that ends early', pickle('\x80\x02]'), /truncated/],
])('%s is refused', (_, bytes, message) => {
  expect(() => read(bytes)).toThrow(message)
})
