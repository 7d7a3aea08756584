import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, it, onTestFinished } from 'vitest'
import { randomFrom } from '../random.ts'
import { builtFile } from './built-program.ts'

// To run longer: SOAK_REQUESTS=200000.
const REQUESTS = Number(process.env.SOAK_REQUESTS ?? 2000)
const AT_ONCE = 12
const SLOTS = 4
/** After thousands of requests, a heap that no longer grows still fluctuates by this much. */
const BREATHING_BYTES = 48 * 2 ** 20

/** Starts `svc serve starter` as a separate process. */
const startServer = async () => {
  const home = mkdtempSync(join(tmpdir(), 'soak-'))
  const options = ['--port', '0', '--host', '127.0.0.1', '--threads', '1', '--slots', String(SLOTS), '--no-announce']
  const child: ChildProcess = spawn(
    process.execPath,
    [
      await builtFile('cli/main.js'),
      'serve',
      'starter',
      ...options,
      '--context',
      '512',
      '--cache-size',
      '8',
      '--max-queue',
      '16',
    ],
    { env: { PATH: process.env.PATH, SERVICE_HOME: home }, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  onTestFinished(() => {
    child.kill('SIGKILL')
    rmSync(home, { recursive: true })
  })
  let output = ''
  child.stderr!.on('data', (chunk: Buffer) => (output += chunk))
  const port = await new Promise<number>((resolve, reject) => {
    createInterface({ input: child.stdout! }).on('line', (line) => {
      const found = /http:\/\/127\.0\.0\.1:(\d+)\/v1/.exec(line)
      if (found !== null) resolve(Number(found[1]))
    })
    child.once('exit', (code) => reject(new Error(`It ended with code ${code}: ${output}`)))
  })
  return { child, port, output: () => output }
}

interface SoakResponse {
  readonly status: number
  readonly body: string
}

/** `leaveAfter`: milliseconds after which the client disconnects. */
const post = (port: number, agent: Agent, body: string, leaveAfter: number | null): Promise<SoakResponse | 'left'> =>
  new Promise((resolve, reject) => {
    const path = '/v1/chat/completions'
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const requested = request({ port, host: '127.0.0.1', method: 'POST', path, headers, agent }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk) => (text += chunk))
      response.on('end', () => resolve({ status: response.statusCode!, body: text }))
      response.on('error', fail)
    })
    const fail = (error: unknown) => (leaveAfter === null ? reject(error) : resolve('left'))
    requested.on('error', fail)
    requested.end(body)
    if (leaveAfter !== null) setTimeout(() => requested.destroy(), leaveAfter)
  })

/** Sends half a request and disconnects. */
const hangUp = (port: number): Promise<'left'> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write('POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 900\r\n\r\n{"model"')
      socket.destroy()
      resolve('left')
    })
  })

const SCHEMA = {
  name: 'person',
  schema: {
    type: 'object',
    properties: { name: { type: 'string', maxLength: 12 }, age: { type: 'integer', minimum: 0, maximum: 150 } },
    required: ['name', 'age'],
    additionalProperties: false,
  },
}

const QUESTIONS = ['What is the capital of France?', 'Count from 1 to 5.', 'hello', 'Write JSON.', 'word '.repeat(150)]

let turnedAway = 0

const isChat = (response: SoakResponse | 'left', check: (content: string) => void = () => {}): void => {
  if (response === 'left') throw new Error('Nobody hung up, but the connection ended.')
  // A full queue is a valid response, too.
  if (response.status === 503) {
    turnedAway++
    return
  }
  expect(response.status, response.body).toBe(200)
  for (const { message } of JSON.parse(response.body).choices) check(message.content)
}

it(`after ${REQUESTS} mixed requests, has the same memory, sockets, and free slots as before`, {
  timeout: 0,
}, async () => {
  const { child, port, output } = await startServer()
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  const random = randomFrom(42)

  const chat = (more: object): string =>
    JSON.stringify({
      model: 'starter',
      messages: [{ role: 'user', content: QUESTIONS[random(QUESTIONS.length)]! }],
      max_tokens: 1 + random(12),
      temperature: random(2),
      ...more,
    })

  const one: Readonly<Record<string, () => Promise<void>>> = {
    whole: async () => isChat(await post(port, agent, chat({ stop: ['\n', 'of'] }), null)),
    stream: async () => {
      const response = await post(port, agent, chat({ stream: true, stream_options: { include_usage: true } }), null)
      if (response === 'left' || (response.status !== 503 && !response.body.endsWith('data: [DONE]\n\n')))
        throw new Error(`A stream ended with ${JSON.stringify(response)}.`)
    },
    several: async () => isChat(await post(port, agent, chat({ n: 1 + random(3) }), null)),
    json: async () =>
      isChat(await post(port, agent, chat({ response_format: { type: 'json_object' } }), null), (content) => {
        expect(JSON.parse(content)).toBeTypeOf('object')
      }),
    schema: async () =>
      isChat(
        await post(
          port,
          agent,
          // With fewer tokens than the shortest answer takes, the request would be refused.
          chat({ max_tokens: 12 + random(12), response_format: { type: 'json_schema', json_schema: SCHEMA } }),
          null,
        ),
        (content) => expect(JSON.parse(content)).toEqual({ name: expect.any(String), age: expect.any(Number) }),
      ),
    abandoned: async () => void (await post(port, agent, chat({ max_tokens: 400 }), random(60))),
    'abandoned stream': async () =>
      void (await post(port, agent, chat({ max_tokens: 400, stream: true, n: 2 }), random(60))),
    'half a request': async () => void (await hangUp(port)),
    bad: async () => {
      const bodies = ['{', '[]', chat({ temperature: 9 }), chat({ model: 'none' }), chat({ messages: [] }), '\xff']
      const response = await post(port, agent, bodies[random(bodies.length)]!, null)
      if (response === 'left') throw new Error('A bad request had no answer.')
      expect([400, 404]).toContain(response.status)
      expect(JSON.parse(response.body)).toMatchObject({ error: { message: expect.any(String) } })
    },
    'too long': async () => {
      const response = await post(
        port,
        agent,
        chat({ messages: [{ role: 'user', content: 'word '.repeat(900) }] }),
        null,
      )
      expect(response).toMatchObject({ body: expect.stringContaining('context_length_exceeded') })
    },
  }
  const kinds = Object.entries(one)

  const soak = async (count: number): Promise<void> => {
    let left = count
    const worker = async (): Promise<void> => {
      while (left-- > 0) {
        const [name, run] = kinds[random(kinds.length)]!
        await run().catch((cause: unknown) => {
          throw new Error(`A request of the kind '${name}' went wrong. ${output()}`, { cause })
        })
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
  }

  const metrics = async (): Promise<Readonly<Record<string, number>>> => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { connection: 'close' } })).text()
    const lines = text.split('\n').flatMap((line) => {
      const found = /^([a-z_]+)(?:\{[^}]*\})? (\S+)$/.exec(line)
      return found === null ? [] : [[found[1]!, Number(found[2])] as const]
    })
    return Object.fromEntries(lines)
  }

  /** Waits until nothing is running. */
  const atRest = async () => {
    agent.destroy()
    for (;;) {
      const now = await metrics()
      const busy = now.inference_places_busy! + now.inference_queue_length! + (now.inference_engine_slots_busy ?? 0)
      if (busy === 0) return { now, engineBytes: engineBytes(child.pid!) }
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  // Caches and compiled code have grown by then.
  await soak(Math.max(400, REQUESTS / 5))
  const before = await atRest()
  await soak(REQUESTS - Math.max(400, REQUESTS / 5))
  const after = await atRest()

  expect(child.exitCode).toBeNull()
  expect(after.now).toMatchObject({
    inference_engine_restarts_total: 0,
    inference_engine_slots_free: SLOTS,
    inference_engine_kv_cells_used: 0,
  })
  const grown = (name: string): number => (after.now[name] ?? 0) - (before.now[name] ?? 0)
  expect(grown('process_open_fds')).toBeLessThanOrEqual(2)
  expect(grown('process_resident_memory_bytes')).toBeLessThan(BREATHING_BYTES)
  expect(after.engineBytes - before.engineBytes).toBeLessThan(BREATHING_BYTES)
  // Few requests are refused, so the engine did the work.
  expect(turnedAway).toBeLessThan(REQUESTS / 20)
  if (process.env.SOAK_REQUESTS !== undefined)
    console.log({
      openFiles: grown('process_open_fds'),
      serverBytes: grown('process_resident_memory_bytes'),
      engineBytes: after.engineBytes - before.engineBytes,
      turnedAway,
    })

  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
})

/** The memory of its child processes; 0 on systems other than Linux. */
const engineBytes = (pid: number): number => {
  if (process.platform !== 'linux') return 0
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
  return children.reduce((sum, each) => {
    const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${each}/status`, 'utf8'))
    return sum + Number(kilobytes?.[1] ?? 0) * 1024
  }, 0)
}
