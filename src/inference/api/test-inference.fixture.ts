import { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import OpenAI from 'openai'
import type { ChatCompletionCreateParamsNonStreaming } from 'openai/resources/chat/completions'
import type { Engine } from '../engines/engine.ts'
import { openLlamaEngine } from '../engines/llama/open-engine.ts'
import type { LlamaOptions } from '../engines/llama/settings.ts'
import { singleModel } from './available-models.ts'
import { type InferenceServerOptions, prepareInferenceServer } from './build-server.ts'

export const STARTER = fileURLToPath(new URL('../../../models/starter.gguf', import.meta.url))

export const openStarter = (options: Partial<LlamaOptions> = {}): Promise<Engine> =>
  openLlamaEngine({
    name: 'starter',
    path: STARTER,
    threads: 1,
    slots: 4,
    cacheMegabytes: 16,
    log: () => undefined,
    ...options,
  })

/** A chat of thousands of tokens, so that it is still running when the test interferes. */
export const endless = {
  model: 'starter',
  messages: [{ role: 'user', content: 'Count.' }],
  response_format: {
    type: 'json_schema',
    json_schema: { name: 'numbers', schema: { type: 'array', items: { type: 'integer' }, minItems: 1000 } },
  },
} satisfies ChatCompletionCreateParamsNonStreaming

export interface TestInference {
  readonly url: string
  readonly port: number
  readonly client: OpenAI
  /** Returns the log so far. */
  readonly log: () => string
  /** Returns the value of the first line of /metrics that starts with `line`. */
  metric(line: string): Promise<number | undefined>
  /** Waits until the first line of /metrics that starts with `line` has the value. */
  until(line: string, value: number): Promise<void>
  close(): Promise<void>
}

/** Starts a real server with one model on a free port, and an official client. The caller closes the engine. */
export const serveForTest = async (
  engine: Engine,
  options: Partial<InferenceServerOptions> = {},
): Promise<TestInference> => {
  let log = ''
  const prepared = await prepareInferenceServer({
    host: '127.0.0.1',
    port: 0,
    models: singleModel(engine, 1_700_000_000),
    maxQueue: 32,
    version: '1.0.0',
    log: {
      level: 'info',
      destination: new Writable({
        write: (chunk, _encoding, done) => {
          log += chunk
          done()
        },
      }),
    },
    ...options,
  })
  const server = await prepared.listen()
  const { port } = server.address
  const url = `http://127.0.0.1:${port}`
  const metric: TestInference['metric'] = async (line) => {
    const text = await (await fetch(`${url}/metrics`)).text()
    const found = text.split('\n').find((candidate) => candidate.startsWith(line))
    return found === undefined ? undefined : Number(found.slice(found.lastIndexOf(' ') + 1))
  }
  return {
    url,
    port,
    client: new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none' }),
    log: () => log,
    metric,
    async until(line, value) {
      while ((await metric(line)) !== value) await new Promise((resolve) => setTimeout(resolve, 20))
    },
    close: server.close,
  }
}
