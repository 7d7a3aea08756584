// Compares `svc serve` with llama.cpp's own server (LLAMA_SERVER=<path of llama-server>; without it, runs ours alone), with the
// same file, threads, and context. BENCH_MODELS lists GGUF files, separated by commas; BENCH_THREADS is the number of threads;
// BENCH_ROUNDS the number of rounds.
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { median, pairwise, printTable } from './figures.ts'
import { type ChatRequest, type Measured, timeChat } from './inference/chat-client.ts'
import { processorTime } from './inference/cpu-time.ts'
import { type ModelServer, startLlamaServer, startOurs } from './inference/model-servers.ts'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)
const SLOTS = 32
const CONTEXT = 2048
const ANSWER = 64
const STARTER = fileURLToPath(new URL('../../models/starter.gguf', import.meta.url))

let lastPrompt = 0
/** About `words` * 3 tokens, with a beginning that no earlier prompt had. */
const text = (words: number): string => {
  lastPrompt += 1
  return `${lastPrompt} ${process.pid} ${Array.from({ length: words }, (_, index) => `item ${(lastPrompt * 7919 + index * 31) % 997}`).join(', ')}`
}

const together = (server: ModelServer, requested: readonly ChatRequest[]): Promise<Measured[]> =>
  Promise.all(requested.map((each) => timeChat(server.port, server.model, each)))

interface Measure {
  readonly name: string
  readonly unit: string
  readonly goal: string
  run(server: ModelServer): Promise<number>
}

const streams = (count: number, goal: string): Measure => ({
  name: `${count} streams`,
  unit: 'tokens/s',
  goal,
  run: async (server) => {
    const began = performance.now()
    const responses = await together(
      server,
      Array.from({ length: count }, () => ({ content: text(4), maxTokens: ANSWER })),
    )
    return (responses.reduce((sum, { tokens }) => sum + tokens, 0) / (performance.now() - began)) * 1000
  },
})

const LONG = 170
const MEASURES: readonly Measure[] = [
  {
    name: 'one stream, decode',
    unit: 'tokens/s',
    goal: '>= 0.97',
    run: async (server) => {
      const { tokens, first, total } = await timeChat(server.port, server.model, {
        content: text(4),
        maxTokens: ANSWER,
      })
      return ((tokens - 1) / (total - first)) * 1000
    },
  },
  {
    name: 'prompt',
    unit: 'tokens/s',
    goal: '>= 1.05',
    run: async (server) => {
      const { promptTokens, first } = await timeChat(server.port, server.model, { content: text(LONG), maxTokens: 2 })
      return (promptTokens / first) * 1000
    },
  },
  streams(2, '>= 1.0'),
  streams(4, '>= 0.97'),
  streams(16, '>= 1.0'),
  streams(32, '>= 1.0'),
  {
    name: 'first token, cold',
    unit: 'ms',
    goal: '<= 0.9',
    run: async (server) => (await timeChat(server.port, server.model, { content: text(LONG), maxTokens: 2 })).first,
  },
  {
    name: 'first token, 16 on one prefix',
    unit: 'ms',
    goal: '<= 0.1',
    run: async (server) => {
      const prefix = text(LONG)
      await timeChat(server.port, server.model, { content: prefix, maxTokens: 2 })
      const requested = Array.from({ length: 16 }, (_, index) => ({
        content: `${prefix}. Number ${index}?`,
        maxTokens: 2,
      }))
      const responses = await together(server, requested)
      return responses.reduce((sum, { first }) => sum + first, 0) / responses.length
    },
  },
]

interface Series {
  readonly values: number[]
  /** CPU time of each round, in milliseconds. */
  readonly busy: number[]
}

const measureOn = async (measure: Measure, servers: readonly ModelServer[]): Promise<Series[]> => {
  const series: Series[] = servers.map(() => ({ values: [], busy: [] }))
  for (let round = 0; round < ROUNDS + 1; round++) {
    // The first round is a warm-up; the order of the servers alternates.
    const order = [...servers.keys()]
    if (round % 2 === 1) order.reverse()
    for (const index of order) {
      const server = servers[index]!
      const before = processorTime(server.process.pid)
      const value = await measure.run(server)
      if (round === 0) continue
      series[index]!.values.push(value)
      series[index]!.busy.push(processorTime(server.process.pid) - before)
    }
  }
  return series
}

const rowOf = ({ name, unit, goal }: Measure, [ours, theirs]: readonly Series[]): string[] => {
  const row = [`${name}, ${unit}`, median(ours!.values).toFixed(1)]
  if (theirs === undefined) return row
  const ratio = median(pairwise(ours!.values, theirs.values)).toFixed(2)
  return [...row, median(theirs.values).toFixed(1), ratio, median(pairwise(ours!.busy, theirs.busy)).toFixed(2), goal]
}

const benchModel = async (model: string, threads: number, rival: string | undefined): Promise<void> => {
  const settings = { model, threads, slots: SLOTS, contextTokens: CONTEXT }
  const servers = [await startOurs(settings)]
  try {
    if (rival !== undefined) servers.push(await startLlamaServer(rival, settings))
    const rows: string[][] = []
    for (const measure of MEASURES) {
      rows.push(rowOf(measure, await measureOn(measure, servers)))
      // A row takes minutes, so it is printed before the table.
      console.error(rows.at(-1)!.join(' | '))
    }
    console.log(`\n${basename(model)}, ${threads} thread(s)\n`)
    const peer = rival === undefined ? [] : ['llama-server', 'ratio', 'ratio of processor time', 'goal']
    printTable(['', 'ours', ...peer], rows)
  } finally {
    await Promise.all(servers.map((server) => server.close()))
  }
}

export const benchInference = async (): Promise<void> => {
  const models = process.env.BENCH_MODELS?.split(',') ?? [STARTER]
  const threads = Number(process.env.BENCH_THREADS ?? 1)
  const rival = process.env.LLAMA_SERVER
  if (rival === undefined) console.log('LLAMA_SERVER is not set: only ours is measured.')
  for (const model of models) await benchModel(model, threads, rival)
}
