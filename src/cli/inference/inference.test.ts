import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { builtFile } from '../../../test/e2e/built-program.ts'
import { runInProcess } from '../in-process.fixture.ts'
import { Interrupted } from '../io.ts'

const FRANCE = 'What is the capital of France?'
const PARIS = 'The capital of France is Paris.'
const EMBEDDINGS = fileURLToPath(new URL('../../../test/fixtures/models/tiny-embed/tiny-embed.gguf', import.meta.url))
const BIGGER = fileURLToPath(new URL('../../../test/fixtures/models/tiny-chat-q8_0.gguf', import.meta.url))
const nowhere = { SERVICE_HOME: join('/', 'nowhere', 'svc') }

test("run streams the model's answer to standard output", async () => {
  const seen: string[] = []
  const ran = await runInProcess(['run', 'starter', FRANCE, '--temperature', '0'], {
    env: nowhere,
    onOutput: (text) => seen.push(text),
  })
  expect(ran).toEqual({ exitCode: 0, stdout: `${PARIS}\n`, stderr: '' })
  expect(seen.length).toBeGreaterThan(3)
})

test('run takes the model from SERVICE_MODEL and the prompt from standard input, and prints JSON', async () => {
  const { exitCode, stdout } = await runInProcess(['run', '-', '--temperature', '0', '--json', '--max-tokens', '2'], {
    env: { ...nowhere, SERVICE_MODEL: 'starter' },
    stdin: Readable.from([`${FRANCE}\n`]),
  })
  expect(exitCode).toBe(0)
  expect(JSON.parse(stdout)).toEqual({
    model: 'starter',
    engine: 'llama.cpp',
    text: 'The capital',
    finish_reason: 'length',
    usage: { prompt_tokens: 15, completion_tokens: 2, total_tokens: 17 },
  })
})

test('run prints reasoning to whoever watches, and to JSON, apart from the answer', async () => {
  let deltas: readonly object[] = [
    { reasoning_content: 'A capital' },
    { reasoning_content: '?\u001b' },
    { content: PARIS },
  ]
  const upstream = createHttpServer((request, response) => {
    request.resume()
    if (request.method === 'GET') return response.end('{"data":[{"id":"m"}]}')
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const delta of deltas) response.write(`data: ${JSON.stringify({ choices: [{ delta }] })}\n\n`)
    response.end('data: [DONE]\n\n')
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void upstream.close())
  const engine = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`
  const ask = (flags: readonly string[], isWatched: boolean) =>
    runInProcess(['run', 'm', FRANCE, '--engine', engine, ...flags], {
      env: { ...nowhere, NO_COLOR: '1' },
      isWatched,
    })
  expect(await ask([], false)).toEqual({ exitCode: 0, stdout: `${PARIS}\n`, stderr: '' })
  expect(await ask([], true)).toEqual({ exitCode: 0, stdout: `${PARIS}\n`, stderr: 'A capital?\u{fffd}\n\n' })
  deltas = deltas.slice(0, 2)
  expect(await ask([], true)).toEqual({ exitCode: 0, stdout: '', stderr: 'A capital?\u{fffd}\n' })
  const { stdout } = await ask(['--json'], true)
  expect(JSON.parse(stdout)).toMatchObject({ text: '', reasoning: 'A capital?\u001b' })
})

test.each([
  [['run', 'starter'], `${FRANCE}\n`],
  [['run', 'starter', 'What is the', 'capital of France?'], 'unused'],
])('svc %j takes the prompt from its arguments or from standard input', async (argv, given) => {
  const ran = await runInProcess([...argv, '--temperature', '0'], { env: nowhere, stdin: Readable.from([given]) })
  expect(ran).toEqual({ exitCode: 0, stdout: `${PARIS}\n`, stderr: '' })
})

test.each([[[]], [['-']]])('run with %j can be interrupted while it waits for standard input', async (words) => {
  const stop = new AbortController()
  setImmediate(() => stop.abort(new Interrupted('SIGINT')))
  const stdin = new Readable({ read: () => undefined })
  const ran = await runInProcess(['run', 'starter', ...words], { env: nowhere, stdin, signal: stop.signal })
  expect(ran).toEqual({ exitCode: 130, stdout: '', stderr: expect.any(String) })
})

test('run says so if standard input has ended without a prompt', async () => {
  const stdin = new Readable()
  stdin.push(null)
  const ran = await runInProcess(['run', 'starter'], { env: nowhere, stdin })
  expect(ran).toEqual({ exitCode: 2, stdout: '', stderr: 'svc: The prompt on standard input is empty.\n' })
})

test('- among the words of a prompt stands for standard input, and a reply that fills the context says so', async () => {
  const argv = ['run', 'starter', 'Summarize', 'this:', '-', '--context', '32', '--json']
  const ran = await runInProcess(argv, { env: nowhere, stdin: Readable.from([`${FRANCE}\n`]) })
  const whole = await runInProcess(['run', 'starter', `Summarize this:\n\n${FRANCE}`, '--json'], { env: nowhere })
  const { usage } = JSON.parse(ran.stdout)
  expect(usage.prompt_tokens).toBe(JSON.parse(whole.stdout).usage.prompt_tokens)

  const long = ['run', 'starter', 'Count from 1 to 20.', '--temperature', '0', '--context', '32']
  const { exitCode, stderr } = await runInProcess(long, { env: nowhere })
  expect(exitCode).toBe(0)
  expect(stderr).toMatch(
    /^The reply was cut off after \d+ tokens: the context is full\..* or use a longer --context\.\n$/,
  )
  const tooLong = await runInProcess(['run', 'starter', 'a '.repeat(40), '--context', '32'], { env: nowhere })
  expect(tooLong.stderr).toContain('Shorten the messages, or use a longer --context, up to 2048 tokens.')
})

test("an interrupted run ends its line, stops the model, and exits with the signal's code", async () => {
  const stop = new AbortController()
  const ran = await runInProcess(['run', 'starter', 'Count from 1 to 20.', '--temperature', '0'], {
    env: nowhere,
    signal: stop.signal,
    onOutput: (text) => {
      if (text.includes('5')) stop.abort(new Interrupted('SIGINT'))
    },
  })
  expect(ran.exitCode).toBe(130)
  expect(ran.stdout).toMatch(/^1, 2, 3, 4, 5[, \d]*\n$/)
})

test.each([
  [['run', 'starter'], 2, 'The prompt is missing.'],
  [['run'], 2, 'No model was given.'],
  [['run', 'nothing', 'Hi'], 1, "There is no model 'nothing'."],
  [['run', 'starter', 'Hi', '--engine', 'mnn'], 1, 'mnn cannot run'],
  [['run', 'starter', 'Hi', '--temperature', '3'], 2, 'It must be a number from 0 to 2.'],
  [['run', 'starter', 'Hi', '--max-tokens', '0'], 2, 'It must be a whole number from 1'],
  [['embed', 'starter', ''], 2, 'The text is missing.'],
  [['serve'], 2, 'No model was given.'],
  [['serve', 'starter', '--auto-route'], 2, 'needs more than one model'],
  [['serve', 'starter', '--models', 'starter', '--auto-route', '--port', '0'], 2, 'needs more than one model'],
  [['serve', 'starter', '--share'], 2, 'Add --benchmark.'],
  [['serve', 'starter', '--share', '--benchmark', '--port', '0', '--host', '127.0.0.1'], 1, 'needs an API key'],
  [['serve', 'starter', '--route-strategy', 'dice'], 2, "argument 'dice' is invalid"],
  [['serve', 'starter', '--draft', 'guess', '--port', '0', '--host', '127.0.0.1'], 2, '--draft takes'],
  [
    ['serve', EMBEDDINGS, '--draft', 'prompt-lookup', '--port', '0', '--host', '127.0.0.1'],
    1,
    'tiny-embed is an embedding model, which does not generate tokens. Leave out --draft.',
  ],
  [['serve', 'starter', '--port', '0', '--host', '203.0.113.1'], 1, '203.0.113.1 is not an address of this machine.'],
])('refuses svc %j with the reason', async (argv, exitCode, reason) => {
  const ran = await runInProcess(argv, { env: nowhere })
  expect([ran.exitCode, ran.stdout]).toEqual([exitCode, ''])
  expect(ran.stderr).toContain(reason)
})

test('serve reports a port in use before it loads a model', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as { port: number }
  const ran = await runInProcess(['serve', 'starter', '--host', '127.0.0.1', '--port', String(port)], { env: nowhere })
  expect(ran.exitCode).toBe(1)
  expect(ran.stderr).toContain(`Port ${port} is already in use.`)
  other.close()
})

const chat = async (address: string, body: object) => {
  const response = await fetch(`${address}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: FRANCE }], temperature: 0, ...body }),
  })
  return { headers: response.headers, body: (await response.json()) as Record<string, unknown> }
}

test.skipIf(!existsSync('/dev/full'))('a full disk at the end of standard output is reported', async () => {
  const full = await open('/dev/full', 'w')
  onTestFinished(() => full.close())
  const child = spawn(process.execPath, [await builtFile('cli/main.js'), '--version'], {
    stdio: ['ignore', full.fd, 'pipe'],
    env: { ...process.env, ...nowhere },
  })
  const [words, [exitCode]] = await Promise.all([text(child.stderr!), once(child, 'exit')])
  expect([words, exitCode]).toEqual(['svc: Standard output cannot be written: the disk is full.\n', 1])
})

test('serve prints its banner, routes between models, and exits with 0 when stopped', async () => {
  const argv = ['serve', 'starter', '--models', BIGGER, '--auto-route', '--host', '127.0.0.1', '--port', '0']
  const child = spawn(
    process.execPath,
    [await builtFile('cli/main.js'), ...argv, '--threads', '1', '--no-announce', '--benchmark'],
    {
      env: { ...process.env, ...nowhere },
    },
  )
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  child.stdout.on('data', (piece) => (output += piece))
  child.stderr.on('data', (piece) => (output += piece))
  await vi.waitUntil(() => output.includes('Queue:'), { timeout: 120_000 })
  const address = /http:\/\/127\.0\.0\.1:\d+\/v1/.exec(output)![0]
  expect(output.split('\n').slice(0, 7)).toEqual([
    `Address:  ${address}`,
    expect.stringMatching(/^Engine: {3}llama\.cpp: starter is a GGUF file, which llama\.cpp runs/),
    'Model:    starter (2.6 million parameters, 2048 tokens of context)',
    '          and on request: tiny-chat-q8_0',
    "Routing:  requests for 'auto' are routed by complexity (equal ranges, not calibrated)",
    expect.stringMatching(/^Memory: {3}\d+ MB$/),
    'Queue:    8 parallel, 32 more queued',
  ])

  await vi.waitUntil(() => output.includes('whole reply, ms'), { timeout: 120_000 })
  expect(output).toMatch(/\nllama\.cpp {2}tokens per second {2}[\d.]+ +[\d.]+ +[\d.]+\n/)

  const routed = await chat(address, { model: 'auto' })
  expect(routed.body).toMatchObject({ model: 'starter', choices: [{ message: { content: PARIS } }] })
  expect(routed.headers.get('x-service-routed-model')).toBe('starter')
  const named = await chat(address, { model: 'tiny-chat-q8_0' })
  expect(named.body).toMatchObject({ model: 'tiny-chat-q8_0', choices: [{ message: { content: PARIS } }] })
  expect(named.headers.get('x-service-routed-model')).toBeNull()
  expect((await chat(address, { model: BIGGER })).body, 'as it was asked for').toMatchObject({
    model: 'tiny-chat-q8_0',
  })

  child.kill('SIGTERM')
  expect((await once(child, 'exit'))[0]).toBe(0)
  expect(output).toContain('Stopping after the running requests.')
})
