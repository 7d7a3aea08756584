import { expect, it } from 'vitest'
import type { ChatMessage } from '../../engines/engine.ts'
import { compress } from './compress.ts'
import { relevanceTo, wordsOf } from './removal-order.ts'
import { unitsOf } from './units.ts'

/** Counts tokens like a simple tokenizer: words and punctuation, and four for each message. */
const countTokens = async (messages: readonly ChatMessage[]): Promise<number> =>
  messages.reduce((sum, { content }) => sum + 4 + (content.match(/\w+|[^\s\w]/g)?.length ?? 0), 0)

const user = (content: string): ChatMessage => ({ role: 'user', content })
const assistant = (content: string): ChatMessage => ({ role: 'assistant', content })
const system = (content: string): ChatMessage => ({ role: 'system', content })

const FILLER = [
  'The weather in the valley was mild that spring.',
  'A train passed the old bridge twice a day.',
  'Nobody remembered who had painted the fence.',
  'The baker opened his shop before sunrise.',
  'In the evening a band played near the fountain.',
  'Some boats were being repaired on the shore.',
]
const ENDING = [user('Thank you.'), assistant('You are welcome.')]

it('the pieces of a text add up to the text', () => {
  const texts = [
    '',
    '\n\n  leading',
    'One. Two! "Three?" Four… and five\n\nSix。七！八\r\n',
    'Before:\n```ts\nconst a = 1. + 2\n\n```js\n```\nafter. ~~~\n\n~~~\nopen to the end\n',
    '1. First. 2. Second.\n- item\n\n{\n  "a": [1],\n  "b": 2\n}\nend',
  ]
  expect(
    texts.map((text) =>
      unitsOf(text)
        .map((unit) => unit.text)
        .join(''),
    ),
  ).toEqual(texts)
})

it('each sentence, fenced block, and paragraph of code is one piece', () => {
  expect(unitsOf('See this. It is 3.5 long.\n```\na. b.\n\nc\n```\nThen:\n\n{\n  "x": 1,\n  "y": [2]\n}\n')).toEqual([
    { text: 'See this. ', kind: 'sentence' },
    { text: 'It is 3.5 long.\n', kind: 'sentence' },
    { text: '```\na. b.\n\nc\n```\n', kind: 'code' },
    { text: 'Then:\n\n', kind: 'sentence' },
    { text: '{\n  "x": 1,\n  "y": [2]\n}\n', kind: 'code' },
  ])
  expect(unitsOf('1. Open the lid. 2. Close it.').map(({ text }) => text)).toEqual([
    '1. Open the lid. ',
    '2. Close it.',
  ])
})

it('a text that shares rare words with the question ranks first, and raises the one after it', () => {
  const texts = ['The key is silver.', 'It opens the cellar.', 'The sun was warm.', 'The door was red.']
  const scores = relevanceTo('What is the key made of?', texts)
  expect(scores.map((score) => Number(score.toFixed(2)))).toEqual([2.51, 1.11, 0.15, 0.15])
  expect(wordsOf('Glass boxes of 東京都, No. 7')).toEqual(['glass', 'boxe', 'of', '東京', '京都', 'no', '7'])
})

it('a prompt within the threshold, or with nothing that may be removed, is left unchanged', async () => {
  const short = [user('Hello there.'), assistant('Hello.'), user('What now?')]
  expect(await compress(short, countTokens, { thresholdTokens: 100 })).toBeNull()
  const protectedOnly = [system(FILLER.join(' ')), user(FILLER.join(' ').repeat(5))]
  expect(await compress(protectedOnly, countTokens, { thresholdTokens: 20 })).toBeNull()
  expect(await compress([], countTokens, { thresholdTokens: 0 })).toBeNull()
  expect(await compress([assistant(FILLER.join(' '))], countTokens, { thresholdTokens: 0 })).toBeNull()
})

it('duplicates go first, and the first copy stays', async () => {
  const messages = [
    system('Be brief.'),
    user(`${FILLER[0]}\n${FILLER[1]}\n${FILLER[0]}\nYes.`),
    assistant(`${FILLER[1]} Yes. I see.`),
    ...ENDING,
    user('Which trains passed the bridge?'),
  ]
  const tokens = await countTokens(messages)
  const done = await compress(messages, countTokens, { thresholdTokens: tokens - 1, targetTokens: tokens - 15 })
  expect(done).toEqual([
    messages[0],
    user(`${FILLER[0]}\n${FILLER[1]}\nYes.`),
    assistant(`${FILLER[1]} Yes. I see.`.slice(FILLER[1]!.length + 1)),
    ...messages.slice(3),
  ])
})

it('the sentence that the last turn asks about outlasts the others', async () => {
  for (let place = 0; place <= FILLER.length; place++) {
    const needle = "Rosa's code is violet seven."
    const context = [...FILLER.slice(0, place), needle, ...FILLER.slice(place)].join(' ')
    const messages = [user(context), assistant('Noted.'), ...ENDING, user("What is Rosa's code?")]
    const done = await compress(messages, countTokens, { thresholdTokens: 60, targetTokens: 55 })
    expect(done?.[0]?.content).toContain(needle)
    expect(await countTokens(done!)).toBeLessThanOrEqual(55)
  }
})

it('a code block stays whole or goes whole', async () => {
  const code = '```py\ndef total(rows):\n    return sum(rows)\n\nprint(total([1, 2]))\n```'
  const talk = [user(`${FILLER.slice(0, 3).join(' ')}\n${code}\n${FILLER.slice(3).join(' ')}`), assistant('Fine.')]
  const ask = async (question: string, targetTokens: number) => {
    const done = await compress([...talk, ...ENDING, user(question)], countTokens, {
      thresholdTokens: 50,
      targetTokens,
    })
    return done![0]!.content
  }
  expect(await ask('What does total return for rows?', 75)).toContain(code)
  const without = await ask('Who opened the shop?', 60)
  expect([without.includes('def'), without.includes('```'), without.includes('return')]).toEqual([false, false, false])
})

it('if sentences are not enough, whole old exchanges go, and the roles still alternate', async () => {
  const chat = Array.from({ length: 20 }, (_, turn) => [
    user(`Question ${turn} about ${turn === 7 ? 'violets' : 'stones'}?`),
    assistant(`Answer ${turn}.`),
  ]).flat()
  const messages = [system('Be brief.'), ...chat, user('What did we say about violets?')]
  const done = await compress(messages, countTokens, { thresholdTokens: 100, targetTokens: 80 })
  expect(done).toEqual([messages[0], ...chat.slice(14, 16), ...chat.slice(36), messages.at(-1)])
})

it('an exchange goes with its empty messages, too', async () => {
  const messages = [user(''), assistant('Pardon?'), ...ENDING, user('What now?')]
  const done = await compress(messages, countTokens, { thresholdTokens: 10, targetTokens: 5 })
  expect(done).toEqual(messages.slice(2))
})

const randomFrom = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

it('any conversation: deterministic, protected parts stay, and nothing becomes empty or longer', async () => {
  const pieces = [
    ...FILLER,
    '```\nx = 1\n\ny = 2\n```',
    'Yes.',
    '',
    '\n\n',
    '- one\n- two',
    '東京は大きい。',
    '1. a',
    ' ',
    '```',
  ]
  for (let seed = 0; seed < 300; seed++) {
    const random = randomFrom(seed)
    const messages: ChatMessage[] = Array.from({ length: random(12) }, () => ({
      role: (['user', 'assistant', 'system'] as const)[random(9) % 3]!,
      content: Array.from({ length: random(12) }, () => pieces[random(pieces.length)]!).join([' ', '\n'][random(2)]),
    }))
    const options = { thresholdTokens: random(150), targetTokens: random(100) }
    const done = await compress(messages, countTokens, options)
    expect(await compress(structuredClone(messages), countTokens, options)).toEqual(done)
    if (done === null) continue
    const before = new Set(messages)
    const changed = done.filter((message) => !before.has(message))
    expect(changed.every(({ role, content }) => role !== 'system' && content.trim() !== '')).toBe(true)
    expect(done.filter(({ role }) => role === 'system')).toEqual(messages.filter(({ role }) => role === 'system'))
    const lastTurn = messages.findLastIndex(({ role }) => role === 'user')
    expect(done.slice(lastTurn - messages.length)).toEqual(messages.slice(lastTurn))
    expect(await countTokens(done)).toBeLessThan(await countTokens(messages))
  }
})

it('the cost of a long text is linear, however unlike prose it is', async () => {
  const characters = async (messages: readonly ChatMessage[]) =>
    messages.reduce((sum, { content }) => sum + content.length, 0)
  for (const piece of ['.', '. ', '\n', 'a ', '`', '```\n', '"', '。', '{\n', ' ', 'word. ', '1. ']) {
    const messages = [
      user(`Begin. ${piece.repeat(100_000 / piece.length)}`),
      assistant('Noted.'),
      ...ENDING,
      user('Why?'),
    ]
    const done = await compress(messages, characters, { thresholdTokens: 1000 })
    if (done !== null) expect(done.at(-1)).toBe(messages.at(-1))
  }
})
