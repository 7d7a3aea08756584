import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { emptyFolder } from '../../../../test/databases.ts'
import { builtFile } from '../../../../test/e2e/built-program.ts'
import { putDouble } from '../../../../test/fixtures/engines/put-double.ts'
import type { InferenceError } from '../../errors.ts'
import type { ModelFile } from '../../models/model-file.ts'
import { compileSchema } from '../../structured-output/compile-schema.ts'
import type { ChatEvent, ChatRequest, Engine } from '../engine.ts'
import { SERVERS } from './servers.ts'
import { openStartedEngine } from './started-engine.ts'

type Name = keyof typeof SERVERS

const started: Engine[] = []

afterEach(async () => {
  for (const engine of started.splice(0)) await engine.close()
})

/** A PATH with a double of the program, and a model folder for it. */
const setUp = async (program: string, extra: Readonly<Record<string, string>> = {}) => {
  const folder = await emptyFolder()
  const log = join(folder, 'log')
  await putDouble(folder, program)
  await writeFile(join(folder, 'config.json'), '{"max_position_embeddings": 2048}')
  const model: ModelFile = {
    name: 'tiny',
    variant: null,
    path: folder,
    format: 'mlx',
    bytes: 7,
    sha256: null,
    source: 'path',
  }
  const env = { PATH: folder, DOUBLE_LOG: log, ...extra }
  const logged = async (): Promise<readonly string[]> =>
    (await readFile(log, 'utf8').catch(() => '')).split('\n').filter(Boolean)
  return { folder, model, env, logged }
}

const open = async (name: Name, extra: Readonly<Record<string, string>> = {}, readyWithinMs?: number) => {
  const set = await setUp(SERVERS[name].program, extra)
  const lines: string[] = []
  const log = (line: string): void => void lines.push(line)
  const ready = readyWithinMs === undefined ? {} : { readyWithinMs }
  const engine = await openStartedEngine(SERVERS[name], { model: set.model, env: set.env, log, ...ready })
  started.push(engine)
  return { ...set, engine, lines }
}

const request = (content: string, changes: Partial<ChatRequest> = {}): ChatRequest => ({
  messages: [{ role: 'user', content }],
  maxTokens: 50,
  temperature: 0.5,
  topP: 0.9,
  seed: 7,
  stop: [],
  responseFormat: { type: 'text' },
  ...changes,
})

const collect = async (engine: Engine, requested: ChatRequest, signal = new AbortController().signal) => {
  const events: ChatEvent[] = []
  for await (const event of engine.chat!(requested, signal)) events.push(event)
  return events
}

const textOf = (events: readonly ChatEvent[]): string =>
  events.map((event) => (event.type === 'text' ? event.text : '')).join('')

const errorOf = async (promise: Promise<unknown>): Promise<{ code: string; message: string }> => {
  const error = (await promise.catch((thrown: unknown) => thrown)) as InferenceError
  return { code: error.code, message: error.message }
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

const pidIn = (lines: readonly string[]): number =>
  Number(/started (\d+)/.exec(lines.findLast((l) => l.startsWith('started'))!)![1])

describe('an engine that is a separate server', () => {
  it('starts on a loopback port, streams, uses the reported token counts, and ends with the engine', async () => {
    const { engine, folder, logged } = await open('mlx-lm')
    expect(await collect(engine, request('hello', { stop: ['END'] }))).toEqual([
      { type: 'started', promptTokens: 2, cachedTokens: 0 },
      { type: 'text', text: 'Gr' },
      { type: 'text', text: 'üße, ' },
      { type: 'text', text: 'caf' },
      { type: 'text', text: 'é' },
      {
        type: 'finished',
        result: {
          reason: 'stop',
          completionTokens: 3,
          speculation: null,
          prompt: { tokens: 11, cachedTokens: 4 },
        },
      },
    ])
    expect(engine.model).toEqual({
      name: 'tiny',
      path: folder,
      parameters: null,
      contextTokens: 2048,
      memoryBytes: 7,
    })
    const lines = await logged()
    expect(lines[0]).toMatch(/mlx_lm\.server --model \S+ --host 127\.0\.0\.1 --port \d+$/)
    expect(JSON.parse(lines[1]!.replace('asked ', ''))).toEqual({
      messages: [{ role: 'user', content: 'hello' }],
      max_tokens: 50,
      temperature: 0.5,
      top_p: 0.9,
      seed: 7,
      stop: ['END'],
      stream: true,
      stream_options: { include_usage: true },
    })
    const pid = pidIn(lines)
    expect(isAlive(pid)).toBe(true)
    await engine.close()
    expect(isAlive(pid)).toBe(false)
  })

  it('fails a reply with its last output if it dies mid-reply, and is restarted', async () => {
    const { engine, logged } = await open('mlx-lm')
    expect(await errorOf(collect(engine, request('die')))).toEqual({
      code: 'engine_failed',
      message:
        'mlx-lm died in the middle of a reply (SIGABRT) and is being restarted. Its output:\n' +
        'libc++abi: terminating due to uncaught exception',
    })
    expect(textOf(await collect(engine, request('hello')))).toBe('Grüße, café')
    expect((await logged()).filter((line) => line.startsWith('started'))).toHaveLength(2)
    expect(engine.figures()).toEqual({ restarts_total: 1, slots_busy: 0 })
  })

  it('stops a reply at once when the client disconnects, and continues for others', async () => {
    const { engine, logged } = await open('mlc-llm')
    const leave = new AbortController()
    const events: ChatEvent[] = []
    const reading = (async () => {
      for await (const event of engine.chat!(request('wait'), leave.signal)) {
        events.push(event)
        if (event.type === 'text') leave.abort(new Error('gone'))
      }
    })()
    await expect(reading).rejects.toThrow('gone')
    expect(textOf(events)).toBe('So ')
    await expect.poll(logged).toContain('left')
    expect(engine.figures()).toEqual({ restarts_total: 0, slots_busy: 0 })
    expect(textOf(await collect(engine, request('hello')))).toBe('Grüße, café')
  })

  it('is quoted when it refuses, or fails mid-stream', async () => {
    const { engine } = await open('mlx-lm')
    expect([
      await errorOf(collect(engine, request('refuse'))),
      await errorOf(collect(engine, request('fail'))),
    ]).toEqual([
      { code: 'invalid_request', message: 'mlx-lm refused: max_tokens must be a positive integer' },
      { code: 'upstream_failed', message: 'mlx-lm refused: out of pages' },
    ])
  })

  it('gets a format in its own notation if it can enforce one, otherwise the request is refused', async () => {
    const schema = { type: 'object' }
    const requested = request('hello', {
      responseFormat: { type: 'json_schema', schema, compiled: compileSchema(schema, '') },
    })
    const { engine, logged } = await open('mlc-llm')
    await collect(engine, requested)
    expect(JSON.parse((await logged())[1]!.replace('asked ', '')).response_format).toEqual({
      type: 'json_object',
      schema: '{"type":"object"}',
    })
    const { engine: other } = await open('mlx-lm')
    expect(await errorOf(collect(other, requested))).toEqual({
      code: 'unsupported',
      message:
        'mlx-lm cannot enforce the format of a reply. Leave out response_format, or use a GGUF model, which llama.cpp runs.',
    })
  })

  it('has tokens estimated at four bytes each if it does not count them', async () => {
    const { engine, folder, logged } = await open('mnn')
    const events = await collect(engine, request('hello'))
    expect({ text: textOf(events), last: events.at(-1) }).toEqual({
      text: 'Grüße, café',
      last: { type: 'finished', result: { reason: 'stop', completionTokens: 4, speculation: null } },
    })
    expect((await logged())[0]).toContain(
      `mnncli serve --config ${join(folder, 'config.json')} --host 127.0.0.1 --port`,
    )
  })

  it('is reported with its output if it ends during startup or never answers', async () => {
    expect(await errorOf(open('mlx-lm', { DOUBLE_DIES_AT_START: '1' }))).toEqual({
      code: 'engine_failed',
      message: 'mlx-lm ended during startup (exit code 3). Its output:\nValueError: Model type tiny not supported.',
    })
    const impatient = async (readyWithinMs: number): Promise<void> => {
      const { model, env, logged } = await setUp('mlc_llm', { DOUBLE_NEVER_READY: '1' })
      const opening = openStartedEngine(SERVERS['mlc-llm'], { model, env, log: () => undefined, readyWithinMs })
      const error = await errorOf(opening)
      // On a busy machine, the timeout may pass before the program has started.
      if (error.message.endsWith('It printed nothing.')) return impatient(2 * readyWithinMs)
      expect(error).toEqual({
        code: 'engine_failed',
        message: `mlc-llm was started but did not respond within ${readyWithinMs / 1000} s. Its output:\nFetching 12 files: 0%`,
      })
      expect(isAlive(pidIn(await logged()))).toBe(false)
    }
    await impatient(1000)
  })

  it('ends even if it is given up before it has started', async () => {
    const { model, env, logged } = await setUp('mlc_llm', { DOUBLE_NEVER_READY: '1' })
    const opening = openStartedEngine(SERVERS['mlc-llm'], { model, env, log: () => undefined, readyWithinMs: 0 })
    expect(await errorOf(opening)).toMatchObject({ code: 'engine_failed' })
    expect((await logged()).length === 0 || !isAlive(pidIn(await logged()))).toBe(true)
  })

  it('is reported missing, with the install command, if it is not on the PATH', async () => {
    const { model } = await setUp('something-else')
    const opening = openStartedEngine(SERVERS['mlx-lm'], { model, env: { PATH: model.path }, log: () => undefined })
    expect(await errorOf(opening)).toEqual({
      code: 'engine_missing',
      message: 'mlx-lm is not installed: there is no mlx_lm.server on the PATH. Install it: pip install mlx-lm',
    })
  })

  it('ends even if this process is killed', async () => {
    const { model, env, logged } = await setUp('mlx_lm.server')
    const code = `
      import { openStartedEngine } from ${JSON.stringify(await builtFile('inference/engines/proxied/started-engine.js'))}
      import { SERVERS } from ${JSON.stringify(await builtFile('inference/engines/proxied/servers.js'))}
      await openStartedEngine(SERVERS['mlx-lm'], { model: ${JSON.stringify(model)}, env: process.env, log() {} })
      console.log('open')
      setInterval(() => {}, 1000)`
    await writeFile(join(model.path, 'parent.mjs'), code)
    const parent: ChildProcess = spawn(process.execPath, [join(model.path, 'parent.mjs')], {
      env: { ...process.env, ...env, PATH: env.PATH! },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(parent.stdout!, 'data')
    const pid = pidIn(await logged())
    expect(isAlive(pid)).toBe(true)
    parent.kill('SIGKILL')
    await expect.poll(() => isAlive(pid)).toBe(false)
  })
})
