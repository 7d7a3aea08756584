import { generate } from '../../src/inference/benchmark/generate.ts'
import type { ChatMessage, Engine } from '../../src/inference/engines/engine.ts'
import { openLlamaEngine } from '../../src/inference/engines/llama/open-engine.ts'
import { compress } from '../../src/inference/runtime/compression/compress.ts'
import { agreement } from '../../src/inference/runtime/routing/agreement.ts'
import { median, printTable } from './figures.ts'

const NAMES =
  'Tom Anna Ben Clara David Emma Frank Grace Henry Ivy Jack Kate Leo Mia Nora Oscar Paul Rosa Sam Tina'.split(' ')
const THINGS = ['a red ball', 'a golden key', 'an old map', 'a loaf of bread', 'a small boat', 'a warm blanket']
const PLACES = ['a dark forest', 'a small village', 'an old house', 'the city', 'a green field', 'a quiet farm']
const ANIMALS = ['cat', 'dog', 'fox', 'bear', 'mouse', 'rabbit', 'owl', 'horse', 'duck', 'frog']

const randomFrom = (seed: number) => {
  let state = seed
  return <Item>(items: readonly Item[]): Item => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return items[Math.floor((state / 2 ** 32) * items.length)]!
  }
}

/** The relation between the question and the sentence that answers it. */
const KINDS = {
  'same words': (name: string, thing: string) => [`${name} has ${thing}.`, `What does ${name} have?`],
  'answer one sentence later': (name: string, thing: string) => [
    `Then I met ${name}. In the bag was ${thing}.`,
    `What did I see when I met ${name}?`,
  ],
  'other words': (name: string, thing: string) => [`${name} has ${thing}.`, 'Which belongings were mentioned?'],
} as const

interface Task {
  readonly messages: readonly ChatMessage[]
  readonly thing: string
}

/** Sentences about animals and others, including one that answers the question, then small talk, then the question. */
const taskOf = (kind: keyof typeof KINDS, seed: number, sentences: number): Task => {
  const pick = randomFrom(seed)
  const [name, thing] = [pick(NAMES), pick(THINGS)]
  const [needle, question] = KINDS[kind](name, thing)
  const others = NAMES.filter((other) => other !== name)
  const filler = Array.from({ length: sentences }, () =>
    pick([
      () => `The ${pick(ANIMALS)} lived in ${pick(PLACES)}.`,
      () => `${pick(others)} lives in ${pick(PLACES)}.`,
      () => `One day the ${pick(ANIMALS)} went to ${pick(PLACES)} and slept well.`,
      () => `${pick(others)} was happy because the sun was shining.`,
    ])(),
  )
  const at = pick([...filler.keys()])
  const context = [...filler.slice(0, at), needle, ...filler.slice(at)].join(' ')
  const talk: ChatMessage[] = [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: 'Hello! How can I help you today?' },
  ]
  return {
    messages: [
      { role: 'user', content: context },
      { role: 'assistant', content: 'That is the end of the story.' },
      ...talk,
      { role: 'user', content: question! },
    ],
    thing,
  }
}

const TASKS = 60
const KEEP_SHARES = [0.75, 0.5, 0.25]

const survival = async (engine: Engine, kind: keyof typeof KINDS, share: number): Promise<readonly string[]> => {
  let survived = 0
  let survivedCut = 0
  const saved: number[] = []
  const milliseconds: number[] = []
  for (let seed = 1; seed <= TASKS; seed++) {
    const { messages, thing } = taskOf(kind, seed * 7919, 60)
    const before = await engine.countTokens!(messages)
    const started = performance.now()
    const done = await compress(messages, engine.countTokens!, {
      thresholdTokens: before - 1,
      targetTokens: Math.floor(before * share),
    })
    milliseconds.push(performance.now() - started)
    saved.push(done === null ? 0 : 1 - (await engine.countTokens!(done)) / before)
    if (done?.some(({ content }) => content.includes(thing))) survived++
    // What remains when the beginning is cut off, as on servers that only shift the context.
    const context = messages[0]!.content
    if (context.slice(Math.ceil(context.length * (1 - share))).includes(thing)) survivedCut++
  }
  const percent = (count: number): string => `${((100 * count) / TASKS).toFixed(0)}%`
  return [
    kind,
    `${share * 100}%`,
    `${(100 * median(saved)).toFixed(0)}%`,
    percent(survived),
    percent(survivedCut),
    median(milliseconds).toFixed(1),
  ]
}

/** How often a small real model gives the same answer as for the whole prompt. */
const answersAgree = async (engine: Engine, share: number): Promise<readonly string[]> => {
  const signal = new AbortController().signal
  const agreements: number[] = []
  const times: number[] = []
  for (let seed = 1; seed <= TASKS; seed++) {
    const { messages } = taskOf('same words', seed * 104_729, 6)
    const before = await engine.countTokens!(messages)
    const done = await compress(messages, engine.countTokens!, {
      thresholdTokens: before - 1,
      targetTokens: Math.floor(before * share),
    })
    const plain = await generate(engine, messages, 24, signal)
    const shorter = await generate(engine, done ?? messages, 24, signal)
    agreements.push(agreement(shorter.text, plain.text))
    times.push(shorter.firstTokenMs / plain.firstTokenMs)
  }
  const equal = agreements.filter((one) => one === 1).length
  const mean = agreements.reduce((sum, one) => sum + one, 0) / agreements.length
  return [`${share * 100}%`, `${((100 * equal) / TASKS).toFixed(0)}%`, mean.toFixed(2), median(times).toFixed(2)]
}

/** The savings and costs of compression: whether the one relevant sentence survives, and whether answers change. */
export const benchCompression = async (): Promise<void> => {
  const engine = await openLlamaEngine({
    name: 'starter',
    path: 'models/starter.gguf',
    threads: 1,
    slots: 1,
    cacheMegabytes: 0,
    log: () => undefined,
  })
  try {
    const rows: (readonly string[])[] = []
    for (const kind of Object.keys(KINDS) as (keyof typeof KINDS)[]) {
      for (const share of KEEP_SHARES) rows.push(await survival(engine, kind, share))
    }
    printTable(['question', 'target', 'tokens saved', 'answer survives', 'survives a cut', 'ms'], rows)
    console.log('\nAnswers of the starter model to the compressed prompt, against those to the whole one:')
    const responses: (readonly string[])[] = []
    for (const share of KEEP_SHARES) responses.push(await answersAgree(engine, share))
    printTable(['target', 'equal answers', 'agreement', 'first token, time ratio'], responses)
  } finally {
    await engine.close()
  }
}
