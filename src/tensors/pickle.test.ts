import { expect, it } from 'vitest'
import { ByteCursor } from './byte-cursor.ts'
import { unpickle } from './pickle.ts'
import type { PickleValue } from './pickle-value.ts'
import { bytesSource } from './sources.ts'
import { torchHost } from './torch-globals.ts'
import { findWeights } from './torch-weights.ts'

const run = (code: string): PickleValue => {
  const source = bytesSource(Buffer.from(code, 'latin1'))
  return unpickle(new ByteCursor(source, 0, source.size, 'The pickle'), torchHost())
}

const refused = (reason: string) =>
  expect.objectContaining({ code: 'bad_request', message: expect.stringContaining(reason) })

const BYTES = String.fromCharCode(...Array(256).keys())

const TENSOR = [
  'ctorch._utils\n_rebuild_tensor_v2\n',
  '((X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpuK\x06tQ',
  'K\0K\x02K\x03\x86K\x03K\x01\x86\x89ccollections\nOrderedDict\n)RtR',
].join('')

it.each<[string, string, PickleValue]>([
  ['whole numbers', '\x80\x02(K\xffM\x01\x02J\xfe\xff\xff\xff\x8a\x02\x00\x80\x8a\0t.', [255, 513, -2, -32768, 0]],
  ['a long beyond 2^53', '\x8a\x09\0\0\0\0\0\0\0\0\x01.', 2n ** 64n],
  ['a float', 'G?\xf8\0\0\0\0\0\0.', 1.5],
  ['texts of all lengths', '(X\x02\0\0\0\xc3\xa4\x8c\x01bU\x01\xe4t.', ['ä', 'b', 'ä']],
  ['a text of Python 2, whose bytes have no encoding', `T\0\x01\0\0${BYTES}.`, BYTES],
  ['constants', '(N\x88\x89t.', [null, true, false]],
  ['tuples and lists', '(K\x01\x85K\x02K\x03\x86]K\x04a](K\x05K\x06et.', [[1], [2, 3], [4], [5, 6]]],
  [
    'dicts',
    '}X\x01\0\0\0aK\x01s(X\x01\0\0\0bK\x02u.',
    new Map([
      ['a', 1],
      ['b', 2],
    ]),
  ],
  ['sets', '\x8f(K\x01K\x02\x90.', new Set([1, 2])],
  ['values remembered and recalled', 'X\x01\0\0\0aq\x07h\x07\x86.', ['a', 'a']],
  ['values remembered by order', '\x80\x04\x95\x00\0\0\0\0\0\0\0\x8c\x01a\x94h\0\x86.', ['a', 'a']],
  ['an ordered dict of pairs', 'ccollections\nOrderedDict\n]X\x01\0\0\0aK\x01\x86a\x85R.', new Map([['a', 1]])],
])('builds %s', (_, code, value) => {
  expect(run(code)).toEqual(value)
})

it('builds a tensor from its description alone', () => {
  expect(findWeights(run(`}X\x01\0\0\0w${TENSOR}s.`))).toEqual([
    {
      name: 'w',
      tensor: expect.objectContaining({ kind: 'tensor', offset: 0, shape: [2, 3], strides: [3, 1] }),
    },
  ])
})

it.each([
  ['a global of the operating system', 'cos\nsystem\n.', 'asks to run "os.system"'],
  ['a builtin that evaluates', 'c__builtin__\neval\n.', 'asks to run "__builtin__.eval"'],
  ['a global spelled on the stack', '\x8c\x05posix\x8c\x06system\x93.', 'asks to run "posix.system"'],
  ['a name of the prototype', 'cconstructor\nconstructor\n.', 'asks to run "constructor.constructor"'],
  ['a torch function outside the list', 'ctorch.hub\nload\n.', 'asks to run "torch.hub.load"'],
  ['a class of the user', 'c__main__\nNet\n.', 'It looks like a whole pickled module'],
  ['an instance without a call', '(ios\nsystem\n.', 'opcode 0x69 at byte 1'],
  ['a new object', ')\x81.', 'opcode 0x81 at byte 1'],
  ['an extension code', '\x82\x01.', 'opcode 0x82'],
  ['a text reference', 'Pabc\n.', 'opcode 0x50'],
  ['a call of a value', 'K\x01)R.', 'calls a function that is not allowed'],
  ['arguments that are not a tuple', 'ccollections\nOrderedDict\nK\x01R.', 'arguments that are not a tuple'],
  ['a reference that is no storage', '(X\x06\0\0\0moduleK\x01tQ.', 'not a tensor storage; it was not opened'],
  ['a tensor of no storage', 'ctorch._utils\n_rebuild_tensor\n(K\x01K\0))tR.', 'from something that is not a storage'],
  ['attributes of a number', 'K\x01}b.', 'sets attributes of something that has none'],
  ['an empty stack', '.', 'its stack is empty'],
  ['a mark in place of a value', '(.', 'its stack is empty'],
  ['a group never opened', 'K\x01t.', 'a mark that it never opened'],
  ['a memory never stored', 'h\x05.', 'reads memo 5'],
  ['items of a list', ']K\x01K\x02s.', 'something that is not a dict'],
  ['items appended to a number', 'K\x01K\x02a.', 'something that is not a list'],
  ['items added to a list', '](K\x01\x90.', 'something that is not a set'],
  ['a protocol of the future', '\x80\x09.', 'unknown protocol 9'],
  ['an end without STOP', 'K\x01', 'is truncated'],
  ['a text longer than the file', 'X\xff\xff\0\0a.', 'is truncated'],
  ['a text longer than any file', 'X\xff\xff\xff\xff.', 'contains a value of 4294967295 bytes'],
  ['a long of absurd length', '\x8b\xff\xff\0\0.', 'more than 64 bytes'],
  ['a global without end', `c${'a'.repeat(2000)}`, 'has a line that never ends'],
  ['bytes that are no text', 'X\x01\0\0\0\xff.', 'is not valid UTF-8'],
])('refuses %s', (_, code, reason) => {
  expect(() => run(code)).toThrow(refused(reason))
})

it('gives up on shared dicts that expand to billions of names', () => {
  // Each level holds the one below under two keys: 2^30 paths from 300 bytes.
  const level = '}q\x00(X\x01\0\0\0ah\x01X\x01\0\0\0bh\x01u0h\x00q\x01'
  const bomb = `}X\x01\0\0\0w${TENSOR}sq\x01${level.repeat(30)}.`
  expect(() => findWeights(run(bomb))).toThrow(refused('more values than any model needs'))
})

it('gives up on a dict that contains itself', () => {
  expect(() => findWeights(run('}q\x00X\x01\0\0\0ah\x00s.'))).toThrow(refused('nests deeper than 64 levels'))
})

it('gives up on pickles with millions of steps or dicts', () => {
  expect(() => run('N0'.repeat(1_600_000))).toThrow(refused('too long to read'))
  expect(() => run('}0'.repeat(300_000))).toThrow(refused('more than 250000 dicts'))
})

it('gives up on a list that is copied into many dicts', () => {
  const pairs = `](${'K\x01K\x01\x86'.repeat(5000)}e\x85q\x00`
  const copies = `ccollections\nOrderedDict\nq\x010${'h\x01h\x00R0'.repeat(300)}`
  expect(() => run(`${pairs}${copies}N.`)).toThrow(refused('copies more than any weight file needs'))
})

it('reads the weights of a checkpoint and ignores its optimizer', () => {
  const named = (key: string, value: string) => `X${String.fromCharCode(key.length)}\0\0\0${key}${value}s`
  const names = (code: string) => findWeights(run(code)).map(({ name }) => name)
  const weights = `}${named('w', TENSOR)}`
  const optimizer = `}${named('state', weights)}${named('param_groups', ']')}`
  expect(names(`}${named('optimizer', optimizer)}${named('state_dict', weights)}${named('ema', weights)}.`)).toEqual([
    'w',
  ])
  expect(names(`}${named('model', weights)}${named('extra', TENSOR)}.`)).toEqual(['w'])
  expect(names(`}${named('a', weights)}${named('opt', optimizer)}${named('b', `]${TENSOR}a`)}.`)).toEqual([
    'a.w',
    'b.0',
  ])
  expect(() => names(`}${named('model', 'N')}.`)).toThrow(refused('contains no tensors'))
})
