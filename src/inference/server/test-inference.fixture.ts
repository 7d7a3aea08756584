import { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import OpenAI from 'openai'
import type { Engine } from '../engine.ts'
import { openLlamaEngine } from '../engines/llama/open-engine.ts'
import type { LlamaOptions } from '../engines/llama/settings.ts'
import type { InferenceServerOptions } from './build-server.ts'
import { singleModel } from './model-source.ts'
import { startInferenceServer } from './start-server.ts'

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

export interface TestInference {
  readonly url: string
  readonly port: number
  readonly client: OpenAI
  /** What has been logged so far. */
  readonly log: () => string
  /** The value of one line of /metrics, found by how it begins. */
  metric(line: string): Promise<number | undefined>
  close(): Promise<void>
}

/** The real server with one model, on a port of its own, and the official client for it. The engine stays open. */
export const serveForTest = async (
  engine: Engine,
  options: Partial<InferenceServerOptions> = {},
): Promise<TestInference> => {
  let log = ''
  const server = await startInferenceServer({
    host: '127.0.0.1',
    port: 0,
    source: singleModel(engine, 1_700_000_000),
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
  const { port } = server.address
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    port,
    client: new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none' }),
    log: () => log,
    async metric(line) {
      const text = await (await fetch(`${url}/metrics`)).text()
      const found = text.split('\n').find((candidate) => candidate.startsWith(line))
      return found === undefined ? undefined : Number(found.slice(found.lastIndexOf(' ') + 1))
    },
    close: server.close,
  }
}
