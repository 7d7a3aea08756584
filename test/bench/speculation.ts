// The speedup of speculative decoding, and whether the text stays the same: each kind alternating with plain decoding, on text
// that repeats its prompt and text that does not. BENCH_MODELS lists GGUF files, separated by commas; BENCH_THREADS is the
// number of threads.
import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { ChatRequest, Engine } from '../../src/inference/engines/engine.ts'
import { openLlamaEngine } from '../../src/inference/engines/llama/open-engine.ts'
import type { DraftOptions } from '../../src/inference/engines/llama/settings.ts'
import { printTable } from './figures.ts'

const ROUNDS = 6
const ANSWER = 120
const STARTER = fileURLToPath(new URL('../../models/starter.gguf', import.meta.url))
const LARGER = fileURLToPath(new URL('../fixtures/models/tiny-chat-q8_0.gguf', import.meta.url))
const FIRST_BLOCK = fileURLToPath(new URL('../fixtures/models/tiny-chat-first1-q8_0.gguf', import.meta.url))

/** Questions that the starter model knows. */
const QUESTIONS = ['Tell me a story.', 'Count from 3 to 22.', 'Give me JSON for Mia who lives in Sweden.']

type Messages = ChatRequest['messages']

interface Written {
  readonly text: string
  readonly tokens: number
  readonly milliseconds: number
  readonly drafted: number
  readonly confirmed: number
}

const write = async (engine: Engine, messages: Messages, temperature: number): Promise<Written> => {
  let text = ''
  let began = performance.now()
  const signal = new AbortController().signal
  for await (const event of engine.chat!(
    {
      messages,
      maxTokens: ANSWER,
      temperature,
      topP: 0.95,
      seed: 7,
      stop: [],
      responseFormat: { type: 'text' },
    },
    signal,
  )) {
    if (event.type === 'started') began = performance.now()
    if (event.type === 'text') text += event.text
    if (event.type !== 'finished') continue
    const { completionTokens: tokens, speculation } = event.result
    const { drafted = 0, confirmed = 0 } = speculation ?? {}
    return { text, tokens, milliseconds: performance.now() - began, drafted, confirmed }
  }
  throw new Error('An answer did not finish.')
}

/** Background load can only slow a round down. */
const fastest = (speeds: readonly number[]): number => Math.max(...speeds)

/** Tokens per second of one stream. */
const speed = (all: readonly Written[]): number =>
  (all.reduce((sum, { tokens }) => sum + tokens, 0) / all.reduce((sum, each) => sum + each.milliseconds, 0)) * 1000

/** Also returns the number of batches, which background load does not change. */
const writeAll = async (engine: Engine, texts: readonly Messages[], temperature: number, streams: number) => {
  const before = engine.figures().batches_total ?? 0
  const all: Written[] = []
  for (const text of texts)
    all.push(...(await Promise.all(Array.from({ length: streams }, () => write(engine, text, temperature)))))
  // The last figures arrive shortly after the last text.
  await sleep(50)
  return { all, batches: engine.figures().batches_total! - before }
}

/** New questions, and the same ones asked again after their answers, as when a text is to be edited in one place. */
const textsFor = async (plain: Engine): Promise<Readonly<Record<string, readonly Messages[]>>> => {
  const once = QUESTIONS.map((content) => [{ role: 'user', content } as const])
  const again: Messages[] = []
  for (const requested of once) {
    const { text } = await write(plain, requested, 0)
    again.push([...requested, { role: 'assistant', content: text }, ...requested])
  }
  return { 'asked again': again, 'asked once': once }
}

const DRAFTS: Readonly<Record<string, DraftOptions>> = {
  'prompt lookup': { kind: 'prompt-lookup' },
  'first layers': { kind: 'first-layers' },
  'draft model': { kind: 'draft-model', path: FIRST_BLOCK },
}

export const benchSpeculation = async (): Promise<void> => {
  const threads = Number(process.env.BENCH_THREADS ?? 1)
  for (const path of process.env.BENCH_MODELS?.split(',') ?? [STARTER, LARGER]) {
    const open = (draft: DraftOptions | null) =>
      openLlamaEngine({
        name: 'm',
        path,
        threads,
        slots: 8,
        contextTokens: 1024,
        cacheMegabytes: 0,
        draft,
        log: () => {},
      })
    const plain = await open(null)
    const texts = await textsFor(plain)
    const rows: string[][] = []
    for (const [name, draft] of Object.entries(DRAFTS)) {
      // The available draft model belongs to the same family as these.
      if (draft.kind === 'draft-model' && ![STARTER, LARGER].includes(path)) continue
      const engine = await open(draft)
      for (const [kind, requested] of Object.entries(texts))
        for (const [temperature, streams] of [
          [0, 1],
          [0.8, 1],
          [0, 8],
        ] as const) {
          const [without, withIt]: [number[], number[]] = [[], []]
          let [drafted, confirmed, same, all] = [0, 0, 0, 0]
          let [batches, plainBatches] = [0, 0]
          for (let round = 0; round <= ROUNDS; round++) {
            const expected = await writeAll(plain, requested, temperature, streams)
            const written = await writeAll(engine, requested, temperature, streams)
            // The first round is a warm-up.
            if (round === 0) continue
            without.push(speed(expected.all))
            withIt.push(speed(written.all))
            batches += written.batches
            plainBatches += expected.batches
            for (const [index, each] of written.all.entries()) {
              drafted += each.drafted
              confirmed += each.confirmed
              same += each.text === expected.all[index]!.text ? 1 : 0
              all++
            }
          }
          rows.push([
            `${name}, ${kind}, ${streams === 1 ? 'one stream' : `${streams} streams`}, temperature ${temperature}`,
            fastest(without).toFixed(0),
            fastest(withIt).toFixed(0),
            (fastest(withIt) / fastest(without)).toFixed(2),
            (batches / plainBatches).toFixed(2),
            drafted === 0 ? '-' : (confirmed / drafted).toFixed(2),
            `${same}/${all}`,
          ])
        }
      await engine.close()
    }
    await plain.close()
    console.log(`\n${basename(path)}, ${threads} thread${threads === 1 ? '' : 's'}`)
    printTable(
      ['', 'plain, tokens/s', 'guessing, tokens/s', 'ratio', 'batches, ratio', 'guesses confirmed', 'texts alike'],
      rows,
    )
  }
}
