import { expect, it } from 'vitest'
import { fixtureBytes } from '../../test/fixtures/weights/open.ts'
import { MAX_PICKLE_OPCODES } from './limits.ts'
import { walkPickle } from './pickle-walk.ts'
import { bytesSource } from './sources.ts'

const walk = (content: string | Uint8Array): string => {
  try {
    walkPickle(bytesSource(typeof content === 'string' ? Buffer.from(content, 'latin1') : content))
    return 'sound'
  } catch (error) {
    return (error as Error).message
  }
}

it.each([
  ['a dict', '\x80\x02}q\x00.'],
  ['a framed dict', '\x80\x04\x95\x03\0\0\0\0\0\0\0}\x94.'],
  [
    'a list of every kind of number',
    '\x80\x02](K\x01M\x01\x02J\x01\x02\x03\x04G\0\0\0\0\0\0\0\0\x8a\x01\x05I5\nF1.5\nL5L\ne.',
  ],
  ['bytes of protocol 5', `\x80\x05\x96\x03\0\0\0\0\0\0\0abc.`],
  ['two pickles, one after the other', '\x80\x02}.\x80\x02].'],
  ['an estimator', '\x80\x02csklearn.linear_model._logistic\nLogisticRegression\n)\x81}q\x00b.'],
  ['an estimator named on the stack', '\x80\x04\x8c\x0dsklearn.dummy\x94\x8c\x05Dummy\x94\x93.'],
  ['a name that is recalled', '\x80\x04\x8c\x05numpy\x94\x8c\x07ndarray\x94\x930h\x00\x8c\x05dtype\x94\x93.'],
  ["joblib's array, and what cannot be followed", '\x80\x02cjoblib.numpy_pickle\nNumpyArrayWrapper\n\xff\xff'],
  ['a container of Python', '\x80\x02ccollections\nOrderedDict\n)R.'],
])('accepts %s', (_, content) => {
  expect(walk(content)).toBe('sound')
})

it('accepts arrays that NumPy pickled', () => {
  expect(walk(fixtureBytes('cases/refused_pickle.pkl'))).toBe('sound')
})

it.each([
  ['one that runs a command', fixtureBytes('evil.pkl'), 'names "posix.system", which no saved model needs'],
  ['GLOBAL of a command', '\x80\x02cos\nsystem\n.', '"os.system"'],
  ['INST of a command', '\x80\x02(ios\nsystem\n.', '"os.system"'],
  ['eval', '\x80\x02c__builtin__\neval\n.', '"__builtin__.eval"'],
  ['a package whose name only begins alike', '\x80\x02cnumpyro\nx\n.', '"numpyro.x"'],
  ['a name that is put together', '\x80\x04K\x01\x8c\x06system\x94\x93.', 'is only known when it runs'],
  ['a name that was never stored', '\x80\x04h\x05\x8c\x06system\x94\x93.', 'is only known when it runs'],
  [
    'a frame beyond the end',
    '\x80\x04\x95\x04\0\0\0\0\0\0\0}\x94.',
    'claims a frame of 4 bytes at byte 11, but only 3 follow',
  ],
  ['a text beyond the end', '\x80\x02X\xff\xff\xff\x7fab.', 'truncated: bytes 7 to 2147483654 are needed'],
  ['bytes beyond the end', '\x80\x03B\x04\0\0\0abc', 'truncated: bytes 7 to 11 are needed, but it ends at 10'],
  ['a length near 2^64', `\x80\x05\x96${'\xff'.repeat(8)}.`, 'truncated'],
  ['no end', '\x80\x02}q\x00', 'truncated'],
  ['bytes behind its end', '\x80\x02}.more', 'ends at byte 4, but the file goes on'],
  ['a byte that is not an opcode', '\x80\x02\xff.', 'byte 2 is not an opcode'],
])('refuses %s', (_, content, reason) => {
  expect(walk(content)).toContain(reason)
})

it('follows as many steps as the limit allows, and not one more', () => {
  const nothing = (count: number) => Buffer.concat([Buffer.from([0x80, 2]), Buffer.alloc(count, 'N'), Buffer.from('.')])
  expect(walk(nothing(MAX_PICKLE_OPCODES - 2))).toBe('sound')
  expect(walk(nothing(MAX_PICKLE_OPCODES - 1))).toBe(
    `The pickle has more than ${MAX_PICKLE_OPCODES} steps; it was not read to its end.`,
  )
})
